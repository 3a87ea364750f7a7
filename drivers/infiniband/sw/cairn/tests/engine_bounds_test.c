// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * However much has gathered, one run of the engine does a bounded part of it:
 * completions that waited for one answer, a flush, a ring that is replaced.
 */
#include <linux/errno.h>
#include "engine/sq_resize.h"
#include "persist.h"

#define DEPTH		8192
#define MANY		5000

/* A WRITE_PERSIST that waits for the host, and @n WRITEs behind it. */
static struct rig bounds_waiting(u32 n)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig, other;
	u32 i;

	init.sq_depth = DEPTH;
	init.rq_depth = DEPTH;
	rig = rig_with(1, &init, &sim_attrs);
	rig.s->record = false;
	other = rig;
	rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
	other.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	for (i = 2; i <= n + 1; i++) {
		rig_send(&other, i, CAIRN_WQE_WRITE, 8);
		if (!(i % 50))
			sim_run(rig.s, 500 * SIM_US);
	}
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->c.req.una, rig.a->c.req.psn);
	ktap_eq(send_cqes(&rig), 0);
	return rig;
}

static void one_answer_for_all(void)
{
	struct rig rig = bounds_waiting(MANY);

	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, MANY + 1, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.s->most_cqes <= CAIRN_MAX_REAPS + 64);
	sim_end(rig.s);
}

/* The oldest is durable, the next one fails behind many that have waited. */
static void failure_behind_many(void)
{
	struct rig rig = bounds_waiting(MANY);

	empty_recvs(rig.b, 2, 1);
	persist_first(&rig, MANY + 2, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 1, EINVAL), 0);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, MANY + 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, MANY + 1, MANY + 2, CAIRN_CQE_REM_OP_ERR);
	ktap_eq(send_cqes(&rig), MANY + 2);
	ktap_ok(rig.s->most_cqes <= CAIRN_MAX_REAPS + 64);
	sim_end(rig.s);
}

/* A WRITE_PERSIST with @flags that the host flushes, MANY early ones that the device
 * does, and another one for the host.
 */
static struct rig early_ones(u32 flags)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig, other;
	u32 i;

	init.sq_depth = DEPTH;
	init.rq_depth = DEPTH;
	rig = rig_with(1, &init, &sim_attrs);
	rig.s->record = false;
	other = rig;
	rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
	other.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_NIC);
	empty_recvs(rig.a, 1, MANY + 2);
	empty_recvs(rig.b, 1, 2);
	persist_at(&rig, 1, 0, 100, flags);
	for (i = 2; i <= MANY + 1; i++) {
		persist_at(&other, i, 0, 8, CAIRN_WQE_EARLY);
		if (!(i % 50))
			sim_run(rig.s, 500 * SIM_US);
	}
	persist_at(&rig, MANY + 2, 0, 100, CAIRN_WQE_EARLY);
	sim_run(rig.s, SIM_MS);
	return rig;
}

/* Early mode: many are durable at once, as the first of them was, and are told of by
 * receives; the last one failed, perhaps.
 */
static void early_ones_at_once(u32 status)
{
	struct rig rig = early_ones(CAIRN_WQE_EARLY);

	expect_cqes(rig.a, CAIRN_REQ, 0, 1, MANY + 2, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	ktap_eq(persist_release(&rig, 1, status), 0);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_RESP, 0, 1, MANY + 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_RESP, MANY + 1, MANY + 2,
		   status ? CAIRN_CQE_REM_OP_ERR : CAIRN_CQE_SUCCESS);
	ktap_ok(rig.s->most_cqes <= CAIRN_MAX_REAPS + 64);
	sim_end(rig.s);
}

static void many_durable_early_ones(void)
{
	early_ones_at_once(0);
}

static void failure_behind_early_ones(void)
{
	early_ones_at_once(EINVAL);
}

/* ... all of which waited for one in default mode: it and they complete before what
 * fails does.
 */
