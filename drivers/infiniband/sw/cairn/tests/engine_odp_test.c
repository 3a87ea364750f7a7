// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory on demand: requests wait for pages that are not present; no data is lost or
 * completed early.
 */
#include "engine.h"

static const u16 pmtus[] = { 256, 512, 1024, 2048, 4096 };

static u32 odp_asked(const struct sim_qp *qp)
{
	return qp->odp[CAIRN_REQ].asked + qp->odp[CAIRN_RESP].asked;
}

static void run_seed(u64 seed, const struct sim_faults *faults, u16 taken)
{
	struct sim_rand rand = { .state = seed };
	struct cairn_qp_attrs attrs = sim_attrs;
	struct flow_cfg cfg = flow_default;
	struct flow *flows[2];
	struct pair pair;

	attrs.pmtu = pmtus[sim_below(&rand, ARRAY_SIZE(pmtus))];
	attrs.timeout = sim_between(&rand, 10, 16);
	attrs.max_rd_atomic = 1 << sim_below(&rand, 5);
	attrs.max_dest_rd_atomic = attrs.max_rd_atomic;
	pair = pair_fresh(seed, &sim_rc, &attrs);
	pair.s->faults = *faults;
	pair.s->on_demand = true;
	pair.s->taken = taken;
	pair.s->budget = sim_chance(&rand, 300) ? 0 : 64;
	pair.a->plain = sim_chance(&rand, 300);
	pair.b->plain = sim_chance(&rand, 300);
	flows[0] = flow_new(pair.a, pair.b, &cfg);
	flows[1] = flow_new(pair.b, pair.a, &cfg);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	ktap_ok(odp_asked(pair.a) > 3);
	ktap_ok(odp_asked(pair.b) > 3);
	sim_end(pair.s);
}

static void faulted_in_once(void)
{
	for_seeds(seed, 60)
		run_seed(seed, &(struct sim_faults){ .split = 200 }, 0);
}

static void taken_away_again(void)
{
	for_seeds(seed, 60)
		run_seed(seed, &(struct sim_faults){ .split = 200 }, 30);
}

static void taken_away_and_loss(void)
{
	for_seeds(seed, 60)
		run_seed(seed, &(struct sim_faults){
			.loss = 30, .dup = 30, .late = 50, .split = 300,
			.late_ns = 200000 }, 20);
}

static void on_demand_and_reordering(void)
{
	for_seeds(seed, 40)
		run_seed(seed, &(struct sim_faults){
			.late = 200, .split = 500, .late_ns = 30000 }, 30);
}

/* While our own memory is being faulted in, an expired ACK timer spends no retry. */
static void own_memory_costs_no_retry(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ, CAIRN_WQE_CAS };
	u32 i;

	for_seeds(seed, 20) {
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			struct cairn_qp_attrs attrs = sim_attrs;
			struct rig rig;

			attrs.timeout = 6;
			attrs.retry_cnt = 1;
			rig = rig_with(seed, &sim_rc, &attrs);
			sim_odp(rig.ma);
			rig.s->bring_ns = 20 * SIM_MS;
			rig_recv(&rig, 1, 20000);
			rig_send(&rig, 1, ops[i], ops[i] == CAIRN_WQE_CAS ?
						8 : 20000);
			rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
			ktap_ok(rig.a->odp[CAIRN_REQ].asked);
			ktap_eq(rig.a->count[CAIRN_CTR_RNR_NAKS_RECEIVED], 0);
			if (ops[i] == CAIRN_WQE_READ)
				ktap_ok(!memcmp(rig.ma->mem, rig.mb->mem, 20000));
			sim_end(rig.s);
		}
	}
}

/* RNR NAKs that ask for more and more time: few retries last long. */
static void patience_of_the_peer(void)
{
	for_seeds(seed, 20) {
		struct cairn_qp_attrs attrs = sim_attrs;
		u32 i, n = 0, last = 0;
		struct rig rig;

		attrs.rnr_retry = 6;
		rig = rig_with(seed, &sim_rc, &attrs);
		sim_odp(rig.mb);
		rig.s->bring_ns = 50 * SIM_MS;
		rig_send(&rig, 1, CAIRN_WQE_WRITE, 400);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		for (i = 0; i < rig.s->n_sent; i++) {
			u8 syndrome = rig.s->sent[i].pkt.syndrome;

			if (rig.s->sent[i].qp != rig.b ||
			    (syndrome & CAIRN_AETH_TYPE_MASK) !=
				    CAIRN_AETH_RNR_NAK)
				continue;
			ktap_ok((syndrome & 31) > last);
			last = syndrome & 31;
			n++;
		}
		ktap_ok(n);
		sim_end(rig.s);
	}
}

/* The memory was unmapped: an error at the side that named it. */
static void memory_unmapped(u8 op, bool local, u8 status)
{
	struct rig rig = rig_new(1);
	struct sim_mr *mr = local ? rig.ma : rig.mb;

	sim_odp(mr);
	mr->unmapped = true;
	rig_recv(&rig, 7, 5000);
	rig_send(&rig, 1, op, op == CAIRN_WQE_CAS || op == CAIRN_WQE_FAA ?
			    8 : 5000);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, status);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	if (op == CAIRN_WQE_SEND && !local)
		expect_cqe(rig.b, CAIRN_RESP, 0, 7, CAIRN_CQE_LOC_PROT_ERR);
	sim_end(rig.s);
}

static void memory_that_is_gone(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_READ,
				  CAIRN_WQE_CAS, CAIRN_WQE_FAA };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		memory_unmapped(ops[i], true, CAIRN_CQE_LOC_PROT_ERR);
		memory_unmapped(ops[i], false, CAIRN_CQE_REM_ACCESS_ERR);
	}
	memory_unmapped(CAIRN_WQE_SEND, true, CAIRN_CQE_LOC_PROT_ERR);
	memory_unmapped(CAIRN_WQE_SEND, false, CAIRN_CQE_REM_OP_ERR);
}

/* UC cannot ask the peer to repeat: the message is lost, the next one arrives. */
static void unreliable_loses_it(void)
{
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);

	sim_odp(rig.ma);
	sim_odp(rig.mb);
	rig.s->bring_ns = SIM_US;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 300);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.b->count[CAIRN_CTR_ODP_DROPS], 1);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 300);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.b->count[CAIRN_CTR_ODP_DROPS], 1);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_ok(!memcmp(rig.ma->mem, rig.mb->mem, 300));
	sim_end(rig.s);
}

/* The connection ends, or is reset, while memory is being faulted in. */
static void end_in_between(void)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		struct rig rig = rig_new(1);

		sim_odp(rig.ma);
		sim_odp(rig.mb);
		rig.s->bring_ns = 0;
		rig_send(&rig, 1, i & 1 ? CAIRN_WQE_READ : CAIRN_WQE_WRITE, 5000);
		ktap_ok(!sim_run(rig.s, 10 * SIM_US));
		sim_modify(i & 2 ? rig.b : rig.a, CAIRN_QP_ERR);
		ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
		ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
		sim_end(rig.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(faulted_in_once),
	KTAP(taken_away_again),
	KTAP(taken_away_and_loss),
	KTAP(on_demand_and_reordering),
	KTAP(own_memory_costs_no_retry),
	KTAP(patience_of_the_peer),
	KTAP(memory_that_is_gone),
	KTAP(unreliable_loses_it),
	KTAP(end_in_between),
};

KTAP_MAIN(tests)
