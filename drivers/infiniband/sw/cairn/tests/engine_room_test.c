// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* UC and UD on a netdev that is slower than the CPU: what waits on the sender's host. */
#include "lane/room_turn.h"
#include "engine.h"

#define SLOW_BYTE_NS	2000	/* 4 Mbit/s */
#define PMTU		4096
#define LEN		16384
#define MS		1000000ULL

/* @qps pairs of UC between two hosts whose first one has a slow netdev. */
struct world {
	struct sim *s;
	struct sim_qp *a[8], *b[8];
	struct sim_mr *ma, *mb;
	u32 qps;
};

static struct world room_world(u64 seed, u32 qps, const struct sim_qp_init *init,
			       u32 byte_ns)
{
	struct world w = { .s = sim_new(seed), .qps = qps };
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 i;

	attrs.pmtu = PMTU;
	sim_room(w.s, 0, byte_ns);
	for (i = 0; i < qps; i++) {
		w.a[i] = sim_qp(w.s, 0, init);
		w.b[i] = sim_qp(w.s, 1, init);
		sim_connect(w.a[i], w.b[i], &attrs);
	}
	w.ma = sim_mr(w.s, 0, LEN, SIM_ALL);
	w.mb = sim_mr(w.s, 1, LEN, SIM_ALL);
	return w;
}

static void room_post(struct world *w, u32 i, u32 n, u32 len)
{
	u32 k;

	for (k = 0; k < n; k++) {
		struct cairn_sge sge = sim_sge(w->ma, 0, len);
		struct sim_wr wr = {
			.wr_id = k, .opcode = CAIRN_WQE_WRITE,
			.flags = CAIRN_WQE_SIGNALED, .sge = &sge, .num_sge = 1,
			.remote_addr = w->mb->va, .rkey = w->mb->key,
		};

		sim_post_send(w->a[i], &wr);
	}
}

/* Little is under way at a time, of messages with many packets and with one. */
static void little_waits(void)
{
	static const u32 lens[] = { 100, PMTU, LEN };

	for_seeds(seed, 12) {
		struct world w = room_world(seed, 1, &sim_uc, SLOW_BYTE_NS);
		u32 len = lens[seed % 3], n = 30;

		w.s->budget = seed % 2 ? 64 : 0;
		room_post(&w, 0, n, len);
		ktap_ok(sim_run(w.s, 60 * SIM_SEC));
		expect_cqes(w.a[0], CAIRN_REQ, 0, 0, n - 1, CAIRN_CQE_SUCCESS);
		ktap_ok(w.s->host[0].room.most < CAIRN_ROOM_LEAST + PMTU + CAIRN_HEADER_BYTES);
		ktap_eq(w.s->host[0].room.used, 0);
		sim_end(w.s);
	}
}

/* The netdev always has something to send. */
static void netdev_is_busy(void)
{
	struct world w = room_world(1, 1, &sim_uc, SLOW_BYTE_NS);
	u64 begin = w.s->now, least;

	room_post(&w, 0, 30, LEN);
	ktap_ok(sim_run(w.s, 60 * SIM_SEC));
	least = w.a[0]->room_sent * SLOW_BYTE_NS;
	ktap_ok(w.s->now - begin < least + least / 50);
	sim_end(w.s);
}

/* They have sent as much as each other, whenever one looks. */
static void in_turn(void)
{
	struct world w = room_world(1, 4, &sim_uc, SLOW_BYTE_NS);
	u32 i, k;

	for (i = 0; i < w.qps; i++)
		room_post(&w, i, 30, LEN);
	for (k = 0; k < 8; k++) {
		u64 least = U64_MAX, most = 0;

		sim_run(w.s, 400 * MS);
		for (i = 0; i < w.qps; i++) {
			least = min(least, w.a[i]->room_sent);
			most = max(most, w.a[i]->room_sent);
		}
		ktap_ok(most - least <= 2 * CAIRN_ROOM_LEAST);
	}
	ktap_ok(sim_run(w.s, 60 * SIM_SEC));
	for (i = 0; i < w.qps; i++)
		expect_cqes(w.a[i], CAIRN_REQ, 0, 0, 29, CAIRN_CQE_SUCCESS);
	sim_end(w.s);
}

