// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Back-pressure: limited QPs in the simulated world, by what is on the wire. */
#include "engine/ahead.h"
#include "engine.h"

#define FULL	(1024 + 16)	/* MIDDLE of a QP with PMTU 1024 */
#define BURST	(10 * FULL + 16)	/* FIRST has a RETH */

static const struct cairn_rate_limit ten_mbyte = {
	.kbps = 85196,		/* 10240 packets a second */
	.burst = BURST,
};

static struct rig limited_rig(u64 seed, const struct sim_qp_init *init,
			      const struct cairn_rate_limit *limit_a,
			      const struct cairn_rate_limit *limit_b)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.pmtu = 1024;
	rig = rig_with(seed, init, &attrs);
	if (limit_a)
		rig.a->c.attrs.rate = *limit_a;
	if (limit_b)
		rig.b->c.attrs.rate = *limit_b;
	return rig;
}

static u32 wire_bytes(const struct cairn_pkt *pkt)
{
	return pkt->op->hdr_len + pkt->payload_len + cairn_pkt_pad(pkt->payload_len) +
	       CAIRN_ICRC_LEN;
}

/* Does it count for the limit of the side that sent it? */
static bool pace_counts(const struct sim_sent *sent, const struct sim_qp *qp,
			enum cairn_side_id side)
{
	return sent->qp == qp && sent->side == side &&
	       (side == CAIRN_REQ || sent->pkt.op->kind == CAIRN_KIND_READ_RESP);
}

/*
 * Compare the packets that a side sent with its limit: from each packet on, no interval
 * has more bytes than the rate allows plus a burst and a half; no instant has more than
 * a burst. @slack: bytes of tolerance.
 */
static void pace_judge(const struct sim *sim, const struct sim_qp *qp,
		       enum cairn_side_id side, const struct cairn_rate_limit *limit,
		       u32 slack)
{
	u32 i, k;

	for (i = 0; i < sim->n_sent && !ktap.failures; i++) {
		u64 sum = 0, instant = 0;

		if (!pace_counts(&sim->sent[i], qp, side))
			continue;
		for (k = i; k < sim->n_sent; k++) {
			u64 ns = sim->sent[k].when - sim->sent[i].when;

			if (!pace_counts(&sim->sent[k], qp, side))
				continue;
			sum += wire_bytes(&sim->sent[k].pkt);
			if (!ns)
				instant = sum;
			if (sum > ns * limit->kbps / 8000000 + limit->burst * 3 / 2 +
				  slack) {
				ktap_fail("%llu bytes in %llu ns", sum, ns);
				return;
			}
			if (ns > 20 * SIM_MS)
				break;
		}
		ktap_ok(instant <= limit->burst);
	}
}

/* 10240 packets a second: bursts of ten, 976562.5 ns apart, in one message. */
static void seed_example(void)
{
	struct rig rig = limited_rig(1, &sim_rc, &ten_mbyte, NULL);
	u64 first = 0, last = 0;
	u32 i, n = 0, in_burst = 0;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, 0);
	ktap_ok(!memcmp(rig.ma->mem, rig.mb->mem, RIG_LEN));
	for (i = 0; i < rig.s->n_sent; i++) {
		const struct sim_sent *sent = &rig.s->sent[i];
		u8 op = !n ? CAIRN_BTH_WRITE_FIRST :
			n == 63 ? CAIRN_BTH_WRITE_LAST : CAIRN_BTH_WRITE_MIDDLE;

		if (sent->qp != rig.a)
			continue;
		/* as if it had never been interrupted */
		ktap_eq(sent->pkt.opcode, op);
		ktap_eq(sent->pkt.psn, cairn_psn_add(rig.a->psn, n));
		if (n && sent->when != last) {
			u64 gap = sent->when - last;

			ktap_eq(in_burst, 10);
			/* 976562.5, and FIRST is longer */
			ktap_ok(gap >= 976550 && gap <= 978100);
			in_burst = 0;
		}
		if (!n)
			first = sent->when;
		last = sent->when;
		in_burst++;
		n++;
	}
	ktap_eq(n, 64);
	ktap_ok(last - first >= 6 * 976550);
	ktap_eq(rig.a->count[CAIRN_CTR_RATE_MARKS], 6);
	ktap_eq(rig.a->c.req.pkt, 0);
	sim_end(rig.s);
}

