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

static const struct ktap_test tests[] = {
	KTAP(psn_wraps),
	KTAP(psn_crosses_the_middle),
	KTAP(ring_index_wraps),
	KTAP(ssn_and_msn_wrap),
	KTAP(everything_wraps),
};

KTAP_MAIN(tests)
