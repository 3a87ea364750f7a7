// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A long send queue costs no more per packet than a short one: records that
 * have nothing to do with a packet are not looked at. They are poisoned, so that
 * a look at them ends the program.
 */
#include <sanitizer/asan_interface.h>
#include "engine/window.h"
#include "persist.h"

#define DEPTH		1024

static struct rig scan_deep(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig;

	init.sq_depth = DEPTH;
	init.rq_depth = DEPTH;
	init.records = DEPTH;	/* they stay where they are */
	rig = rig_with(1, &init, &sim_attrs);
	rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
	return rig;
}

static void scan_poison(const struct rig *rig, u32 first, u32 n)
{
	ASAN_POISON_MEMORY_REGION(&rig->a->c.req.swr[first],
				  n * sizeof(struct cairn_swr));
}

static void scan_unpoison(const struct rig *rig)
{
	ASAN_UNPOISON_MEMORY_REGION(rig->a->c.req.swr,
				    DEPTH * sizeof(struct cairn_swr));
}

/* Received, and behind a WRITE_PERSIST that is not durable. */
static void received_records_rest(void)
{
	struct rig rig = scan_deep();
	struct rig other = rig;
	u32 i;

	other.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	for (i = 2; i <= 400; i++) {
		rig_send(&other, i, CAIRN_WQE_WRITE, 8);
		sim_run(rig.s, 20 * SIM_US);
	}
	ktap_eq(rig.a->c.req.una, rig.a->c.req.psn);
	ktap_eq(send_cqes(&rig), 0);
	scan_poison(&rig, 1, 390);
	for (; i <= 440; i++) {
		rig_send(&other, i, i % 2 ? CAIRN_WQE_WRITE : CAIRN_WQE_READ, 3000);
		sim_run(rig.s, 50 * SIM_US);
	}
	ktap_eq(rig.a->c.req.una, rig.a->c.req.psn);
	scan_unpoison(&rig);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 440, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* Early mode: durable, and no receive is there to say it. */
static void durable_records_rest(void)
{
	struct rig rig = scan_deep();
	u32 i;

	rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_NIC);
	for (i = 1; i <= 400; i++) {
		persist_at(&rig, i, 0, 8, CAIRN_WQE_EARLY);
		sim_run(rig.s, 20 * SIM_US);
	}
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 400, CAIRN_CQE_SUCCESS);
	scan_poison(&rig, 1, 390);
	for (; i <= 440; i++) {
		persist_at(&rig, i, 0, 8, CAIRN_WQE_EARLY);
		sim_run(rig.s, 20 * SIM_US);
	}
	scan_unpoison(&rig);
	empty_recvs(rig.a, 1, 440);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_RESP, 0, 1, 440, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void rig_bind(const struct rig *rig, u32 first, u32 n)
{
	struct sim_wr wr = {
		.opcode = CAIRN_WQE_BIND_MW,
		.flags = CAIRN_WQE_SIGNALED,
		.imm_or_key = rig->ma->key,
	};

	for (; n--; first++) {
		wr.wr_id = first;
		sim_post_send(rig->a, &wr);
	}
	sim_run(rig->s, SIM_MS);
}

/* Local operations take no PSN. Their number behind an unanswered packet is bounded.
 * Behind received packets it is not, and the search for a record skips them.
 */
static void local_operations_rest(void)
{
	struct rig rig = scan_deep();
	struct rig other = rig;

	other.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	rig.ma->rebind = true;
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	rig_send(&other, 2, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, SIM_MS);
	rig_bind(&rig, 3, 600);
	ktap_eq(rig.a->c.req.send_rec, 602);
	scan_poison(&rig, 1, 600);
	rig_send(&other, 603, CAIRN_WQE_READ, 3000);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->c.req.una, rig.a->c.req.psn);
	scan_unpoison(&rig);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	rig.s->dead[1] = true;
	rig_send(&other, 604, CAIRN_WQE_READ, 8);
	rig_bind(&rig, 605, 600);
	rig_send(&other, 1205, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->c.req.una_rec, 603);
	ktap_ok(rig.a->c.req.send_rec - rig.a->c.req.una_rec <=
		CAIRN_WINDOW_PACKETS);
	rig.s->dead[1] = false;
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 1205, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(received_records_rest),
	KTAP(durable_records_rest),
	KTAP(local_operations_rest),
};

KTAP_MAIN(tests)
