// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RC on a good network: every operation, every size that could be special. */
#include "engine.h"

static const u16 pmtus[] = { 256, 512, 1024, 2048, 4096 };

static void add_sizes(struct flow *flow, u8 op, u32 pmtu)
{
	const u32 sizes[] = {
		0, 1, 3, 4, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu - 1, 2 * pmtu,
		2 * pmtu + 1, 7 * pmtu, 64 * pmtu, 64 * pmtu + 5, 65 * pmtu,
		66 * pmtu + 1,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		flow_add(flow, op, sizes[i])->flags |= CAIRN_WQE_SIGNALED;
}

static void every_size(u8 op)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pmtus) && !ktap.failures; i++) {
		struct pair pair = pair_new(op, &sim_rc, pmtus[i]);
		struct flow_cfg cfg = flow_default;
		struct flow *flow;

		cfg.max_len = 70 * pmtus[i];
		cfg.area = 2 * cfg.max_len;
		flow = flow_new(pair.a, pair.b, &cfg);
		add_sizes(flow, op, pmtus[i]);
		flow_run(&flow, 1);
		ktap_eq(pair.s->count[CAIRN_CTR_RETRANSMITS], 0);
		ktap_eq(pair.s->count[CAIRN_CTR_DUPLICATE_REQUEST], 0);
		sim_end(pair.s);
	}
}

static void send_sizes(void)
{
	every_size(CAIRN_WQE_SEND);
}

static void send_imm_sizes(void)
{
	every_size(CAIRN_WQE_SEND_IMM);
}

static void send_inv_sizes(void)
{
	every_size(CAIRN_WQE_SEND_INV);
}

static void write_sizes(void)
{
	every_size(CAIRN_WQE_WRITE);
}

static void write_imm_sizes(void)
{
	every_size(CAIRN_WQE_WRITE_IMM);
}

static void read_sizes(void)
{
	every_size(CAIRN_WQE_READ);
}

/* Where a READ may be cut into several requests. */
static void long_reads(void)
{
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(pmtus) && !ktap.failures; i++) {
		struct pair pair = pair_new(i, &sim_rc, pmtus[i]);
		struct flow_cfg cfg = flow_default;
		struct flow *flow;

		cfg.max_len = 514 * pmtus[i];
		cfg.area = cfg.max_len;
		flow = flow_new(pair.a, pair.b, &cfg);
		for (n = 32; n <= 512; n *= 2) {
			flow_add(flow, CAIRN_WQE_READ, n * pmtus[i] - 1);
			flow_add(flow, CAIRN_WQE_READ, n * pmtus[i]);
			flow_add(flow, CAIRN_WQE_READ, n * pmtus[i] + 1);
			flow_add(flow, CAIRN_WQE_FAA, 8)->flags |=
				CAIRN_WQE_SIGNALED;
		}
		flow_run(&flow, 1);
		ktap_eq(pair.s->count[CAIRN_CTR_RETRANSMITS], 0);
		sim_end(pair.s);
	}
}

/* A megabyte and a little more, of every operation, at every PMTU. */
static void megabytes(void)
{
	u32 i, op;

	for (i = 0; i < ARRAY_SIZE(pmtus) && !ktap.failures; i++) {
		struct pair pair = pair_new(pmtus[i], &sim_rc, pmtus[i]);
		struct flow_cfg cfg = flow_default;
		struct flow *flow;

		cfg.max_len = (1 << 20) + 13;
		cfg.area = cfg.max_len;
		flow = flow_new(pair.a, pair.b, &cfg);
		for (op = CAIRN_WQE_SEND; op <= CAIRN_WQE_READ; op++)
			flow_add(flow, op, cfg.max_len - 13 * (i & 1))->flags |=
				CAIRN_WQE_SIGNALED;
		flow_run(&flow, 1);
		sim_end(pair.s);
	}
}

static void many_sges(void)
{
	for_seeds(seed, 10) {
		struct pair pair = pair_new(seed, &sim_rc, 256);
		struct flow_cfg cfg = flow_default;
		struct flow *flow;

		cfg.max_sge = CAIRN_MAX_SGE;
		flow = flow_new(pair.a, pair.b, &cfg);
		flow_random(flow);
		flow_run(&flow, 1);
		sim_end(pair.s);
	}
}