/* An error or a reset of the one that waits does not stop the others. */
static void one_ends(void)
{
	static const enum cairn_state states[] = { CAIRN_QP_ERR, CAIRN_QP_RESET };
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(states); k++) {
		struct world w = room_world(k, 3, &sim_uc, SLOW_BYTE_NS);

		for (i = 0; i < w.qps; i++)
			room_post(&w, i, 20, LEN);
		sim_run(w.s, 50 * MS);
		for (i = 0; i < 2; i++) {
			if (states[k] == CAIRN_QP_RESET)
				sim_reset(w.a[i]);
			else
				sim_modify(w.a[i], CAIRN_QP_ERR);
		}
		ktap_ok(sim_run(w.s, 60 * SIM_SEC));
		expect_cqes(w.a[2], CAIRN_REQ, 0, 0, 19, CAIRN_CQE_SUCCESS);
		if (states[k] == CAIRN_QP_ERR)
			ktap_eq(w.a[0]->cq[CAIRN_REQ].n, 20);
		sim_end(w.s);
	}
}

static void rc_does_not_wait(void)
{
	struct world w = room_world(1, 1, &sim_rc, SLOW_BYTE_NS);

	room_post(&w, 0, 30, LEN);
	ktap_ok(sim_run(w.s, 60 * SIM_SEC));
	expect_cqes(w.a[0], CAIRN_REQ, 0, 0, 29, CAIRN_CQE_SUCCESS);
	ktap_eq(w.s->host[0].room.most, 0);
	sim_end(w.s);
}

/* Packets stay for five minutes. Packets behind them are dropped; later ones leave again. */
static void kept_packets_stop_no_others(void)
{
	struct world w = room_world(1, 3, &sim_uc, SLOW_BYTE_NS);
	struct sim_room *room = &w.s->host[0].room;
	u64 begin = w.s->now;
	u32 i;

	room->timed = true;
	room->kept_until = begin + 300 * SIM_SEC;
	for (i = 0; i < w.qps; i++)
		room_post(&w, i, 30, LEN);
	sim_run(w.s, SIM_SEC * 59);
	ktap_ok(w.a[0]->cq[CAIRN_REQ].n < 30);
	ktap_eq(room->dropped, 0);
	sim_run(w.s, SIM_SEC * 3);
	for (i = 0; i < w.qps; i++)
		expect_cqes(w.a[i], CAIRN_REQ, 0, 0, 29, CAIRN_CQE_SUCCESS);
	ktap_ok(room->dropped > 0);
	/* nothing more is in the stack than before */
	ktap_ok(room->most < CAIRN_ROOM_LEAST + PMTU + CAIRN_HEADER_BYTES);
	/* while they stay, no queue pair waits */
	for (i = 0; i < w.qps; i++)
		room_post(&w, i, 30, LEN);
	sim_run(w.s, SIM_SEC);
	for (i = 0; i < w.qps; i++)
		ktap_eq(w.a[i]->cq[CAIRN_REQ].n, 60);
	ktap_ok(sim_run(w.s, 400 * SIM_SEC));
	ktap_eq(room->used, 0);
	room->dropped = 0;
	for (i = 0; i < w.qps; i++)
		room_post(&w, i, 30, LEN);
	ktap_ok(sim_run(w.s, 120 * SIM_SEC));
	ktap_eq(room->dropped, 0);
	sim_end(w.s);
}

/* Nothing is lost with 4.4 and with 2.3 kbit/s. */
static void slowest_netdevs_lose_nothing(void)
{
	static const u32 byte_ns[] = { 8000000000 / 4400, 8000000000 / 2300 };
	u32 k, i;

	for (k = 0; k < ARRAY_SIZE(byte_ns); k++) {
		struct world w = room_world(1, 2, &sim_uc, byte_ns[k]);

		w.s->host[0].room.timed = true;
		for (i = 0; i < w.qps; i++)
			room_post(&w, i, 5, LEN);
		ktap_ok(sim_run(w.s, 3600 * SIM_SEC));
		for (i = 0; i < w.qps; i++)
			expect_cqes(w.a[i], CAIRN_REQ, 0, 0, 4, CAIRN_CQE_SUCCESS);
		ktap_eq(w.s->host[0].room.dropped, 0);
		sim_end(w.s);
	}
}

/* The rules of lane/room_turn.h, one by one. */
static struct cairn_room_turns room;
static struct cairn_room_wait one, two;

static void turns_new(void)
{
	cairn_room_turn_init(&room);
	INIT_LIST_HEAD(&one.entry);
	INIT_LIST_HEAD(&two.entry);
}