static void failure_behind_all_kinds(void)
{
	struct rig rig = early_ones(0);
	u32 i, durable = 0;

	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(persist_release(&rig, 1, EINVAL), 0);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, LONG_TIME);
	for (i = 0; i < rig.a->cq[CAIRN_RESP].n; i++)
		durable += !rig.a->cq[CAIRN_RESP].log[i].cqe.status;
	ktap_eq(durable, MANY);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	ktap_ok(rig.s->most_cqes <= CAIRN_MAX_REAPS + 64);
	sim_end(rig.s);
}

/* The peer dies while many requests wait: one fails, those before it are flushed. */
static void flush_before_a_failure(void)
{
	struct rig rig = bounds_waiting(MANY);
	struct rig other = rig;
	u32 i, failed = 0;

	other.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	rig.s->dead[0] = true;
	rig.s->dead[1] = true;
	rig_send(&other, MANY + 2, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	ktap_eq(send_cqes(&rig), MANY + 2);
	for (i = 0; i < send_cqes(&rig); i++) {
		const struct cairn_cqe *cqe = &rig.a->cq[CAIRN_REQ].log[i].cqe;

		ktap_eq(cqe->wr_id, i + 1);
		ktap_ok(cqe->status);
		failed += cqe->status == CAIRN_CQE_RETRY_EXC_ERR;
	}
	ktap_eq(failed, 1);
	ktap_ok(rig.s->most_cqes <= CAIRN_MAX_REAPS + 64);
	sim_end(rig.s);
}

/* Out of SQE: what was posted is flushed, in parts. */
static void many_after_an_error(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct sim_qp_init init = sim_ud;
	struct sim *sim = sim_new(1);
	struct sim_wr wr = { .opcode = CAIRN_WQE_SEND, .ah = 5 };
	struct sim_qp *qp;
	u32 i;

	init.sq_depth = DEPTH;
	qp = sim_qp(sim, 0, &init);
	sim_to_rts(qp, 0, 0, &attrs, 0, 7);
	sim->budget = 4;
	for (i = 1; i <= MANY; i++) {
		wr.wr_id = i;
		ktap_ok(sim_queue_send(qp, &wr));
	}
	qp->rung = (struct cairn_qi_rung){ .ptr = qp->sq_tail, .valid = true };
	sim_turn(qp, CAIRN_REQ);
	ktap_eq(qp->c.state, CAIRN_QP_SQE);
	ktap_ok(qp->cq[CAIRN_REQ].n < 10);
	sim_modify(qp, CAIRN_QP_RTS);
	ktap_eq(qp->cq[CAIRN_REQ].n, MANY);
	ktap_eq(qp->cq[CAIRN_REQ].log[0].cqe.wr_id, 1);
	ktap_ok(qp->cq[CAIRN_REQ].log[0].cqe.status != CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(qp->cq[CAIRN_REQ].log[1].cqe.status, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(qp->cq[CAIRN_REQ].log[MANY - 1].cqe.wr_id, MANY);
	ktap_ok(sim->most_cqes <= CAIRN_MAX_REAPS);
	sim_end(sim);
}

/* A ring is not replaced while too much would have to be moved with it. */
static void resize_waits(void)
{
	struct rig rig = bounds_waiting(MANY);

	ktap_eq(cairn_sq_fits(&rig.a->c, DEPTH, DEPTH - 1), -EAGAIN);
	ktap_eq(cairn_sq_fits(&rig.a->c, DEPTH / 2, DEPTH - 1), -EINVAL);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	ktap_ok(sim_resize_sq(rig.a, DEPTH, DEPTH));
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(one_answer_for_all),
	KTAP(failure_behind_many),
	KTAP(many_durable_early_ones),
	KTAP(failure_behind_early_ones),
	KTAP(failure_behind_all_kinds),
	KTAP(flush_before_a_failure),
	KTAP(many_after_an_error),
	KTAP(resize_waits),
};

KTAP_MAIN(tests)