/* Every kind of request, both ends limited, a bad network. */
static void all_operations(u64 seed, const struct sim_faults *faults)
{
	struct cairn_rate_limit limit[2] = {
		{ .kbps = 1000000, .burst = 20000 },
		{ .kbps = 3000000, .burst = 12000 },
	};
	struct pair pair = pair_new(seed, &sim_rc, 1024);
	struct flow *flows[2];

	pair.a->c.attrs.rate = limit[0];
	pair.b->c.attrs.rate = limit[1];
	pair.s->faults = *faults;
	pair.s->record = true;
	flows[0] = flow_new(pair.a, pair.b, &flow_default);
	flows[1] = flow_new(pair.b, pair.a, &flow_default);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	pace_judge(pair.s, pair.a, CAIRN_REQ, &limit[0], 0);
	pace_judge(pair.s, pair.b, CAIRN_REQ, &limit[1], 0);
	pace_judge(pair.s, pair.a, CAIRN_RESP, &limit[0], 0);
	pace_judge(pair.s, pair.b, CAIRN_RESP, &limit[1], 0);
	ktap_ok(pair.a->count[CAIRN_CTR_RATE_MARKS] > 0);
	sim_end(pair.s);
}

static void everything_limited(void)
{
	static const struct sim_faults none;

	for_seeds(seed, 60)
		all_operations(seed, &none);
}

static void retransmissions_count(void)
{
	static const struct sim_faults faults = {
		.loss = 30, .dup = 20, .late = 20, .late_ns = 50000,
		.split = 200,
	};

	for_seeds(seed, 60)
		all_operations(seed, &faults);
}

static void read_responses(void)
{
	struct cairn_rate_limit limit = { .kbps = 100000, .burst = 4 * 1056 };
	struct rig rig = limited_rig(1, &sim_rc, NULL, &limit);
	u64 begin = rig.s->now;

	rig_send(&rig, 1, CAIRN_WQE_READ, RIG_LEN);
	/* its ACK comes after the responses */
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 16);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, 0);
	pace_judge(rig.s, rig.b, CAIRN_RESP, &limit, 0);
	ktap_ok(rig.s->now - begin >= cairn_rate_ns(limit.kbps, RIG_LEN - limit.burst));
	ktap_ok(rig.b->count[CAIRN_CTR_RATE_MARKS] >= 14);
	ktap_eq(rig.a->count[CAIRN_CTR_RATE_MARKS], 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RETRANSMITS], 0);
	sim_end(rig.s);
}

/* Slow enough that a message outlasts many timeouts. */
static void slower_than_the_timeout(void)
{
	struct cairn_rate_limit limit = { .kbps = 100, .burst = 1056 };
	struct rig rig = limited_rig(1, &sim_rc, &limit, NULL);

	ktap_ok(4096ULL << sim_attrs.timeout < cairn_rate_ns(100, 32 * FULL));
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 32 * 1024);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RETRANSMITS], 0);
	ktap_eq(rig.a->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

/* The WQE is read again after each wait: what the host did to it shows. */
static void wqe_is_read_again(void)
{
	struct rig rig = limited_rig(1, &sim_rc, &ten_mbyte, NULL);
	struct cairn_send_wqe *wqe;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	sim_run(rig.s, 100 * SIM_US);
	ktap_ok(rig.a->c.req.rate.marked);
	ktap_eq(rig.a->c.req.pkt, 10);
	ktap_ok(!rig.a->c.req.wqe_valid);
	wqe = (void *)sim_unit(rig.a->sq, rig.a->c.sq_depth, rig.a->sq_head);
	wqe->sge[0].length--;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_QP_OP_ERR);
	sim_end(rig.s);
}