static void bound_follows_the_netdev(void)
{
	u32 bound = CAIRN_ROOM_LEAST;
	u64 now = 1;

	turns_new();
	/* half of it leaves at once: more */
	while (bound < CAIRN_ROOM_MOST) {
		ktap_eq(cairn_room_turn_ask(&room, &one, bound, now), 0);
		now += CAIRN_ROOM_FAST - 1;
		ktap_ok(!cairn_room_turn_next(&room, bound / 2 + 1, now));
		ktap_ok(cairn_room_turn_next(&room, bound / 2, now) == &one);
		bound *= 2;
		ktap_eq(cairn_room_turn_ask(&room, &one, 0, now), bound);
	}
	/* not beyond the most */
	cairn_room_turn_ask(&room, &one, bound, now);
	cairn_room_turn_next(&room, 0, now);
	ktap_eq(cairn_room_turn_ask(&room, &one, 0, now), CAIRN_ROOM_MOST);
	/* neither fast nor slow: as it was */
	cairn_room_turn_ask(&room, &one, bound, now);
	now += CAIRN_ROOM_FAST;
	cairn_room_turn_next(&room, 0, now);
	ktap_eq(cairn_room_turn_ask(&room, &one, 0, now), CAIRN_ROOM_MOST);
	/* slow: less, not below the least */
	while (bound > CAIRN_ROOM_LEAST / 2) {
		cairn_room_turn_ask(&room, &one, CAIRN_ROOM_MOST, now);
		now += CAIRN_ROOM_SLOW + 1;
		cairn_room_turn_next(&room, 0, now);
		bound /= 2;
		ktap_eq(cairn_room_turn_ask(&room, &one, 0, now),
			max_t(u32, bound, CAIRN_ROOM_LEAST));
	}
}

static void others_do_not_overtake(void)
{
	turns_new();
	ktap_eq(cairn_room_turn_ask(&room, &one, CAIRN_ROOM_LEAST, 1), 0);
	/* there is room by now, but one is first */
	ktap_eq(cairn_room_turn_ask(&room, &two, 0, 1), 0);
	ktap_ok(cairn_room_turn_next(&room, 0, CAIRN_ROOM_FAST + 1) == &one);
	ktap_eq(cairn_room_turn_ask(&room, &two, 0, 1), 0);
	/* one turn at a time */
	ktap_ok(!cairn_room_turn_next(&room, 0, 1));
	ktap_eq(cairn_room_turn_ask(&room, &one, 0, 1), CAIRN_ROOM_LEAST);
	/* full again: it is behind two */
	ktap_eq(cairn_room_turn_ask(&room, &one, CAIRN_ROOM_LEAST, 1), 0);
	ktap_ok(cairn_room_turn_next(&room, 0, CAIRN_ROOM_FAST + 1) == &two);
	cairn_room_turn_end(&room, &two);
	ktap_ok(cairn_room_turn_next(&room, 0, 1) == &one);
}

static void turn_passes(void)
{
	turns_new();
	cairn_room_turn_ask(&room, &one, CAIRN_ROOM_LEAST, 1);
	cairn_room_turn_ask(&room, &two, CAIRN_ROOM_LEAST, 1);
	ktap_ok(cairn_room_turn_next(&room, 0, CAIRN_ROOM_FAST + 1) == &one);
	/* the end of another run is not the end of its turn */
	cairn_room_turn_end(&room, &two);
	ktap_ok(!cairn_room_turn_next(&room, 0, 1));
	cairn_room_turn_leave(&room, &one);
	ktap_ok(cairn_room_turn_next(&room, 0, 1) == &two);
	cairn_room_turn_leave(&room, &two);
	ktap_ok(!cairn_room_turn_waits(&room));
	/* the time since those waited does not count */
	cairn_room_turn_ask(&room, &one, CAIRN_ROOM_LEAST, 1);
	cairn_room_turn_leave(&room, &one);
	cairn_room_turn_ask(&room, &two, CAIRN_ROOM_LEAST, 1 + SIM_SEC);
	cairn_room_turn_next(&room, 0, 1 + SIM_SEC);
	ktap_eq(cairn_room_turn_ask(&room, &two, 0, 1), 2 * CAIRN_ROOM_LEAST);
}

#define FULL		CAIRN_ROOM_LEAST
#define STILL		CAIRN_ROOM_STILL

/* one waits from 1 on, two behind it */
static void turns_full(void)
{
	turns_new();
	ktap_eq(cairn_room_turn_deadline(&room), 0);
	cairn_room_turn_ask(&room, &one, FULL, 1);
	ktap_ok(!cairn_room_turn_next(&room, FULL, 1));
	cairn_room_turn_ask(&room, &two, FULL, 2);
	ktap_ok(!cairn_room_turn_next(&room, FULL, 2));
	ktap_eq(cairn_room_turn_deadline(&room), 1 + STILL);
}