/* Inline data of every length, in WQEs of one to nine units. */
static void inline_lengths(void)
{
	struct pair pair = pair_new(1, &sim_rc, 256);
	struct flow_cfg cfg = flow_default;
	struct flow *flow;
	u32 len;

	cfg.wrs = CAIRN_MAX_INLINE + 1;
	cfg.inl = 1000;
	cfg.fence = 0;
	flow = flow_new(pair.a, pair.b, &cfg);
	for (len = 0; len <= CAIRN_MAX_INLINE; len++)
		flow_add(flow, len & 1 ? CAIRN_WQE_WRITE_IMM : CAIRN_WQE_SEND,
			 len)->flags |= CAIRN_WQE_SIGNALED;
	flow_run(&flow, 1);
	sim_end(pair.s);
}

static void random_both_ways(void)
{
	for_seeds(seed, 60) {
		struct pair pair = pair_new(seed, &sim_rc, pmtus[seed % 5]);
		struct flow *flows[2];

		flows[0] = flow_new(pair.a, pair.b, &flow_default);
		flows[1] = flow_new(pair.b, pair.a, &flow_default);
		flow_random(flows[0]);
		flow_random(flows[1]);
		flow_run(flows, 2);
		ktap_eq(pair.s->count[CAIRN_CTR_RETRANSMITS], 0);
		sim_end(pair.s);
	}
}

/* Each work request asks for a completion because the QP does. */
static void all_signaled(void)
{
	struct sim_qp_init init = sim_rc;
	struct flow_cfg cfg = flow_default;
	struct pair pair;
	struct flow *flow;

	init.sig_all = true;
	cfg.signaled = 0;
	pair = pair_new(1, &init, 1024);
	flow = flow_new(pair.a, pair.b, &cfg);
	flow_random(flow);
	flow_run(&flow, 1);
	ktap_eq(pair.a->cq[CAIRN_REQ].n, cfg.wrs);
	sim_end(pair.s);
}

/* One turn of the engine does little; the next one goes on exactly there. */
static void small_budgets(void)
{
	for_seeds(seed, 30) {
		struct pair pair = pair_new(seed, &sim_rc, 256);
		struct flow *flows[2];

		pair.s->budget = seed % 4;
		flows[0] = flow_new(pair.a, pair.b, &flow_default);
		flows[1] = flow_new(pair.b, pair.a, &flow_default);
		flow_random(flows[0]);
		flow_random(flows[1]);
		flow_run(flows, 2);
		sim_end(pair.s);
	}
}

/* FAA of both directions on one cell of a third party's memory. */
static void atomics_add_up(void)
{
	for_seeds(seed, 10) {
		struct pair pair = pair_new(seed, &sim_rc, 256);
		struct sim_qp *qp_c = sim_qp(pair.s, 2, &sim_rc);
		struct sim_qp *qp_d = sim_qp(pair.s, 1, &sim_rc);
		struct sim_mr *cell = sim_mr(pair.s, 1, 8, SIM_ALL);
		struct sim_mr *res[2] = { sim_mr(pair.s, 0, 8, SIM_LOCAL),
					  sim_mr(pair.s, 2, 8, SIM_LOCAL) };
		u64 sum, got;
		u32 i;

		sim_connect(qp_c, qp_d, &sim_attrs);
		memcpy(&sum, cell->mem, 8);
		pair.s->faults = (struct sim_faults){ .loss = 100, .dup = 100 };
		for (i = 0; i < 100; i++) {
			struct cairn_sge sge = sim_sge(res[i & 1], 0, 8);
			struct sim_wr wr = {
				.wr_id = i,
				.opcode = CAIRN_WQE_FAA,
				.sge = &sge,
				.num_sge = 1,
				.remote_addr = cell->va,
				.rkey = cell->key,
				.compare_add = sim_rand(&pair.s->rand),
			};

			sum += wr.compare_add;
			sim_post_send(i & 1 ? qp_c : pair.a, &wr);
		}
		ktap_ok(sim_run(pair.s, 100 * SIM_SEC));
		memcpy(&got, cell->mem, 8);
		ktap_eq(got, sum);
		ktap_eq(pair.b->atomics + qp_d->atomics, 100);
		sim_end(pair.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(send_sizes),
	KTAP(send_imm_sizes),
	KTAP(send_inv_sizes),
	KTAP(write_sizes),
	KTAP(write_imm_sizes),
	KTAP(read_sizes),
	KTAP(long_reads),
	KTAP(megabytes),
	KTAP(many_sges),
	KTAP(inline_lengths),
	KTAP(random_both_ways),
	KTAP(all_signaled),
	KTAP(small_budgets),
	KTAP(atomics_add_up),
};

KTAP_MAIN(tests)
