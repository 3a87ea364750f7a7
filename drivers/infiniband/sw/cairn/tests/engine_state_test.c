// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* State changes under traffic: drain, error, reset and a new life. */
#include "engine.h"

static const struct sim_faults some_faults = {
	.loss = 30, .dup = 30, .late = 50, .split = 300, .late_ns = 100000,
};

/*
 * SQD.
 */

static void drained_when_idle(void)
{
	struct rig rig = rig_new(1);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 5000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	sim_modify(rig.a, CAIRN_QP_SQD);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.a->asyncs, 1);
	ktap_eq(sim_async_count(rig.a, CAIRN_ASYNC_SQ_DRAINED), 1);
	/* what is posted waits */
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 5000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.a->asyncs, 1);
	sim_modify(rig.a, CAIRN_QP_RTS);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->asyncs, 1);
	sim_end(rig.s);
}

static void no_event_unless_wanted(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.sqd_notify = false;
	rig = rig_with(1, &sim_rc, &attrs);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 5000);
	sim_modify(rig.a, CAIRN_QP_SQD);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.a->asyncs, 0);
	sim_end(rig.s);
}

/* The message that is being sent is finished, with its acknowledgement. */
static void running_message_is_finished(void)
{
	struct rig rig = rig_new(1);
	u32 from, i;

	rig.s->budget = 1;
	for (i = 1; i <= 5; i++)
		rig_send(&rig, i, CAIRN_WQE_WRITE, 60000);
	sim_run(rig.s, 10 * SIM_US);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	sim_modify(rig.a, CAIRN_QP_SQD);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(sim_async_count(rig.a, CAIRN_ASYNC_SQ_DRAINED), 1);
	ktap_ok(rig.a->cq[CAIRN_REQ].n >= 1);
	ktap_ok(rig.a->cq[CAIRN_REQ].n < 5);
	/* whole messages have left, no other packet */
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE),
		rig.a->cq[CAIRN_REQ].n * 59);
	from = rig.s->n_sent;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.s->n_sent, from);
	sim_modify(rig.a, CAIRN_QP_RTS);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 5, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* The responder does not care about the state of the send queue. */
static void responder_works_in_sqd(void)
{
	struct rig rig = rig_new(1);

	sim_modify(rig.b, CAIRN_QP_SQD);
	rig_recv(&rig, 21, 100);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 2, CAIRN_WQE_READ, 5000);
	rig_send(&rig, 3, CAIRN_WQE_FAA, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void state_toggle(struct sim *sim, void *arg)
{
	struct sim_qp *qp = arg;
	struct flow *flow = qp->flow[CAIRN_REQ];

	if (qp->c.state == CAIRN_QP_SQD) {
		if (qp->asyncs)
			sim_modify(qp, CAIRN_QP_RTS);
	} else if (flow->completed < flow->wrs) {
		qp->asyncs = 0;
		sim_modify(qp, CAIRN_QP_SQD);
	}
	if (flow->completed < flow->wrs || qp->c.state == CAIRN_QP_SQD)
		sim_at(sim, sim->now + sim_below(&sim->rand, 100 * SIM_US), state_toggle,
		       qp);
}

/* Drain and resume again and again: the program does not notice. */
static void drain_under_traffic(void)
{
	for_seeds(seed, 60) {
		struct pair pair = pair_new(seed, &sim_rc, 512);
		struct flow *flows[2];

		pair.s->faults = some_faults;
		pair.s->budget = 0;
		flows[0] = flow_new(pair.a, pair.b, &flow_default);
		flows[1] = flow_new(pair.b, pair.a, &flow_default);
		flow_random(flows[0]);
		flow_random(flows[1]);
		sim_at(pair.s, pair.s->now + 5000, state_toggle, pair.a);
		flow_run(flows, 2);
		sim_end(pair.s);
	}
}

/*
 * ERR.
 */

#define MANY	100

static void post_many(struct rig *rig)
{
	struct sim_rand *rand = &rig->s->rand;
	u32 i;

	for (i = 0; i < 50; i++) {
		rig_recv(rig, i, 6000);
		rig_recv_a(rig, i);
	}
	for (i = 0; i < MANY; i++)
		rig_send(rig, i, sim_chance(rand, 500) ? CAIRN_WQE_WRITE :
			 sim_chance(rand, 500) ? CAIRN_WQE_SEND :
			 CAIRN_WQE_READ, sim_below(rand, 6000));
}

/* Each of @n requests completed once, in order: good ones, then flushed. */
static void expect_flushed(const struct sim_qp *qp, enum cairn_side_id side,
			   u32 n)
{
	const struct sim_cq *cq = &qp->cq[side];
	bool flushed = false;
	u32 i;

	ktap_eq(cq->n, n);
	for (i = 0; i < cq->n && i < n; i++) {
		u8 status = cq->log[i].cqe.status;

		ktap_eq(cq->log[i].cqe.wr_id, i);
		if (flushed || status)
			ktap_eq(status, CAIRN_CQE_WR_FLUSH_ERR);
		flushed |= status;
	}
}

/* In SQD the host may say that no READ is to be under way any more. One that has begun
 * is asked for again all the same.
 */
static void no_reads_from_now_on(void)
{
	struct rig rig = rig_new(1);

	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_READ, 5000);
	sim_run(rig.s, 10 * SIM_US);
	sim_modify(rig.a, CAIRN_QP_SQD);
	rig.a->c.attrs.max_rd_atomic = 0;
	sim_run(rig.s, 10 * SIM_US);
	rig.s->dead[1] = false;
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(sim_async_count(rig.a, CAIRN_ASYNC_SQ_DRAINED), 1);
	sim_end(rig.s);
}

