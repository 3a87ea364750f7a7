// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of a QP: it begins with few records and gets more on demand. The sanitizer
 * detects the use of memory that is not allocated or was freed.
 */
#include "engine.h"

#define FIRST	4		/* records at first, sim/qp.c */

static u32 records_held(const struct rig *rig)
{
	return rig->a->c.req.swr_mask + 1;
}

/* Post @n WRITEs of 64 bytes before the engine looks. */
static void post_writes(struct rig *rig, u32 n)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE, 64);
	u32 i;

	for (i = 0; i < n; i++) {
		wr.wr_id = i;
		wr.remote_addr = rig->mb->va + i * 64;
		sge.addr = rig->ma->va + i * 64;
		if (!sim_queue_send(rig->a, &wr))
			sim_fail(rig->s, "send queue full");
	}
	sim_doorbell(rig->a);
	/* the doorbell, and nothing that comes back */
	sim_run(rig->s, SIM_US);
}

static void one_at_a_time_needs_no_more(void)
{
	struct rig rig = rig_new(1);
	u32 i;

	ktap_eq(records_held(&rig), FIRST);
	for (i = 0; i < 50; i++) {
		rig_send(&rig, i, CAIRN_WQE_WRITE, 64);
		ktap_ok(sim_run(rig.s, SIM_SEC));
	}
	ktap_eq(records_held(&rig), FIRST);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 49, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void many_get_records_at_once(void)
{
	struct rig rig = rig_new(2);

	post_writes(&rig, 40);
	ktap_eq(records_held(&rig), 64);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 39, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(rig.mb->mem, rig.ma->mem, 40 * 64);
	sim_end(rig.s);
}

/* Records that are in use move. */
static void more_in_the_middle(void)
{
	struct rig rig = rig_new(3);

	post_writes(&rig, 3);
	ktap_eq(records_held(&rig), FIRST);
	post_writes(&rig, 3);
	ktap_eq(records_held(&rig), 8);
	post_writes(&rig, 100);
	ktap_eq(records_held(&rig), 128);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 2, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.a, CAIRN_REQ, 3, 0, 2, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.a, CAIRN_REQ, 6, 0, 99, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void few_will_do_without_memory(void)
{
	struct rig rig = rig_new(4);

	rig.a->no_memory = true;
	post_writes(&rig, 40);
	ktap_eq(records_held(&rig), FIRST);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(records_held(&rig), FIRST);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 39, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(rig.mb->mem, rig.ma->mem, 40 * 64);
	sim_end(rig.s);
}

static void reads_bring_their_table(void)
{
	static const u8 ops[] = { CAIRN_WQE_READ, CAIRN_WQE_FAA };
	u32 k;

	for (k = 0; k < ARRAY_SIZE(ops); k++) {
		struct rig rig = rig_new(5 + k);

		rig_send(&rig, 1, CAIRN_WQE_WRITE, 64);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_ok(!rig.b->c.resp.replay.res);
		/* they wait as for a receive */
		rig.b->no_memory = true;
		rig_send(&rig, 2, ops[k], 8);
		sim_run(rig.s, 10 * SIM_MS);
		ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
		rig.b->no_memory = false;
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_ok(rig.b->c.resp.replay.res);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.b->atomics, k);
		sim_end(rig.s);
	}
}

/* A WQE may be as long as the limits with which the QP was created. */
static void longer_wqes_are_refused(void)
{
	struct sim_qp_init init = sim_rc;
	struct cairn_sge sge[3];
	struct sim_wr wr;
	u8 data[64] = {};
	struct rig rig;

	init.max_sge = 2;
	init.max_inline = 32;
	rig = rig_with(7, &init, &sim_attrs);
	ktap_eq(rig.a->c.max_units, 1);
	wr = rig_wr(&rig, &sge[0], CAIRN_WQE_WRITE, 8);
	wr.flags |= CAIRN_WQE_INLINE;
	wr.inl = data;
	wr.inline_len = sizeof(data);
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_LEN_ERR);
	sim_end(rig.s);

	rig = rig_with(8, &init, &sim_attrs);
	wr = rig_wr(&rig, &sge[0], CAIRN_WQE_WRITE, 8);
	sge[1] = sge[0];
	sge[2] = sge[0];
	wr.num_sge = 3;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_QP_OP_ERR);
	sim_end(rig.s);
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
