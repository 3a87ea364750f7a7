// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send rings that grow and shrink in the middle of everything: half-sent
 * messages, retransmissions, RNR waits. The judge of flow.h sees that nothing is
 * lost or done twice; the simulated ring is overwritten where units are free.
 */
#include "engine.h"

struct storm {
	struct sim_qp *qp;
	const struct flow *f;
	u32 wait_ns;
	u32 grown, shrunk, refused;
};

static void resize_queue(struct sim *sim, void *arg)
{
	struct storm *st = arg;
	u32 records = 1u << sim_below(&sim->rand, 8);
	u32 depth = max_t(u32, records << sim_below(&sim->rand, 3), 16);
	u32 old = st->qp->c.sq_depth;

	if (flow_done(st->f))
		return;
	if (!sim_resize_sq(st->qp, depth, records))
		st->refused++;
	else if (depth > old)
		st->grown++;
	else
		st->shrunk++;
	/* soon, and when nothing else happens for long, less often */
	st->wait_ns = min_t(u32, st->wait_ns + 100, 500000);
	sim_at(sim, sim->now + 1 + sim_below(&sim->rand, st->wait_ns), resize_queue, st);
}

static struct storm run_seed(u64 seed, const struct sim_qp_init *from,
			     const struct sim_faults *faults,
			     const struct flow_cfg *cfg)
{
	struct sim_qp_init init = *from;
	struct storm st = {};
	struct flow *flow;
	struct pair pair;

	init.sq_start = (u32)0 - 40;
	pair = pair_fresh(seed, &init, &sim_attrs);
	pair.s->faults = *faults;
	flow = flow_new(pair.a, pair.b, cfg);
	flow_random(flow);
	st.qp = pair.a;
	st.f = flow;
	sim_at(pair.s, pair.s->now + 1, resize_queue, &st);
	flow_run(&flow, 1);
	sim_end(pair.s);
	return st;
}

static void run_seeds(const struct sim_faults *faults,
		      const struct flow_cfg *cfg, u32 seeds)
{
	struct storm sum = {};

	for_seeds(seed, seeds) {
		struct storm st = run_seed(seed, &sim_rc, faults, cfg);

		sum.grown += st.grown;
		sum.shrunk += st.shrunk;
		sum.refused += st.refused;
	}
	/* a single seed that is repeated need not have them all */
	if (sim_seeds(seeds) < 10)
		return;
	ktap_ok(sum.grown && sum.shrunk && sum.refused);
	ktap_diag("%u larger, %u smaller, %u refused", sum.grown, sum.shrunk,
		  sum.refused);
}

static void good_network(void)
{
	run_seeds(&(struct sim_faults){ .split = 200 }, &flow_default, 50);
}

static void bad_network(void)
{
	run_seeds(&(struct sim_faults){ .loss = 50, .dup = 30, .late = 50,
					.split = 300, .late_ns = 100000 },
		  &flow_default, 100);
}

static void receiver_not_ready(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.starve = 800;
	cfg.recv_ahead = 3;
	cfg.round_ns = 50000;
	run_seeds(&(struct sim_faults){ .loss = 30, .split = 300 }, &cfg, 50);
}

static void long_messages(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.wrs = 8;
	cfg.max_len = 400000;
	cfg.area = 500000;
	run_seeds(&(struct sim_faults){ .loss = 20, .split = 100 }, &cfg, 20);
}

/* Outstanding work must fit, to the unit and to the record. */
static void limits(void)
{
	struct rig rig = rig_new(1);
	u32 i;

	rig.s->faults.loss = 1000;
	for (i = 0; i < 20; i++)
		rig_send(&rig, i, CAIRN_WQE_WRITE, 16);
	sim_run(rig.s, SIM_US);
	ktap_eq(rig.a->c.req.new_rec - rig.a->c.req.una_rec, 20);
	ktap_ok(!sim_resize_sq(rig.a, 16, 32));
	ktap_ok(!sim_resize_sq(rig.a, 32, 16));
	ktap_ok(sim_resize_sq(rig.a, 32, 32));
	rig.s->faults.loss = 0;
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 19, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 20);
	sim_end(rig.s);
}

/* A ring that cannot be walked stays as it is. */
static void bad_ring(void)
{
	struct rig rig = rig_new(1);

	rig.a->hostile = true;
	rig.a->sq_tail += 1000;
	sim_doorbell(rig.a);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	rig.a->sq_tail = rig.a->sq_head;
	ktap_ok(!sim_resize_sq(rig.a, 1024, 1024));
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(good_network),
	KTAP(bad_network),
	KTAP(receiver_not_ready),
	KTAP(long_messages),
	KTAP(limits),
	KTAP(bad_ring),
};

KTAP_MAIN(tests)