static void stuck_until_half_is_free(void)
{
	turns_full();
	ktap_ok(!cairn_room_turn_next(&room, FULL, STILL));
	ktap_ok(!room.stuck);
	ktap_ok(cairn_room_turn_next(&room, FULL, 1 + STILL) == &one);
	ktap_ok(room.stuck);
	ktap_eq(cairn_room_turn_deadline(&room), 0);
	ktap_eq(cairn_room_turn_ask(&room, &one, FULL, 1 + STILL), FULL);
	ktap_eq(cairn_room_turn_ask(&room, &one, FULL, 1 + STILL), FULL);
	cairn_room_turn_end(&room, &one);
	ktap_ok(cairn_room_turn_next(&room, FULL, 2 + STILL) == &two);
	cairn_room_turn_end(&room, &two);
	/* none waits from now on */
	ktap_ok(!cairn_room_turn_next(&room, FULL, 3 + STILL));
	ktap_eq(cairn_room_turn_ask(&room, &one, FULL, 3 + STILL), FULL);
	ktap_ok(!cairn_room_turn_waits(&room));
	ktap_ok(!cairn_room_turn_next(&room, FULL / 2 + 1, 4 + STILL));
	ktap_ok(room.stuck);
	ktap_ok(!cairn_room_turn_next(&room, FULL / 2, 5 + STILL));
	ktap_ok(!room.stuck);
	/* the time that it was stuck is not that of a netdev */
	ktap_eq(room.bound, FULL);
	ktap_eq(room.full_at, 0);
	/* and the next ones wait as long as the first ones */
	ktap_eq(cairn_room_turn_ask(&room, &one, FULL, 6 + STILL), 0);
	ktap_ok(!cairn_room_turn_next(&room, FULL, 6 + STILL));
	ktap_eq(cairn_room_turn_deadline(&room), 6 + 2 * STILL);
}

static void some_leave_in_time(void)
{
	turns_full();
	room.bound = CAIRN_ROOM_MOST;
	/* two CPUs may look at the clock in one order and at the room in the other */
	ktap_ok(!cairn_room_turn_next(&room, CAIRN_ROOM_MOST, 0));
	ktap_ok(!room.stuck);
	/* less than a step is nothing */
	ktap_ok(!cairn_room_turn_next(&room, CAIRN_ROOM_MOST, 3));
	ktap_ok(!cairn_room_turn_next(&room, CAIRN_ROOM_MOST - CAIRN_ROOM_STEP + 1, 10));
	ktap_eq(cairn_room_turn_deadline(&room), 1 + STILL);
	ktap_ok(!cairn_room_turn_next(&room, CAIRN_ROOM_MOST - CAIRN_ROOM_STEP, STILL));
	ktap_eq(cairn_room_turn_deadline(&room), 2 * STILL);
	ktap_ok(!cairn_room_turn_next(&room, CAIRN_ROOM_MOST - CAIRN_ROOM_STEP, 2 * STILL - 1));
	ktap_ok(!room.stuck);
}

/* A long turn, and the time when none waited, do not count. */
static void turns_do_not_count(void)
{
	turns_full();
	ktap_ok(cairn_room_turn_next(&room, 0, 1 + CAIRN_ROOM_FAST) == &one);
	ktap_ok(!cairn_room_turn_next(&room, FULL, STILL));
	cairn_room_turn_end(&room, &one);
	ktap_ok(!cairn_room_turn_next(&room, FULL, 2 * STILL));
	ktap_ok(!room.stuck);
	ktap_eq(cairn_room_turn_deadline(&room), 3 * STILL);
	cairn_room_turn_leave(&room, &two);
	ktap_eq(cairn_room_turn_deadline(&room), 0);
	cairn_room_turn_ask(&room, &two, FULL, 5 * STILL);
	ktap_ok(!cairn_room_turn_next(&room, FULL, 5 * STILL));
	ktap_ok(!room.stuck);
}

static const struct ktap_test tests[] = {
	KTAP(little_waits),
	KTAP(netdev_is_busy),
	KTAP(in_turn),
	KTAP(one_ends),
	KTAP(rc_does_not_wait),
	KTAP(kept_packets_stop_no_others),
	KTAP(slowest_netdevs_lose_nothing),
	KTAP(bound_follows_the_netdev),
	KTAP(others_do_not_overtake),
	KTAP(turn_passes),
	KTAP(stuck_until_half_is_free),
	KTAP(some_leave_in_time),
	KTAP(turns_do_not_count),
};

KTAP_MAIN(tests)
