// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that the responder is told to refuse (cairn_resp_rx_refused()): nothing is
 * executed, one answer, and the state that a refusal of this kind leaves.
 */
#include "engine.h"

#define SEQ	(CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ)
#define RNR(t)	(CAIRN_AETH_RNR_NAK | (t))

/* Which requests b refuses. */
struct refusal {
	u8 syndrome;
	u32 first;		/* requests that arrive before the first refused one */
	u32 count;		/* refused ones */
	u32 seen;
	u32 refused;
};

static u8 refused_rule(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct refusal *refusal = qp->hooks.arg;
	u32 n = refusal->seen++;

	if (n < refusal->first || n >= refusal->first + refusal->count)
		return 0;
	refusal->refused++;
	return refusal->syndrome;
}

static struct rig refused_rig(struct refusal *refusal,
			      const struct cairn_qp_attrs *attrs)
{
	struct rig rig = rig_with(1, &sim_rc, attrs);

	rig.b->hooks.refuse = refused_rule;
	rig.b->hooks.arg = refusal;
	memset(rig.ma->mem, 7, 64);
	memset(rig.mb->mem, 0, 64);
	return rig;
}

/* NAKs and RNR NAKs that b has sent with @syndrome. */
static u32 refused_answers(const struct rig *rig, u8 syndrome)
{
	u32 n = 0;

	for (u32 i = 0; i < rig->s->n_sent; i++)
		n += rig->s->sent[i].qp == rig->b &&
		     rig->s->sent[i].pkt.op->kind == CAIRN_KIND_ACK &&
		     rig->s->sent[i].pkt.syndrome == syndrome;
	return n;
}

static const struct refused_case {
	u8 code;
	u8 status;
	u8 event;
} refused_cases[] = {
	{ CAIRN_NAK_INVALID_REQUEST, CAIRN_CQE_REM_INV_REQ_ERR, CAIRN_ASYNC_QP_REQ_ERR },
	{ CAIRN_NAK_REMOTE_ACCESS, CAIRN_CQE_REM_ACCESS_ERR, CAIRN_ASYNC_QP_ACCESS_ERR },
	{ CAIRN_NAK_REMOTE_OP, CAIRN_CQE_REM_OP_ERR, CAIRN_ASYNC_QP_FATAL },
};

static const u8 refused_opcodes[] = {
	CAIRN_WQE_WRITE, CAIRN_WQE_SEND, CAIRN_WQE_READ, CAIRN_WQE_FAA,
};

static void refused_fatally(const struct refused_case *want, u8 opcode)
{
	struct refusal refusal = {
		.syndrome = CAIRN_AETH_NAK | want->code, .first = 1, .count = 9,
	};
	struct rig rig = refused_rig(&refusal, &sim_attrs);

	rig_recv(&rig, 21, 64);
	rig_recv(&rig, 22, 64);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 0);
	rig_send(&rig, 2, opcode, 8);
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, want->status);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqes(rig.b, CAIRN_RESP, 0, 21, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	ktap_eq(refused_answers(&rig, refusal.syndrome), 1);
	ktap_eq(rig.b->asyncs, 1);
	ktap_eq(rig.b->async[0], want->event);
	ktap_eq(rig.b->atomics, 0);
	ktap_eq(rig.mb->mem[0], 0);
	sim_end(rig.s);
}

static void a_fatal_nak_ends_both_ends(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(refused_cases); i++)
		for (u32 k = 0; k < ARRAY_SIZE(refused_opcodes); k++)
			refused_fatally(&refused_cases[i], refused_opcodes[k]);
}

/* A refused WRITE with immediate ends its receive, as one with a wrong key does. */
static void an_immediate_takes_its_receive(void)
{
	struct refusal refusal = {
		.syndrome = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS, .count = 1,
	};
	struct rig rig = refused_rig(&refusal, &sim_attrs);

	rig_recv(&rig, 21, 64);
	rig_send(&rig, 1, CAIRN_WQE_WRITE_IMM, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_LOC_ACCESS_ERR);
	ktap_eq(rig.mb->mem[0], 0);
	sim_end(rig.s);
}

