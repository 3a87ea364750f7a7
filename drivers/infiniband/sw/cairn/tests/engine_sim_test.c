// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The simulation itself: it repeats, its faults happen, its judge judges. */
#include "engine.h"

static const struct sim_faults faults = {
	.loss = 50, .dup = 50, .late = 50, .corrupt = 20, .split = 300,
	.late_ns = 100000,
};

/* A number that two runs share only if everything went the same way. */
static u64 sim_fingerprint(u64 seed)
{
	struct pair pair = pair_new(seed, &sim_rc, 512);
	struct flow *flows[2];
	u64 sum, i;

	pair.s->faults = faults;
	flows[0] = flow_new(pair.a, pair.b, &flow_default);
	flows[1] = flow_new(pair.b, pair.a, &flow_default);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	sum = pair.s->now;
	for (i = 0; i < CAIRN_CTR_COUNT; i++)
		sum = sum * 31 + pair.s->count[i];
	sim_end(pair.s);
	return sum;
}

static void a_seed_repeats(void)
{
	ktap_eq(sim_fingerprint(1), sim_fingerprint(1));
	ktap_eq(sim_fingerprint(2), sim_fingerprint(2));
	ktap_ok(sim_fingerprint(1) != sim_fingerprint(2));
}

static void faults_happen(void)
{
	struct pair pair = pair_new(1, &sim_rc, 256);
	struct flow *flow = flow_new(pair.a, pair.b, &flow_default);

	pair.s->faults = faults;
	flow_random(flow);
	flow_run(&flow, 1);
	ktap_ok(pair.s->count[CAIRN_CTR_RX_ICRC_ERRORS] > 5);
	ktap_ok(pair.s->count[CAIRN_CTR_OUT_OF_SEQUENCE] > 5);
	ktap_ok(pair.s->count[CAIRN_CTR_DUPLICATE_REQUEST] > 5);
	ktap_ok(pair.s->count[CAIRN_CTR_STALE_RESPONSES] > 5);
	ktap_ok(pair.s->count[CAIRN_CTR_RETRANSMITS] > 5);
	sim_end(pair.s);
}

/* A finished flow with one thing wrong. */
static void expect_verdict(void (*spoil)(struct flow *flow), const char *verdict)
{
	struct pair pair = pair_new(1, &sim_rc, 1024);
	struct flow *flow = flow_new(pair.a, pair.b, &flow_default);

	flow_random(flow);
	flow_start(flow);
	ktap_ok(sim_run(pair.s, SIM_SEC));
	ktap_eq(pair.s->failures, 0);
	spoil(flow);
	flow_check(flow);
	if (!strstr(pair.s->why, verdict))
		ktap_fail("verdict \"%s\", expected \"%s\"", pair.s->why, verdict);
	pair.s->failures = 0;
	flow_free(flow);
	sim_end(pair.s);
}

static void spoil_target(struct flow *flow)
{
	flow->target->mem[flow->target->len - 1] ^= 1;
}

static void spoil_result(struct flow *flow)
{
	u32 i;

	for (i = 0; i < flow->wrs; i++)
		if (flow->wr[i].opcode == CAIRN_WQE_FAA)
			flow->dst->mem[flow->wr[i].local.piece[0].off] ^= 1;
}

static void spoil_around(struct flow *flow)
{
	flow->dst->mem[flow->dst->len - 1] ^= 1;
}

static void spoil_receives(struct flow *flow)
{
	flow->rbuf->mem[0] ^= 1;
}

static void spoil_count(struct flow *flow)
{
	flow->recv_done--;
}

static void spoil_ring(struct flow *flow)
{
	flow->from->sq_tail++;
}

static void judge_sees_it(void)
{
	expect_verdict(spoil_target, "target differs");
	expect_verdict(spoil_result, "read is wrong");
	expect_verdict(spoil_around, "memory around READ results differs");
	expect_verdict(spoil_receives, "receive buffers differs");
	expect_verdict(spoil_count, "came to rest");
	expect_verdict(spoil_ring, "still in use");
}

/* Completions that should not be, fed to the judge directly. */
static void judge_knows_completions(void)
{
	static const struct cairn_cqe wrong[] = {
		{ .wr_id = 1, .opcode = CAIRN_CQE_WRITE },
		{ .wr_id = 0, .opcode = CAIRN_CQE_SEND },
		{ .wr_id = 0, .opcode = CAIRN_CQE_WRITE, .status = 5 },
		/* right, but before anything has left */
		{ .wr_id = 0, .opcode = CAIRN_CQE_WRITE },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct pair pair = pair_new(1, &sim_rc, 1024);
		struct flow *flow = flow_new(pair.a, pair.b, &flow_default);

		flow_add(flow, CAIRN_WQE_WRITE, 100)->flags |= CAIRN_WQE_SIGNALED;
		flow_add(flow, CAIRN_WQE_WRITE, 100)->flags |= CAIRN_WQE_SIGNALED;
		flow_start(flow);
		flow->from->hooks.cqe(flow->from, CAIRN_REQ, &wrong[i]);
		ktap_ok(pair.s->failures > 0);
		pair.s->failures = 0;
		flow_free(flow);
		sim_end(pair.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(a_seed_repeats),
	KTAP(faults_happen),
	KTAP(judge_sees_it),
	KTAP(judge_knows_completions),
};

KTAP_MAIN(tests)