/* A turn flushes no more than it may send. */
static void flush_keeps_to_the_budget(void)
{
	struct rig rig = rig_new(1);
	u32 i, before;

	rig.s->budget = 4;
	rig.s->dead[1] = true;	/* nothing is answered: records are left, too */
	for (i = 0; i < 50; i++)
		rig_recv_a(&rig, i);
	for (i = 0; i < MANY; i++)
		rig_send(&rig, i, CAIRN_WQE_WRITE, 100);
	for (i = 0; i < 5; i++)
		sim_turn(rig.a, CAIRN_REQ);
	before = rig.a->c.req.new_rec;
	ktap_ok(before > 8 && before < MANY);
	sim_modify(rig.a, CAIRN_QP_ERR);
	for (i = 0; i < MANY / 4; i++) {
		sim_turn(rig.a, CAIRN_REQ);
		ktap_eq(rig.a->cq[CAIRN_REQ].n, 4 * (i + 1));
	}
	for (i = 0; i < 50 / 4; i++) {
		sim_turn(rig.a, CAIRN_RESP);
		ktap_eq(rig.a->cq[CAIRN_RESP].n, 4 * (i + 1));
	}
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_flushed(rig.a, CAIRN_REQ, MANY);
	expect_flushed(rig.a, CAIRN_RESP, 50);
	sim_end(rig.s);
}

static void error_under_traffic(void)
{
	for_seeds(seed, 200) {
		struct rig rig = rig_new(seed);

		rig.s->faults = some_faults;
		rig.s->budget = 0;
		rig.s->record = false;
		post_many(&rig);
		sim_run(rig.s, sim_below(&rig.s->rand, 300 * SIM_US));
		sim_modify(rig.a, CAIRN_QP_ERR);
		sim_run(rig.s, sim_below(&rig.s->rand, 10 * SIM_US));
		sim_modify(rig.b, CAIRN_QP_ERR);
		ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
		expect_flushed(rig.a, CAIRN_REQ, MANY);
		expect_flushed(rig.a, CAIRN_RESP, 50);
		expect_flushed(rig.b, CAIRN_RESP, 50);
		ktap_eq(rig.a->sq_head, rig.a->sq_tail);
		ktap_eq(rig.a->asyncs + rig.b->asyncs, 0);
		sim_end(rig.s);
	}
}

