// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Full completion queues. A message whose completion has no room is not acknowledged
 * and ends the queue pair; what is flushed waits for room. Either way every work
 * request completes once, in order.
 */
#include "persist.h"

#define QKEY	0x11111111

/* Poll @n at a time until nothing comes any more. */
static void overrun_drain(struct sim_qp *qp, enum cairn_side_id side, u32 n)
{
	u32 polled;

	do {
		polled = qp->cq[side].polled;
		sim_poll(qp, side, n);
		ktap_ok(sim_run(qp->s, LONG_TIME));
		ktap_ok(qp->cq[side].n - qp->cq[side].polled <=
			qp->cq[side].depth);
	} while (qp->cq[side].polled != polled);
}

/* Each of @n receives completes once: @good with success, then flushed. */
static void expect_recvs(struct sim_qp *qp, u32 good, u32 n)
{
	if (good)
		expect_cqes(qp, CAIRN_RESP, 0, 0, good - 1, CAIRN_CQE_SUCCESS);
	expect_cqes(qp, CAIRN_RESP, good, good, n - 1, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(qp->cq[CAIRN_RESP].n, n);
}

static void expect_overrun(struct sim_qp *qp, enum cairn_side_id side)
{
	ktap_eq(qp->c.state, CAIRN_QP_ERR);
	ktap_eq(sim_async_count(qp, CAIRN_ASYNC_QP_FATAL), 1);
	ktap_ok(qp->cq[side].overruns);
}

/* @n messages to as many receives, whose CQ has room for two. */
static void send_beyond(struct rig *rig, u8 opcode, u32 len, u32 n)
{
	u32 i;

	rig->b->cq[CAIRN_RESP].depth = 2;
	for (i = 0; i < n; i++)
		rig_recv(rig, i, 1024);
	for (i = 0; i < n; i++)
		rig_send(rig, i, opcode, len);
	ktap_ok(sim_run(rig->s, LONG_TIME));
}

static const u8 opcodes[] = { CAIRN_WQE_SEND, CAIRN_WQE_SEND_IMM,
			      CAIRN_WQE_WRITE_IMM };

/* With loss the NAK may be missing, and what was received is not known as such. */
static void no_success_is_a_lie(void)
{
	for_seeds(seed, 100) {
		struct rig rig = rig_new(seed);
		u32 i;

		rig.s->faults.loss = 200;
		send_beyond(&rig, opcodes[seed % 3], 100, 8);
		for (i = 0; i < 8; i++)
			ktap_eq(rig.a->cq[CAIRN_REQ].log[i].cqe.wr_id, i);
		for (i = 2; i < 8; i++)
			ktap_ok(rig.a->cq[CAIRN_REQ].log[i].cqe.status);
		expect_overrun(rig.b, CAIRN_RESP);
		overrun_drain(rig.b, CAIRN_RESP, 1);
		expect_recvs(rig.b, 2, 8);
		sim_end(rig.s);
	}
}

static void a_lost_receive_is_not_acknowledged(void)
{
	for_seeds(seed, 30) {
		struct rig rig = rig_new(seed);

		rig.s->handed = seed % 2 ? 1000 : 0;
		send_beyond(&rig, opcodes[seed % 3], 100, 8);
		expect_cqes(rig.a, CAIRN_REQ, 0, 0, 1, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 2, 2, CAIRN_CQE_REM_OP_ERR);
		expect_cqes(rig.a, CAIRN_REQ, 3, 3, 7, CAIRN_CQE_WR_FLUSH_ERR);
		expect_overrun(rig.b, CAIRN_RESP);
		overrun_drain(rig.b, CAIRN_RESP, 1);
		expect_recvs(rig.b, 2, 8);
		sim_end(rig.s);
	}
}

/* The NAK counts what was received, and no more. */
static void the_nak_counts_what_was_received(void)
{
	struct rig rig = rig_new(1);

	send_beyond(&rig, CAIRN_WQE_WRITE_IMM, 100, 4);
	ktap_eq(last_sent(rig.b)->msn, 2);
	sim_end(rig.s);
}

static void the_status_of_a_receive_is_kept(void)
{
	struct rig rig = rig_new(1);

	rig.b->cq[CAIRN_RESP].depth = 1;
	rig_recv(&rig, 0, 100);
	rig_recv(&rig, 1, 50);
	rig_recv(&rig, 2, 50);
	rig_send(&rig, 0, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 100);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 1, 1, CAIRN_CQE_REM_INV_REQ_ERR);
	overrun_drain(rig.b, CAIRN_RESP, 1);
	expect_cqe(rig.b, CAIRN_RESP, 1, 1, CAIRN_CQE_LOC_LEN_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 2, 2, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

static void a_host_that_cannot_be_asked(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u32 i;

	rig.b->cq[CAIRN_RESP].depth = 2;
	empty_recvs(rig.b, 0, 4);
	for (i = 0; i < 4; i++)
		persist_first(&rig, i, 100);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_overrun(rig.b, CAIRN_RESP);
	ktap_eq(send_cqes(&rig), 4);
	for (i = 0; i < 4; i++)
		ktap_ok(rig.a->cq[CAIRN_REQ].log[i].cqe.status);
	/* The connection is over, and its tokens with it. */
	ktap_ok(persist_release(&rig, 0, 0));
	overrun_drain(rig.b, CAIRN_RESP, 2);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 4);
	expect_cqes(rig.b, CAIRN_RESP, 2, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

/* The peer has them: those that could be told, and the one that ends it. */
static void a_full_send_cq(void)
{
	for_seeds(seed, 30) {
		struct rig rig = rig_new(seed);
		u32 i;

		rig.a->cq[CAIRN_REQ].depth = 2;
		for (i = 0; i < 8; i++)
			rig_recv(&rig, i, 100);
		for (i = 0; i < 8; i++)
			rig_send(&rig, i, CAIRN_WQE_SEND, 100);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_overrun(rig.a, CAIRN_REQ);
		ktap_eq(rig.a->cq[CAIRN_REQ].n, 2);
		overrun_drain(rig.a, CAIRN_REQ, 1 + seed % 2);
		expect_cqes(rig.a, CAIRN_REQ, 0, 0, 2, CAIRN_CQE_SUCCESS);
		expect_cqes(rig.a, CAIRN_REQ, 3, 3, 7, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(rig.a->cq[CAIRN_REQ].n, 8);
		sim_end(rig.s);
	}
}

/* @n sends, 40 of which may have begun, and as many receives are flushed. */
static void flush_many(u64 seed, u32 depth, u32 n)
{
	struct rig rig = rig_new(seed);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND, 100);
	u32 i;

	rig.s->dead[1] = true;
	rig.a->cq[CAIRN_REQ].depth = depth;
	rig.a->cq[CAIRN_RESP].depth = depth;
	for (i = 0; i < n; i++) {
		wr.wr_id = i;
		ktap_ok(sim_queue_send(rig.a, &wr));
		sim_post_recv(rig.a, i, NULL, 0);
		if (i == n / 3) {
			sim_doorbell(rig.a);
			sim_run(rig.s, SIM_US);
		}
	}
	sim_modify(rig.a, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	ktap_eq(rig.a->cq[CAIRN_REQ].n, depth);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, depth);
	overrun_drain(rig.a, CAIRN_REQ, depth);
	overrun_drain(rig.a, CAIRN_RESP, depth);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, n - 1, CAIRN_CQE_WR_FLUSH_ERR);
	expect_recvs(rig.a, 0, n);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, n);
	ktap_eq(rig.a->cq[CAIRN_REQ].overruns, 0);
	ktap_eq(rig.a->cq[CAIRN_RESP].overruns, 0);
	ktap_eq(rig.a->asyncs, 0);
	sim_end(rig.s);
}

static void what_is_flushed_waits_for_room(void)
{
	for_seeds(seed, 20)
		flush_many(seed, 1 + seed % 8, 50);
}

static void a_reset_forgets_what_waits(void)
{
	struct rig rig = rig_new(1);
	u32 i;

	rig.a->cq[CAIRN_REQ].depth = 1;
	rig.a->cq[CAIRN_RESP].depth = 1;
	for (i = 0; i < 4; i++) {
		sim_post_recv(rig.a, i, NULL, 0);
		rig_send(&rig, i, CAIRN_WQE_WRITE, 100);
	}
	ktap_ok(sim_run(rig.s, LONG_TIME));
	sim_reset(rig.a);
	overrun_drain(rig.a, CAIRN_REQ, 1);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

/* Early mode: what became durable is told by receives. */
static void durable_without_room(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u32 i, seen = 0;

	rig.a->cq[CAIRN_RESP].depth = 1;
	empty_recvs(rig.a, 0, 4);
	for (i = 0; i < 3; i++)
		persist_at(&rig, i, 0, 100, CAIRN_WQE_EARLY);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_overrun(rig.a, CAIRN_RESP);
	overrun_drain(rig.a, CAIRN_RESP, 1);
	/* The two sides take turns with what is left. */
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 4);
	for (i = 0; i < 4; i++) {
		const struct cairn_cqe *cqe = recv_cqe(rig.a, i);

		seen |= 1 << cqe->wr_id;
		ktap_eq(cqe->status, cqe->wr_id < 2 ? CAIRN_CQE_SUCCESS :
						      CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(cqe->opcode, cqe->wr_id < 2 ? CAIRN_CQE_RECV_DURABLE :
						      CAIRN_CQE_RECV);
	}
	ktap_eq(seen, 0xf);
	sim_end(rig.s);
}

struct datagrams {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *ma, *mb;
};

static struct datagrams overrun_datagrams(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct datagrams traffic = { .s = sim_new(1) };

	attrs.qkey = QKEY;
	traffic.a = sim_qp(traffic.s, 0, &sim_ud);
	traffic.b = sim_qp(traffic.s, 1, &sim_ud);
	traffic.ma = sim_mr(traffic.s, 0, 8192, SIM_ALL);
	traffic.mb = sim_mr(traffic.s, 1, 8192, SIM_ALL);
	traffic.s->host[0].ah[1] = (struct sim_ah){ true, 1 };
	sim_to_rts(traffic.a, 0, 0, &attrs, 0, 7);
	sim_to_rts(traffic.b, 0, 0, &attrs, 0, 0);
	return traffic;
}

static void overrun_datagram(struct datagrams *datagrams, u64 id, u32 ah)
{
	struct cairn_sge sge = sim_sge(datagrams->ma, 0, 100);
	struct sim_wr wr = {
		.wr_id = id, .opcode = CAIRN_WQE_SEND,
		.flags = CAIRN_WQE_SIGNALED, .sge = &sge, .num_sge = 1,
		.ah = ah, .qpn = datagrams->b->c.qpn, .qkey = QKEY,
	};

	ktap_ok(sim_queue_send(datagrams->a, &wr));
}

static void datagrams_that_have_no_room(void)
{
	struct datagrams traffic = overrun_datagrams();
	struct cairn_sge sge = sim_sge(traffic.mb, 0, 4096);
	u32 i;

	traffic.b->cq[CAIRN_RESP].depth = 2;
	for (i = 0; i < 5; i++)
		sim_post_recv(traffic.b, i, &sge, 1);
	for (i = 0; i < 5; i++)
		overrun_datagram(&traffic, i, 1);
	sim_doorbell(traffic.a);
	ktap_ok(sim_run(traffic.s, SIM_SEC));
	expect_cqes(traffic.a, CAIRN_REQ, 0, 0, 4, CAIRN_CQE_SUCCESS);
	expect_overrun(traffic.b, CAIRN_RESP);
	overrun_drain(traffic.b, CAIRN_RESP, 2);
	expect_recvs(traffic.b, 2, 5);
	sim_end(traffic.s);
}

/* An error of the send queue flushes it, and RTS does not begin before that. */
static void a_send_queue_in_error_waits(void)
{
	struct datagrams traffic = overrun_datagrams();
	u32 i;

	traffic.a->cq[CAIRN_REQ].depth = 2;
	for (i = 0; i < 5; i++)
		overrun_datagram(&traffic, i, 7);	/* no such address */
	sim_doorbell(traffic.a);
	ktap_ok(sim_run(traffic.s, SIM_SEC));
	ktap_eq(traffic.a->c.state, CAIRN_QP_SQE);
	ktap_eq(traffic.a->cq[CAIRN_REQ].n, 2);
	ktap_eq(traffic.a->cq[CAIRN_REQ].overruns, 0);
	ktap_ok(traffic.a->c.req.unreported);
	overrun_drain(traffic.a, CAIRN_REQ, 2);
	ktap_ok(!traffic.a->c.req.unreported);
	expect_cqe(traffic.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_QP_OP_ERR);
	expect_cqes(traffic.a, CAIRN_REQ, 1, 1, 4, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(traffic.a->cq[CAIRN_REQ].n, 5);
	ktap_eq(traffic.a->c.state, CAIRN_QP_SQE);
	sim_end(traffic.s);
}

static const struct ktap_test tests[] = {
	KTAP(a_lost_receive_is_not_acknowledged),
	KTAP(no_success_is_a_lie),
	KTAP(the_nak_counts_what_was_received),
	KTAP(the_status_of_a_receive_is_kept),
	KTAP(a_host_that_cannot_be_asked),
	KTAP(a_full_send_cq),
	KTAP(what_is_flushed_waits_for_room),
	KTAP(a_reset_forgets_what_waits),
	KTAP(durable_without_room),
	KTAP(datagrams_that_have_no_room),
	KTAP(a_send_queue_in_error_waits),
};

KTAP_MAIN(tests)
