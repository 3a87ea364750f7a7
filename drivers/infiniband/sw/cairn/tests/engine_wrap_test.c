// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Every counter that wraps, made to wrap in the middle of a lossy program. */
#include "engine.h"

static const struct sim_faults faults = {
	.loss = 30, .dup = 30, .late = 50, .split = 300, .late_ns = 100000,
};

struct start {
	u32 psn;
	u32 index;
	u32 ssn;
};

static void run_from(u64 seed, const struct start *at)
{
	struct sim *sim = sim_new(seed);
	struct sim_qp_init init = sim_rc;
	struct cairn_qp_attrs attrs = sim_attrs;
	struct flow *flows[2];
	struct sim_qp *qp_a, *qp_b;

	attrs.pmtu = 256;
	attrs.max_rd_atomic = 4;
	init.sq_depth = 64;
	init.rq_depth = 16;
	init.sq_start = at->index;
	init.rq_start = at->index;
	qp_a = sim_qp(sim, 0, &init);
	qp_b = sim_qp(sim, 1, &init);
	sim_to_rts(qp_a, 1, qp_b->c.qpn, &attrs, at->psn, at->psn);
	sim_to_rts(qp_b, 0, qp_a->c.qpn, &attrs, at->psn, at->psn);
	/* a message's SSN is what the MSN becomes with it */
	qp_a->c.req.ssn = at->ssn;
	qp_b->c.req.ssn = at->ssn;
	qp_a->c.resp.msn = cairn_psn_add(at->ssn, CAIRN_24BIT_MASK);
	qp_b->c.resp.msn = qp_a->c.resp.msn;
	sim->faults = faults;
	flows[0] = flow_new(qp_a, qp_b, &flow_default);
	flows[1] = flow_new(qp_b, qp_a, &flow_default);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	sim_end(sim);
}

static void psn_wraps(void)
{
	for_seeds(seed, 40)
		run_from(seed, &(struct start){
			.psn = 0xffffff - seed % 40 * 17, .ssn = 1 });
}

/* Halfway round, where a comparison with the wrong width goes wrong. */
static void psn_crosses_the_middle(void)
{
	for_seeds(seed, 20)
		run_from(seed, &(struct start){
			.psn = 0x7fffff - seed % 20 * 17, .ssn = 1 });
}

static void ring_index_wraps(void)
{
	for_seeds(seed, 40)
		run_from(seed, &(struct start){
			.index = -(u32)(seed % 40) * 3, .ssn = 1 });
}

static void ssn_and_msn_wrap(void)
{
	for_seeds(seed, 20)
		run_from(seed, &(struct start){ .ssn = 0xffffff - seed % 20 });
}

static void everything_wraps(void)
{
	for_seeds(seed, 40)
		run_from(seed, &(struct start){
			.psn = 0xffffff - seed % 40 * 17,
			.index = -(u32)(seed % 40) * 3,
			.ssn = 0xffffff - seed % 20 });
}

/*
 * The longest message has half of all PSNs but one. The first window of it leaves, then
 * it is set forward to the last ones, and the region with it: its memory is that of both.
 */
#define LONGEST		((1u << 31) - 256)
#define NEAR		(256 * 1024)

static struct rig rig_longest(struct sim_mr **mr)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct cairn_requester *req;
	struct rig rig, of;
	u32 skip;

	attrs.pmtu = 256;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.s->dead[1] = true;
	of = rig;
	of.ma = sim_mr(rig.s, 0, NEAR, SIM_ALL);
	of.ma->len = LONGEST;
	rig_send(&of, 1, CAIRN_WQE_WRITE, LONGEST);
	sim_run(rig.s, 100 * SIM_US);
	*mr = of.ma;
	req = &rig.a->c.req;
	ktap_ok(req->pkt && req->pkt <= 512);
	skip = LONGEST / 256 - 400 - req->pkt;
	of.ma->mem -= LONGEST - NEAR;
	req->pkt += skip;
	req->una = cairn_psn_add(req->una, skip);
	req->sent = cairn_psn_add(req->sent, skip);
	req->acked = req->una;
	return rig;
}

static void longest_end(struct rig *rig, struct sim_mr *mr)
{
	mr->mem += LONGEST - NEAR;
	sim_end(rig->s);
}

/* An answer of the kind that @opcode is: to packet @n behind the message. */
static void longest_answer(const struct rig *rig, u8 opcode, s32 n)
{
	sim_inject(rig->a, &(struct cairn_pkt){
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->a->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, LONGEST / 256 + n),
		.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_CREDIT_INVALID,
	}, NULL);
	sim_run(rig->s, 100 * SIM_US);
}

/* One ACK for its end and what follows; also when it is being repeated. */
static void longest_and_more_acked_at_once(void)
{
	u32 wait;

	for (wait = 0; wait < 2; wait++) {
		struct sim_mr *mr;
		struct rig rig = rig_longest(&mr);

		rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
		rig_send(&rig, 3, CAIRN_WQE_SEND, 8);
		longest_answer(&rig, CAIRN_BTH_ACK, -401);
		ktap_eq(rig.a->c.req.sent, rig.a->c.req.psn);
		if (wait)
			sim_run(rig.s, 100 * SIM_MS);
		longest_answer(&rig, CAIRN_BTH_ACK, 1);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		longest_end(&rig, mr);
	}
}

/* The request behind it has a response, which is the first answer of all. */
static void response_behind_the_longest(void)
{
	struct sim_mr *mr;
	struct rig rig = rig_longest(&mr);

	rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
	rig_send(&rig, 3, CAIRN_WQE_READ, 0);
	longest_answer(&rig, CAIRN_BTH_ACK, -401);
	longest_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 1);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->count[CAIRN_CTR_STALE_RESPONSES], 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	longest_end(&rig, mr);
}

static const struct ktap_test tests[] = {
	KTAP(psn_wraps),
	KTAP(psn_crosses_the_middle),
	KTAP(ring_index_wraps),
	KTAP(ssn_and_msn_wrap),
	KTAP(everything_wraps),
	KTAP(longest_and_more_acked_at_once),
	KTAP(response_behind_the_longest),
};

KTAP_MAIN(tests)