static void pace_kick(struct sim_qp *qp)
{
	sim_turn(qp, CAIRN_REQ);
	sim_turn(qp, CAIRN_RESP);
}

static void changes_in_mid_message(void)
{
	struct cairn_rate_limit slow = { .kbps = 1, .burst = 2112 };
	struct rig rig = limited_rig(1, &sim_rc, &slow, NULL);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->c.req.pkt, 2);
	/* nothing more for 8 seconds, but for a change */
	rig.a->c.attrs.rate.kbps = 100000;
	pace_kick(rig.a);
	ktap_ok(!sim_run(rig.s, SIM_MS));
	ktap_ok(rig.a->c.req.pkt > 5);
	rig.a->c.attrs.rate = slow;
	pace_kick(rig.a);
	ktap_ok(!sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	rig.a->c.attrs.rate = (struct cairn_rate_limit){};
	pace_kick(rig.a);
	ktap_ok(sim_run(rig.s, 10 * SIM_MS));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, 0);
	ktap_ok(!memcmp(rig.ma->mem, rig.mb->mem, RIG_LEN));
	sim_end(rig.s);
}

static void waits_end_with_the_qp(void)
{
	struct cairn_rate_limit slow = { .kbps = 1, .burst = 2112 };
	struct rig rig = limited_rig(1, &sim_rc, &slow, &slow);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	rig_send(&rig, 2, CAIRN_WQE_READ, RIG_LEN);
	sim_run(rig.s, SIM_MS);
	ktap_ok(cairn_req_deadline(&rig.a->c));
	sim_modify(rig.a, CAIRN_QP_ERR);
	sim_modify(rig.b, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, SIM_MS));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(cairn_req_deadline(&rig.a->c), 0);
	ktap_eq(cairn_resp_deadline(&rig.b->c), 0);
	sim_end(rig.s);

	rig = limited_rig(1, &sim_rc, NULL, &slow);
	rig_send(&rig, 1, CAIRN_WQE_READ, RIG_LEN);
	sim_run(rig.s, SIM_MS);
	ktap_ok(cairn_resp_deadline(&rig.b->c));
	sim_reset(rig.a);
	sim_reset(rig.b);
	ktap_ok(sim_run(rig.s, SIM_MS));
	ktap_eq(cairn_resp_deadline(&rig.b->c), 0);
	sim_end(rig.s);
}

/* The smaller of the QP's limit and the address handle's, packet by packet. */
static void datagrams(void)
{
	struct cairn_rate_limit limit = { .kbps = 8000, .burst = 1100 };
	struct rig rig = limited_rig(1, &sim_ud, NULL, NULL);
	struct cairn_sge sge = sim_sge(rig.ma, 0, 1000);
	struct sim_wr wr = {
		.opcode = CAIRN_WQE_SEND, .flags = CAIRN_WQE_SIGNALED,
		.sge = &sge, .num_sge = 1, .qpn = rig.b->c.qpn, .ah = 1,
	};
	u64 begin = rig.s->now;
	u32 i;

	rig.s->host[0].ah[1] = (struct sim_ah){ true, 1, 800 };
	rig.s->host[0].ah[2] = (struct sim_ah){ true, 1, 0 };
	/* 1024 bytes each: 10.24 ms at 800 kbit/s, default burst: one */
	for (i = 0; i < 4; i++)
		sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.s->now - begin >= 3 * 10240000);
	ktap_ok(rig.s->now - begin < 4 * 10240000);
	/* another handle has no limit */
	begin = rig.s->now;
	wr.ah = 2;
	for (i = 0; i < 10; i++)
		sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.s->now - begin < SIM_MS);
	/* unless the QP has: 1.024 ms each */
	rig.a->c.attrs.rate = limit;
	begin = rig.s->now;
	for (i = 0; i < 10; i++)
		sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.s->now - begin >= 9 * 1024000);
	ktap_ok(rig.s->now - begin < 20 * SIM_MS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 24);
	sim_end(rig.s);
}

