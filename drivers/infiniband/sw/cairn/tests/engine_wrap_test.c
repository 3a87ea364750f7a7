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
	struct sim *s = sim_new(seed);
	struct sim_qp_init init = sim_rc;
	struct cairn_qp_attrs attrs = sim_attrs;
	struct flow *f[2];
	struct sim_qp *a, *b;

	attrs.pmtu = 256;
	attrs.max_rd_atomic = 4;
	init.sq_depth = 64;
	init.rq_depth = 16;
	init.sq_start = at->index;
	init.rq_start = at->index;
	a = sim_qp(s, 0, &init);
	b = sim_qp(s, 1, &init);
	sim_to_rts(a, 1, b->c.qpn, &attrs, at->psn, at->psn);
	sim_to_rts(b, 0, a->c.qpn, &attrs, at->psn, at->psn);
	/* a message's SSN is what the MSN becomes with it */
	a->c.req.ssn = at->ssn;
	b->c.req.ssn = at->ssn;
	a->c.resp.msn = cairn_psn_add(at->ssn, CAIRN_24BIT_MASK);
	b->c.resp.msn = a->c.resp.msn;
	s->faults = faults;
	f[0] = flow_new(a, b, &flow_default);
	f[1] = flow_new(b, a, &flow_default);
	flow_random(f[0]);
	flow_random(f[1]);
	flow_run(f, 2);
	sim_end(s);
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
	struct rig r, of;
	u32 skip;

	attrs.pmtu = 256;
	r = rig_with(1, &sim_rc, &attrs);
	r.s->dead[1] = true;
	of = r;
	of.ma = sim_mr(r.s, 0, NEAR, SIM_ALL);
	of.ma->len = LONGEST;
	rig_send(&of, 1, CAIRN_WQE_WRITE, LONGEST);
	sim_run(r.s, 100 * SIM_US);
	*mr = of.ma;
	req = &r.a->c.req;
	ktap_ok(req->pkt && req->pkt <= 512);
	skip = LONGEST / 256 - 400 - req->pkt;
	of.ma->mem -= LONGEST - NEAR;
	req->pkt += skip;
	req->una = cairn_psn_add(req->una, skip);
	req->sent = cairn_psn_add(req->sent, skip);
	req->acked = req->una;
	return r;
}

static void longest_end(struct rig *r, struct sim_mr *mr)
{
	mr->mem += LONGEST - NEAR;
	sim_end(r->s);
}

/* An answer of the kind that @opcode is: to packet @n behind the message. */
static void longest_answer(const struct rig *r, u8 opcode, s32 n)
{
	sim_inject(r->a, &(struct cairn_pkt){
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = r->a->c.qpn,
		.psn = cairn_psn_add(r->a->psn, LONGEST / 256 + n),
		.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_CREDIT_INVALID,
	}, NULL);
	sim_run(r->s, 100 * SIM_US);
}

/* One ACK for its end and what follows; also when it is being repeated. */
static void longest_and_more_acked_at_once(void)
{
	u32 wait;

	for (wait = 0; wait < 2; wait++) {
		struct sim_mr *mr;
		struct rig r = rig_longest(&mr);

		rig_send(&r, 2, CAIRN_WQE_WRITE, 8);
		rig_send(&r, 3, CAIRN_WQE_SEND, 8);
		longest_answer(&r, CAIRN_BTH_ACK, -401);
		ktap_eq(r.a->c.req.sent, r.a->c.req.psn);
		if (wait)
			sim_run(r.s, 100 * SIM_MS);
		longest_answer(&r, CAIRN_BTH_ACK, 1);
		expect_cqes(r.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
		ktap_ok(sim_run(r.s, SIM_SEC));
		longest_end(&r, mr);
	}
}

/* The request behind it has a response, which is the first answer of all. */
static void response_behind_the_longest(void)
{
	struct sim_mr *mr;
	struct rig r = rig_longest(&mr);

	rig_send(&r, 2, CAIRN_WQE_WRITE, 8);
	rig_send(&r, 3, CAIRN_WQE_READ, 0);
	longest_answer(&r, CAIRN_BTH_ACK, -401);
	longest_answer(&r, CAIRN_BTH_READ_RESP_ONLY, 1);
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(r.a->count[CAIRN_CTR_STALE_RESPONSES], 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	longest_end(&r, mr);
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
