// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RC on bad networks: random programs in both directions at once, judged by
 * the model, for many seeds of every kind of fault.
 */
#include "engine.h"

static const u16 pmtus[] = { 256, 512, 1024, 2048, 4096 };

/* Vary what the specification leaves open, or what an application chooses. */
static struct pair random_pair(u64 seed)
{
	struct sim_rand rand = { .state = seed };
	struct cairn_qp_attrs attrs = sim_attrs;
	struct sim_qp_init init = sim_rc;
	struct pair pair;

	attrs.pmtu = pmtus[sim_below(&rand, ARRAY_SIZE(pmtus))];
	attrs.timeout = sim_between(&rand, 8, 16);
	attrs.max_rd_atomic = 1 << sim_below(&rand, 5);
	attrs.max_dest_rd_atomic = attrs.max_rd_atomic;
	init.rd_slots = attrs.max_rd_atomic;	/* and no more */
	attrs.min_rnr_timer = sim_between(&rand, 1, 8);
	init.sq_depth = 16 << sim_below(&rand, 4);
	init.sq_start = (u32)sim_rand(&rand);
	init.rq_start = (u32)sim_rand(&rand);
	init.sig_all = sim_chance(&rand, 100);
	pair = pair_fresh(seed, &init, &attrs);
	pair.s->budget = sim_chance(&rand, 300) ? 0 : 64;
	pair.s->latency_ns = sim_between(&rand, 100, 20000);
	/* peers that keep nothing, little, or all that is ahead of a gap */
	pair.a->plain = sim_chance(&rand, 300);
	pair.b->plain = sim_chance(&rand, 300);
	if (sim_chance(&rand, 200))
		pair.b->hold_room = sim_between(&rand, 1, 20);
	return pair;
}

static void run_seed(u64 seed, const struct sim_faults *faults,
		     const struct flow_cfg *cfg)
{
	struct pair pair = random_pair(seed);
	struct flow *flows[2];

	pair.s->faults = *faults;
	flows[0] = flow_new(pair.a, pair.b, cfg);
	flows[1] = flow_new(pair.b, pair.a, cfg);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	sim_end(pair.s);
}

static void run_seeds(const struct sim_faults *faults, u32 seeds)
{
	for_seeds(seed, seeds)
		run_seed(seed, faults, &flow_default);
}

static void loss_1_percent(void)
{
	run_seeds(&(struct sim_faults){ .loss = 10, .split = 200 }, 100);
}

static void loss_5_percent(void)
{
	run_seeds(&(struct sim_faults){ .loss = 50, .split = 200 }, 100);
}

static void loss_20_percent(void)
{
	run_seeds(&(struct sim_faults){ .loss = 200, .split = 200 }, 100);
}

static void duplication(void)
{
	run_seeds(&(struct sim_faults){ .dup = 50, .split = 200,
					.late_ns = 100000 }, 100);
}

static void reordering(void)
{
	run_seeds(&(struct sim_faults){ .late = 200, .split = 500,
					.late_ns = 30000 }, 100);
}

/* Packets so late that they meet retransmissions of retransmissions. */
static void very_late_duplicates(void)
{
	run_seeds(&(struct sim_faults){ .late = 20, .dup = 50, .loss = 20,
					.split = 200,
					.late_ns = 20 * SIM_MS }, 100);
}

static void corruption(void)
{
	run_seeds(&(struct sim_faults){ .corrupt = 50, .split = 200 }, 60);
}

static void all_faults(void)
{
	run_seeds(&(struct sim_faults){ .loss = 50, .dup = 50, .late = 100,
					.corrupt = 20, .split = 300,
					.late_ns = 200000 }, 200);
}

/* A receiver that is often not ready, on top of a bad network. */
static void all_faults_and_rnr(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.starve = 800;
	cfg.recv_ahead = 3;
	cfg.round_ns = 50000;
	for_seeds(seed, 100)
		run_seed(seed, &(struct sim_faults){
			.loss = 30, .dup = 30, .late = 50, .split = 300,
			.late_ns = 200000 }, &cfg);
}

/* READs and atomics mostly: replay, implied NAKs, fences. */
static void reads_and_atomics(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.ops = 1 << CAIRN_WQE_READ | 1 << CAIRN_WQE_CAS |
		  1 << CAIRN_WQE_FAA | 1 << CAIRN_WQE_WRITE;
	cfg.fence = 50;
	for_seeds(seed, 200)
		run_seed(seed, &(struct sim_faults){
			.loss = 80, .dup = 50, .late = 50, .split = 300,
			.late_ns = 300000 }, &cfg);
}

/* A long path on which half of the packets overtake others, and more. */
static void jitter_and_all_faults(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.wrs = 100;
	cfg.max_len = 6000;
	cfg.fence = 20;
	for_seeds(seed, 60) {
		cfg.ops = seed & 1 ? FLOW_OPS : 1 << CAIRN_WQE_READ |
			  1 << CAIRN_WQE_FAA | 1 << CAIRN_WQE_WRITE;
		run_seed(seed, &(struct sim_faults){
			.loss = 10, .dup = 20, .late = 500, .corrupt = 10,
			.split = 500, .late_ns = 2 * SIM_MS }, &cfg);
	}
}

/* Messages much longer than the window. */
static void long_messages(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.wrs = 8;
	cfg.max_len = 400000;
	cfg.area = 500000;
	for_seeds(seed, 20)
		run_seed(seed, &(struct sim_faults){
			.loss = 20, .dup = 10, .late = 20, .split = 100,
			.late_ns = 50000 }, &cfg);
}

static const struct ktap_test tests[] = {
	KTAP(loss_1_percent),
	KTAP(loss_5_percent),
	KTAP(loss_20_percent),
	KTAP(duplication),
	KTAP(reordering),
	KTAP(very_late_duplicates),
	KTAP(corruption),
	KTAP(all_faults),
	KTAP(all_faults_and_rnr),
	KTAP(reads_and_atomics),
	KTAP(jitter_and_all_faults),
	KTAP(long_messages),
};

KTAP_MAIN(tests)