/* WQEs of every size that never started, across the ring's end. */
static void units_of_every_size_are_flushed(void)
{
	struct sim_qp_init init = sim_rc;
	u8 data[CAIRN_MAX_INLINE] = { 0 };
	struct rig rig;
	u32 i;

	init.sq_start = -20;
	rig = rig_with(1, &init, &sim_attrs);
	sim_modify(rig.a, CAIRN_QP_SQD);
	ktap_ok(sim_run(rig.s, SIM_MS));
	for (i = 0; i < 20; i++) {
		struct sim_wr wr = {
			.wr_id = i,
			.opcode = CAIRN_WQE_SEND,
			.flags = CAIRN_WQE_INLINE,
			.inl = data,
			.inline_len = i % 9 * 64,
		};

		sim_post_send(rig.a, &wr);
	}
	sim_modify(rig.a, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, SIM_MS));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 19, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 20);
	ktap_eq(rig.a->sq_head, rig.a->sq_tail);
	sim_end(rig.s);
}

/* Nothing leaves in ERR, and nothing is received. */
static void error_is_silent(void)
{
	struct rig rig = rig_new(1);
	u8 before[RIG_LEN];
	u32 from;

	sim_modify(rig.b, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	memcpy(before, rig.mb->mem, RIG_LEN);
	from = rig.s->n_sent;
	rig.a->c.attrs.retry_cnt = 1;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 5000);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	ktap_mem_eq(rig.mb->mem, before, RIG_LEN);
	for (; from < rig.s->n_sent; from++)
		ktap_ok(rig.s->sent[from].qp == rig.a);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(rig.s);
}

/*
 * RESET.
 */

static void reset_forgets_everything(void)
{
	for_seeds(seed, 60) {
		struct rig rig = rig_new(seed);
		u32 life;

		rig.s->faults = some_faults;
		rig.s->record = false;
		for (life = 0; life < 3 && !rig.s->failures; life++) {
			u32 na, nb;

			post_many(&rig);
			sim_run(rig.s, sim_below(&rig.s->rand, 300 * SIM_US));
			if (sim_chance(&rig.s->rand, 300))
				sim_modify(rig.a, CAIRN_QP_ERR);
			sim_reset(rig.a);
			sim_reset(rig.b);
			na = rig.a->cq[CAIRN_REQ].n;
			nb = rig.b->cq[CAIRN_RESP].n;
			ktap_ok(sim_run(rig.s, SIM_SEC));
			ktap_eq(rig.a->cq[CAIRN_REQ].n, na);
			ktap_eq(rig.b->cq[CAIRN_RESP].n, nb);
			sim_connect(rig.a, rig.b, &sim_attrs);
		}
		sim_end(rig.s);
	}
}

/* The same QPs live again, and all is well. */
static void reuse_after_reset(void)
{
	for_seeds(seed, 60) {
		struct rig rig = rig_new(seed);
		struct flow *flows[2];

		rig.s->record = false;
		rig.s->faults = some_faults;
		post_many(&rig);
		sim_run(rig.s, sim_below(&rig.s->rand, 300 * SIM_US));
		if (seed & 1)
			sim_modify(rig.b, CAIRN_QP_ERR);
		sim_run(rig.s, sim_below(&rig.s->rand, SIM_US));
		sim_reset(rig.a);
		sim_reset(rig.b);
		sim_connect(rig.a, rig.b, &sim_attrs);
		flows[0] = flow_new(rig.a, rig.b, &flow_default);
		flows[1] = flow_new(rig.b, rig.a, &flow_default);
		flow_random(flows[0]);
		flow_random(flows[1]);
		flow_run(flows, 2);
		sim_end(rig.s);
	}
}

/*
 * Shared receive queues.
 */