/* Each kind of request, in the middle of others. */
static void a_sequence_nak_is_repaired(void)
{
	for (u32 k = 0; k < ARRAY_SIZE(refused_opcodes); k++) {
		struct refusal refusal = { .syndrome = SEQ, .first = 2, .count = 1 };
		struct rig rig = refused_rig(&refusal, &sim_attrs);

		rig_recv(&rig, 21, 64);
		for (u32 id = 1; id <= 5; id++)
			rig_send(&rig, id, id == 3 ? refused_opcodes[k] : CAIRN_WQE_WRITE, 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 5, CAIRN_CQE_SUCCESS);
		ktap_eq(refusal.refused, 1);
		ktap_eq(refused_answers(&rig, SEQ), 1);
		ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
		ktap_eq(rig.b->asyncs, 0);
		ktap_eq(rig.b->atomics, refused_opcodes[k] == CAIRN_WQE_FAA);
		sim_end(rig.s);
	}
}

static void sequence_naks_without_end(void)
{
	struct refusal refusal = { .syndrome = SEQ, .count = ~0u };
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.retry_cnt = 2;
	rig = refused_rig(&refusal, &attrs);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(refused_answers(&rig, SEQ), 3);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	ktap_eq(rig.b->c.resp.epsn, rig.a->psn);
	ktap_eq(rig.mb->mem[0], 0);
	sim_end(rig.s);
}

/* The expected PSN stays, no receive is taken, and the peer waits as it is told. */
static void an_rnr_nak_is_waited_for(void)
{
	struct refusal refusal = { .syndrome = RNR(20), .count = 1 };	/* 10.24 ms */
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;
	u64 begin;

	attrs.rnr_retry = 1;
	attrs.min_rnr_timer = 1;
	rig = refused_rig(&refusal, &attrs);
	begin = rig.s->now;
	rig_recv(&rig, 21, 64);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 8);
	sim_run(rig.s, SIM_MS);
	ktap_eq(refused_answers(&rig, RNR(20)), 1);
	ktap_eq(rig.b->c.resp.epsn, rig.a->psn);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(rig.b->c.resp.recv.valid, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.s->now - begin >= 10240 * SIM_US);
	ktap_eq(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT], 1);
	sim_end(rig.s);
}

