// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of a QP: it begins with few records and gets more on demand. The sanitizer
 * detects the use of memory that is not allocated or was freed.
 */
#include "engine.h"

#define FIRST	4		/* records at first, sim/qp.c */

static u32 records(const struct rig *r)
{
	return r->a->c.req.swr_mask + 1;
}

/* Post @n WRITEs of 64 bytes before the engine looks. */
static void post_writes(struct rig *r, u32 n)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(r, &sge, CAIRN_WQE_WRITE, 64);
	u32 i;

	for (i = 0; i < n; i++) {
		wr.wr_id = i;
		wr.remote_addr = r->mb->va + i * 64;
		sge.addr = r->ma->va + i * 64;
		if (!sim_queue_send(r->a, &wr))
			sim_fail(r->s, "send queue full");
	}
	sim_doorbell(r->a);
	/* the doorbell, and nothing that comes back */
	sim_run(r->s, SIM_US);
}

static void one_at_a_time_needs_no_more(void)
{
	struct rig r = rig_new(1);
	u32 i;

	ktap_eq(records(&r), FIRST);
	for (i = 0; i < 50; i++) {
		rig_send(&r, i, CAIRN_WQE_WRITE, 64);
		ktap_ok(sim_run(r.s, SIM_SEC));
	}
	ktap_eq(records(&r), FIRST);
	expect_cqes(r.a, CAIRN_REQ, 0, 0, 49, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void many_get_records_at_once(void)
{
	struct rig r = rig_new(2);

	post_writes(&r, 40);
	ktap_eq(records(&r), 64);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 0, 39, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(r.mb->mem, r.ma->mem, 40 * 64);
	sim_end(r.s);
}

/* Records that are in use move. */
static void more_in_the_middle(void)
{
	struct rig r = rig_new(3);

	post_writes(&r, 3);
	ktap_eq(records(&r), FIRST);
	post_writes(&r, 3);
	ktap_eq(records(&r), 8);
	post_writes(&r, 100);
	ktap_eq(records(&r), 128);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 0, 2, CAIRN_CQE_SUCCESS);
	expect_cqes(r.a, CAIRN_REQ, 3, 0, 2, CAIRN_CQE_SUCCESS);
	expect_cqes(r.a, CAIRN_REQ, 6, 0, 99, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void few_will_do_without_memory(void)
{
	struct rig r = rig_new(4);

	r.a->no_memory = true;
	post_writes(&r, 40);
	ktap_eq(records(&r), FIRST);
	ktap_ok(sim_run(r.s, SIM_SEC));
	ktap_eq(records(&r), FIRST);
	expect_cqes(r.a, CAIRN_REQ, 0, 0, 39, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(r.mb->mem, r.ma->mem, 40 * 64);
	sim_end(r.s);
}

static void reads_bring_their_table(void)
{
	static const u8 ops[] = { CAIRN_WQE_READ, CAIRN_WQE_FAA };
	u32 k;

	for (k = 0; k < ARRAY_SIZE(ops); k++) {
		struct rig r = rig_new(5 + k);

		rig_send(&r, 1, CAIRN_WQE_WRITE, 64);
		ktap_ok(sim_run(r.s, SIM_SEC));
		ktap_ok(!r.b->c.resp.replay.res);
		/* they wait as for a receive */
		r.b->no_memory = true;
		rig_send(&r, 2, ops[k], 8);
		sim_run(r.s, 10 * SIM_MS);
		ktap_eq(r.a->cq[CAIRN_REQ].n, 1);
		r.b->no_memory = false;
		ktap_ok(sim_run(r.s, SIM_SEC));
		ktap_ok(r.b->c.resp.replay.res);
		expect_cqes(r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
		ktap_eq(r.b->atomics, k);
		sim_end(r.s);
	}
}

/* A WQE may be as long as the limits with which the QP was created. */
static void longer_wqes_are_refused(void)
{
	struct sim_qp_init init = sim_rc;
	struct cairn_sge sge[3];
	struct sim_wr wr;
	u8 data[64] = {};
	struct rig r;

	init.max_sge = 2;
	init.max_inline = 32;
	r = rig_with(7, &init, &sim_attrs);
	ktap_eq(r.a->c.max_units, 1);
	wr = rig_wr(&r, &sge[0], CAIRN_WQE_WRITE, 8);
	wr.flags |= CAIRN_WQE_INLINE;
	wr.inl = data;
	wr.inline_len = sizeof(data);
	sim_post_send(r.a, &wr);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_LEN_ERR);
	sim_end(r.s);

	r = rig_with(8, &init, &sim_attrs);
	wr = rig_wr(&r, &sge[0], CAIRN_WQE_WRITE, 8);
	sge[1] = sge[0];
	sge[2] = sge[0];
	wr.num_sge = 3;
	sim_post_send(r.a, &wr);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_QP_OP_ERR);
	sim_end(r.s);
}

static const struct ktap_test tests[] = {
	KTAP(one_at_a_time_needs_no_more),
	KTAP(many_get_records_at_once),
	KTAP(more_in_the_middle),
	KTAP(few_will_do_without_memory),
	KTAP(reads_bring_their_table),
	KTAP(longer_wqes_are_refused),
};

KTAP_MAIN(tests)
