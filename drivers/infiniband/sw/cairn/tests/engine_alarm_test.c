// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deadlines that were met leave no work: what the lane's timer does with the
 * alarms of many QPs, counted.
 */
#include "engine/alarm.h"
#include "engine.h"

#define PAIRS		8
#define MESSAGES	200

/* The alarms of all sides, and what the timer did. */
struct timer {
	struct cairn_alarm alarm[SIM_QPS][CAIRN_SIDES];
	u32 looks;		/* entries that expired */
	u32 turns;		/* sides that were run */
};

static u64 alarm_deadline(const struct sim_qp *qp, enum cairn_side_id side)
{
	return side == CAIRN_REQ ? cairn_req_deadline(&qp->c) :
				   cairn_resp_deadline(&qp->c);
}

static void alarm_look(struct timer *timer, struct cairn_alarm *alarm, u64 now)
{
	u64 due;

	if (!alarm->set || alarm->set > now)
		return;
	timer->looks++;
	due = cairn_alarm_expire(alarm);
	if (due > now)
		alarm->set = due;
	else
		timer->turns += !!due;
}

/* As the lane does after each run, and its timer between them. */
static void alarm_stepped(struct sim *sim, void *arg)
{
	struct timer *timer = arg;
	u32 i, side;

	for (i = 0; i < sim->qps; i++) {
		for (side = 0; side < CAIRN_SIDES; side++) {
			struct cairn_alarm *alarm = &timer->alarm[i][side];
			u64 due = alarm_deadline(sim->qp[i], side);

			alarm_look(timer, alarm, sim->now);
			if (cairn_alarm_move(alarm, due))
				alarm->set = due;
			if (due && !ktap_ok(alarm->set && alarm->set <= due))
				return;
		}
	}
}

static void timer_rigs(struct rig *rig)
{
	u32 i;

	rig[0] = rig_new(1);
	for (i = 1; i < PAIRS; i++) {
		rig[i] = rig[0];
		rig[i].a = sim_qp(rig[0].s, 0, &sim_rc);
		rig[i].b = sim_qp(rig[0].s, 1, &sim_rc);
		sim_connect(rig[i].a, rig[i].b, &sim_attrs);
	}
}

static void acknowledged_messages_leave_nothing(void)
{
	struct timer timer = {};
	struct rig rig[PAIRS];
	u32 i, k;

	timer_rigs(rig);
	rig[0].s->stepped = alarm_stepped;
	rig[0].s->stepped_arg = &timer;
	for (k = 0; k < MESSAGES; k++) {
		for (i = 0; i < PAIRS; i++)
			rig_send(&rig[i], k, CAIRN_WQE_WRITE, 64);
		/* All is acknowledged; the clock goes on. */
		ktap_ok(sim_run(rig[0].s, SIM_SEC));
		rig[0].s->now += (1 + k % 7) * SIM_MS;
	}
	ktap_diag("%u messages: %u looks, %u turns", PAIRS * MESSAGES,
		  timer.looks, timer.turns);
	/* else the test would say nothing */
	ktap_ok(timer.looks > MESSAGES);
	ktap_eq(timer.turns, 0);
	for (i = 0; i < PAIRS; i++)
		ktap_eq(rig[i].a->c.req.una, rig[i].a->c.req.psn);
	sim_end(rig[0].s);
}

/* Connections that take turns: each has something on its way for a moment, and the
 * timer would have to look at it a millisecond later, for nothing.
 */
static void deadlines_of_many_come_together(void)
{
	u32 i, looks = 0, steps = 1000;
	struct rig rig[PAIRS];
	u64 expiry, last = 0;

	timer_rigs(rig);
	for (i = 0; i < PAIRS; i++)
		rig_send(&rig[i], 0, CAIRN_WQE_WRITE, 64);
	ktap_ok(sim_run(rig[0].s, SIM_SEC));	/* round trips are known */
	for (i = 0; i < steps; i++) {
		struct sim_qp *qp = rig[i % PAIRS].a;
		u64 due;

		rig[0].s->now += 50 * SIM_US;
		rig_send(&rig[i % PAIRS], 1 + i, CAIRN_WQE_WRITE, 64);
		sim_run(rig[0].s, SIM_US);
		due = cairn_req_deadline(&qp->c);
		expiry = cairn_req_expiry(&qp->c, rig[0].s->now);
		ktap_ok(due && expiry >= due && expiry <= due + 4 * SIM_MS);
		looks += expiry != last;
		last = expiry;
		ktap_ok(sim_run(rig[0].s, SIM_SEC));
	}
	ktap_diag("%u messages: %u looks", steps, looks);
	/* 50 ms in pieces of 2 ms, and the time of the messages */
	ktap_ok(looks > 10 && looks < 60);
	sim_end(rig[0].s);
}

/* Any order of moves and looks: a deadline that comes is seen when it comes. */
static void no_deadline_is_missed(void)
{
	for_seeds(seed, 200) {
		struct sim *sim = sim_new(seed);
		struct cairn_alarm alarm = {};
		struct timer timer = {};
		u64 now = 1, due;
		u32 i;

		for (i = 0; i < 1000; i++) {
			u32 before = timer.turns;

			if (sim_below(&sim->rand, 3)) {
				due = sim_below(&sim->rand, 4) ?
				      now + 1 + sim_below(&sim->rand, 100) : 0;
				if (cairn_alarm_move(&alarm, due))
					alarm.set = due;
			}
			now += sim_below(&sim->rand, 50);
			due = alarm.due;
			alarm_look(&timer, &alarm, now);
			ktap_eq(timer.turns - before, due && due <= now);
			if (timer.turns != before)
				cairn_alarm_move(&alarm, 0);
		}
		sim_end(sim);
	}
}

/* A timer that always finds work has its part of the time, and no more, however long
 * one go of it takes. After a pause it has the burst at once.
 */
static void a_timer_has_a_part_of_the_time(void)
{
	static const u64 takes[] = { 500, 20 * SIM_US, 40 * SIM_MS };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(takes); i++) {
		struct cairn_timer_share share = {};
		u64 now = SIM_SEC, end = now + 30 * SIM_SEC, used = 0, burst = 0;

		ktap_ok(cairn_alarm_share_begin(&share, now));
		while (now < end) {
			u64 took = 0;		/* all is the thread's */

			if (cairn_alarm_share_begin(&share, now)) {
				took = takes[i];
				used += took;
			}
			cairn_alarm_share_end(&share, took);
			now += took + 3 * SIM_US;
		}
		ktap_diag("%llu ns at a time: 1/%llu", takes[i], 30 * SIM_SEC / used);
		ktap_ok(used <= 30 * SIM_SEC / CAIRN_TIMER_PART + CAIRN_TIMER_BURST_NS +
				takes[i]);
		ktap_ok(used >= 30 * SIM_SEC / (CAIRN_TIMER_PART + 2));
		now += 10 * SIM_SEC;
		while (cairn_alarm_share_begin(&share, now) && burst < SIM_SEC) {
			burst += takes[i];
			cairn_alarm_share_end(&share, takes[i]);
		}
		ktap_ok(burst >= CAIRN_TIMER_BURST_NS);
		ktap_ok(burst < CAIRN_TIMER_BURST_NS + takes[i]);
	}
}

static const struct ktap_test tests[] = {
	KTAP(acknowledged_messages_leave_nothing),
	KTAP(deadlines_of_many_come_together),
	KTAP(no_deadline_is_missed),
	KTAP(a_timer_has_a_part_of_the_time),
};

KTAP_MAIN(tests)