static void rnr_naks_without_end(void)
{
	struct refusal refusal = { .syndrome = RNR(1), .count = ~0u };
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.rnr_retry = 3;
	rig = refused_rig(&refusal, &attrs);
	rig_send(&rig, 1, CAIRN_WQE_READ, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RNR_RETRY_EXC_ERR);
	ktap_eq(refused_answers(&rig, RNR(1)), 4);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

static enum sim_fate refused_lose_first(struct sim_qp *qp, enum cairn_side_id side,
					const struct cairn_pkt *pkt)
{
	u32 *lost = qp->hooks.arg;

	return side == CAIRN_REQ && !(*lost)++ ? SIM_DROP : SIM_PASS;
}

/* The request arrives ahead of a lost one: it is refused in its turn, not before. */
static void a_kept_request_is_refused_in_its_turn(void)
{
	static const u8 syndromes[] = {
		SEQ, RNR(1), CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS,
	};

	for (u32 i = 0; i < ARRAY_SIZE(syndromes); i++) {
		struct refusal refusal = { .syndrome = syndromes[i], .count = 1 };
		struct rig rig = refused_rig(&refusal, &sim_attrs);
		bool fatal = i == 2;
		u32 lost = 1;

		rig.a->hooks.emit = refused_lose_first;
		rig.a->hooks.arg = &lost;
		/* b knows a's port, and a its round trip */
		refusal.first = 1;
		rig_send(&rig, 1, CAIRN_WQE_WRITE, 0);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		lost = 0;
		rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
		rig_send(&rig, 3, CAIRN_WQE_FAA, 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_eq(rig.b->count[CAIRN_CTR_RX_HELD], 1);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 2, 3, fatal ? CAIRN_CQE_REM_ACCESS_ERR :
							   CAIRN_CQE_SUCCESS);
		ktap_eq(refusal.refused, 1);
		/* one more is that of the gap */
		ktap_eq(refused_answers(&rig, syndromes[i]), 1 + (i == 0));
		ktap_eq(rig.b->atomics, !fatal);
		ktap_eq(rig.b->c.state, fatal ? CAIRN_QP_ERR : CAIRN_QP_RTS);
		sim_end(rig.s);
	}
}

static enum sim_fate refused_lose_answer(struct sim_qp *qp, enum cairn_side_id side,
					 const struct cairn_pkt *pkt)
{
	const struct refusal *refusal = qp->hooks.arg;

	return side == CAIRN_RESP && refusal->seen == 1 ? SIM_DROP : SIM_PASS;
}

/* A request that has been executed is not refused when it comes again. */
static void a_duplicate_is_answered(void)
{
	struct refusal refusal = {
		.syndrome = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS,
		.first = 1, .count = ~0u - 1,
	};
	struct rig rig = refused_rig(&refusal, &sim_attrs);

	rig.b->hooks.emit = refused_lose_answer;
	rig_send(&rig, 1, CAIRN_WQE_FAA, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(refusal.refused > 0);
	ktap_eq(rig.b->atomics, 1);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* Requests of another connection's packets are not answered at all. */
static void a_stranger_is_not_refused(void)
{
	struct refusal refusal = {
		.syndrome = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS, .count = ~0u,
	};
	struct rig rig = refused_rig(&refusal, &sim_attrs);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_UC | CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.b->c.qpn,
		.psn = rig.a->psn,
	};

	sim_inject(rig.b, &pkt, NULL);
	pkt.opcode = CAIRN_BTH_WRITE_ONLY;
	pkt.pkey = 1;
	sim_inject(rig.b, &pkt, NULL);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(refused_answers(&rig, refusal.syndrome), 0);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* Any request at any time, with loss: the peer repairs all, and the model agrees. */
static u8 refused_at_random(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct sim_rand *random = &qp->s->rand;

	if (qp->s->calm || !sim_chance(random, 50))
		return 0;
	return sim_below(random, 2) ? SEQ : RNR(1 + sim_below(random, 4));
}

static void refusals_and_loss(void)
{
	for_seeds(seed, 100) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct flow *flows[2];
		struct pair pair;

		attrs.timeout = 8;
		attrs.min_rnr_timer = 3;
		pair = pair_fresh(seed, &sim_rc, &attrs);
		pair.s->faults = (struct sim_faults){
			.loss = 20, .dup = 20, .late = 20, .split = 200,
			.late_ns = 20 * SIM_US,
		};
		flows[0] = flow_new(pair.a, pair.b, &flow_default);
		flows[1] = flow_new(pair.b, pair.a, &flow_default);
		flow_random(flows[0]);
		flow_random(flows[1]);
		pair.a->hooks.refuse = refused_at_random;
		pair.b->hooks.refuse = refused_at_random;
		flow_run(flows, 2);
		sim_end(pair.s);
	}
}

static void the_end_of_a_queue_pair(void)
{
	struct rig rig = rig_new(1);

	rig_recv(&rig, 21, 64);
	ktap_ok(cairn_qpc_break(&rig.b->c));
	ktap_ok(!cairn_qpc_break(&rig.b->c));
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.b->async[0], CAIRN_ASYNC_QP_FATAL);
	cairn_qpc_set_state(&rig.a->c, CAIRN_QP_RESET);
	ktap_ok(!cairn_qpc_break(&rig.a->c));
	ktap_eq(rig.a->c.state, CAIRN_QP_RESET);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(a_fatal_nak_ends_both_ends),
	KTAP(an_immediate_takes_its_receive),
	KTAP(a_sequence_nak_is_repaired),
	KTAP(sequence_naks_without_end),
	KTAP(an_rnr_nak_is_waited_for),
	KTAP(rnr_naks_without_end),
	KTAP(a_kept_request_is_refused_in_its_turn),
	KTAP(a_duplicate_is_answered),
	KTAP(a_stranger_is_not_refused),
	KTAP(refusals_and_loss),
	KTAP(the_end_of_a_queue_pair),
};

KTAP_MAIN(tests)