/* A QP without a limit beside limited ones is as fast as alone. */
static u64 pace_beside(u32 limited)
{
	struct cairn_rate_limit slow = { .kbps = 1000, .burst = 1056 };
	struct rig rig = limited_rig(1, &sim_rc, NULL, NULL);
	struct cairn_qp_attrs attrs = rig.a->c.attrs;
	u64 begin;
	u32 i;

	for (i = 0; i < limited; i++) {
		struct sim_qp *qp_a = sim_qp(rig.s, 2, &sim_rc);
		struct sim_qp *qp_b = sim_qp(rig.s, 1, &sim_rc);
		struct sim_mr *ma = sim_mr(rig.s, 2, 4096, SIM_ALL);
		struct sim_mr *mb = sim_mr(rig.s, 1, 4096, SIM_ALL);
		struct cairn_sge sge = sim_sge(ma, 0, 4096);
		struct sim_wr wr = {
			.opcode = CAIRN_WQE_WRITE, .sge = &sge, .num_sge = 1,
			.remote_addr = mb->va, .rkey = mb->key,
		};

		sim_connect(qp_a, qp_b, &attrs);
		qp_a->c.attrs.rate = slow;
		sim_post_send(qp_a, &wr);
	}
	begin = rig.s->now;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	while (!rig.a->cq[CAIRN_REQ].n && !sim_run(rig.s, SIM_US))
		;
	begin = rig.a->cq[CAIRN_REQ].log[0].when - begin;
	sim_run(rig.s, SIM_SEC);
	sim_end(rig.s);
	return begin;
}

static void unlimited_are_unaffected(void)
{
	ktap_eq(pace_beside(6), pace_beside(0));
}

/* WQEs that were fetched ahead go when the mark goes up, and nothing is fetched
 * while it is up, whatever else makes the QP run.
 */
static void fetched_wqes_are_purged(void)
{
	const struct cairn_rate_limit two = { .kbps = 10000, .burst = 2500 };
	struct rig rig = limited_rig(11, &sim_rc, &two, NULL);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 1000);
	u32 i, copied, purged;

	for (i = 0; i < 30; i++) {
		wr.wr_id = i;
		ktap_ok(sim_queue_send(rig.a, &wr));
	}
	sim_doorbell(rig.a);
	sim_run(rig.s, SIM_US);
	ktap_ok(rig.a->c.req.rate.marked);
	purged = rig.a->count[CAIRN_CTR_RATE_PURGES];
	/* a batch, less the two that have left */
	ktap_eq(purged, CAIRN_AHEAD_UNITS - 2);
	copied = rig.a->copied;
	for (i = 0; i < 5; i++) {
		sim_doorbell(rig.a);
		sim_run(rig.s, SIM_US);
	}
	ktap_eq(rig.a->copied, copied);
	ktap_eq(rig.a->count[CAIRN_CTR_RATE_PURGES], purged);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 29, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.a->count[CAIRN_CTR_RATE_PURGES] > purged);
	pace_judge(rig.s, rig.a, CAIRN_REQ, &two, 0);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(seed_example),
	KTAP(everything_limited),
	KTAP(retransmissions_count),
	KTAP(read_responses),
	KTAP(slower_than_the_timeout),
	KTAP(wqe_is_read_again),
	KTAP(changes_in_mid_message),
	KTAP(waits_end_with_the_qp),
	KTAP(datagrams),
	KTAP(unlimited_are_unaffected),
	KTAP(fetched_wqes_are_purged),
};

KTAP_MAIN(tests)