static void srq_is_shared(void)
{
	struct sim *sim = sim_new(1);
	struct sim_qp_init init = sim_rc;
	struct sim_qp *qp_a[2], *qp_b[2];
	struct sim_mr *ma = sim_mr(sim, 0, 4096, SIM_ALL);
	struct sim_mr *mb = sim_mr(sim, 1, 4096, SIM_ALL);
	u32 i;

	init.srq = sim_rq(64, 1, -8);
	for (i = 0; i < 2; i++) {
		qp_a[i] = sim_qp(sim, 0, &sim_rc);
		qp_b[i] = sim_qp(sim, 1, &init);
		sim_connect(qp_a[i], qp_b[i], &sim_attrs);
	}
	for (i = 0; i < 20; i++) {
		struct cairn_sge from = sim_sge(ma, i * 4, 4);
		struct cairn_sge to = sim_sge(mb, i * 4, 4);
		struct sim_wr wr = {
			.opcode = CAIRN_WQE_SEND,
			.sge = &from,
			.num_sge = 1,
		};

		sim_post_recv(qp_b[0], i, &to, 1);
		sim_post_send(qp_a[i & 1], &wr);
		ktap_ok(sim_run(sim, SIM_SEC));
		expect_cqe(qp_b[i & 1], CAIRN_RESP, i / 2, i, CAIRN_CQE_SUCCESS);
	}
	ktap_mem_eq(mb->mem, ma->mem, 80);
	sim_end(sim);
	sim_rq_free(init.srq);
}

/* ERR takes no receive from the SRQ, and says so once. */
static void last_wqe_reached(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig;

	init.srq = sim_rq(64, 1, 0);
	rig = rig_with(1, &init, &sim_attrs);
	rig_recv(&rig, 1, 30000);
	rig_recv(&rig, 2, 30000);
	rig.s->budget = 1;
	rig_send(&rig, 1, CAIRN_WQE_SEND, 30000);
	sim_run(rig.s, 5 * SIM_US);
	sim_modify(rig.b, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	/* the current receive belongs to the QP */
	expect_cqe(rig.b, CAIRN_RESP, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	ktap_eq(rig.b->rq->tail - rig.b->rq->head, 1);
	ktap_eq(sim_async_count(rig.b, CAIRN_ASYNC_LAST_WQE_REACHED), 1);
	sim_end(rig.s);
	sim_rq_free(init.srq);
}

static void srq_under_loss(void)
{
	for_seeds(seed, 40) {
		struct sim_qp_init init = sim_rc, plain = sim_rc;
		struct cairn_qp_attrs attrs = sim_attrs;
		struct flow_cfg cfg = flow_default;
		struct sim *sim = sim_new(seed);
		struct sim_qp *qp_a, *qp_b;
		struct flow *flow;

		init.srq = sim_rq(64, 2, 0);
		attrs.min_rnr_timer = 4;
		cfg.starve = 300;
		qp_a = sim_qp(sim, 0, &plain);
		qp_b = sim_qp(sim, 1, &init);
		sim_connect(qp_a, qp_b, &attrs);
		sim->faults = some_faults;
		flow = flow_new(qp_a, qp_b, &cfg);
		flow_random(flow);
		flow_run(&flow, 1);
		sim_end(sim);
		sim_rq_free(init.srq);
	}
}

static const struct ktap_test tests[] = {
	KTAP(drained_when_idle),
	KTAP(no_event_unless_wanted),
	KTAP(running_message_is_finished),
	KTAP(responder_works_in_sqd),
	KTAP(drain_under_traffic),
	KTAP(no_reads_from_now_on),
	KTAP(flush_keeps_to_the_budget),
	KTAP(error_under_traffic),
	KTAP(units_of_every_size_are_flushed),
	KTAP(error_is_silent),
	KTAP(reset_forgets_everything),
	KTAP(reuse_after_reset),
	KTAP(srq_is_shared),
	KTAP(last_wqe_reached),
	KTAP(srq_under_loss),
};

KTAP_MAIN(tests)
