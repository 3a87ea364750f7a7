// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Host flush at the responder: the request to the host, its tokens, and the answers that
 * wait for it (Documentation/wire.rst).
 */
#include <errno.h>
#include "persist.h"

static void the_host_is_asked(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	const struct cairn_cqe *cqe;
	struct watch watched;

	persist_watch(&rig, &watched, 64, 3000, 2);
	rig_recv(&rig, 9, 16);
	persist_at(&rig, 1, 64, 3000, 0);
	sim_run(rig.s, SIM_MS);
	cqe = recv_cqe(rig.b, 0);
	expect_cqe(rig.b, CAIRN_RESP, 0, 9, CAIRN_CQE_SUCCESS);
	ktap_eq(cqe->opcode, CAIRN_CQE_RECV_PERSIST);
	ktap_eq(cqe->persist_va, rig.mb->va + 64);
	ktap_eq(cqe->byte_len, 3000);
	ktap_eq(cqe->psn, psn_of(&rig, 2));
	/* the peer has not asked for that */
	ktap_eq(cqe->flags, CAIRN_CQE_SOLICITED);
	ktap_ok(cqe->persist_token != 0);
	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(persist_acks(&rig), 0);
	watched.answers = 0;
	watched.early = 0;
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(watched.answers && !watched.early);
	ktap_eq(persist_acks(&rig), 1);
	ktap_eq(persist_requests(&rig), 3);
	sim_end(rig.s);
}

static void no_receive_no_message(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	persist_first(&rig, 1, 2 * PMTU);
	sim_run(rig.s, SIM_MS);
	expect_no_receive(&rig);
	rig_recv(&rig, 1, 0);
	sim_run(rig.s, SIM_MS);
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* Durable in any order, acknowledged in PSN order, many by one ACK. */
static void the_watermark_keeps_the_order(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 4);
	persist_first(&rig, 1, 100);
	persist_first(&rig, 2, 100);
	persist_first(&rig, 3, 100);
	persist_first(&rig, 4, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 2, 0), 0);
	ktap_eq(persist_release(&rig, 1, 0), 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_acks(&rig), 0);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_acks(&rig), 1);
	ktap_eq(last_sent(rig.b)->psn, psn_of(&rig, 2));
	ktap_eq(last_sent(rig.b)->msn, 3);
	ktap_eq(send_cqes(&rig), 3);
	persist_finish(&rig, 3);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void nic_flush_behind_host_flush_waits(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig nic = rig;

	nic.mb = persist_region(&rig, CAIRN_PERSIST_NIC);
	empty_recvs(rig.b, 1, 2);
	persist_first(&rig, 1, 100);
	persist_first(&nic, 2, 100);
	persist_first(&nic, 3, 100);
	persist_first(&rig, 4, 100);
	persist_first(&nic, 5, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_acks(&rig), 0);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(send_cqes(&rig), 3);
	ktap_eq(last_sent(rig.b)->psn, psn_of(&rig, 2));
	persist_finish(&rig, 1);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(last_sent(rig.b)->psn, psn_of(&rig, 4));
	ktap_eq(last_sent(rig.b)->msn, 5);
	sim_end(rig.s);
}

static void tokens_are_bounded(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig;
	u32 i;

	init.sq_depth = 256;
	init.rq_depth = 512;
	rig = rig_with(1, &init, &sim_attrs);
	rig.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	empty_recvs(rig.b, 0, CAIRN_MAX_PENDING + 10);
	for (i = 0; i < CAIRN_MAX_PENDING + 10; i++)
		persist_first(&rig, i, 100);
	/* not longer than it takes: a receiver that is not ready is asked often */
	sim_run(rig.s, 20 * SIM_MS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, CAIRN_MAX_PENDING);
	ktap_ok(rig.b->count[CAIRN_CTR_PERSIST_FULL] > 0);
	ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	for (i = 0; i < CAIRN_MAX_PENDING + 10; i++) {
		ktap_eq(persist_release(&rig, i, 0), 0);
		sim_run(rig.s, SIM_MS);
	}
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, CAIRN_MAX_PENDING + 9,
		    CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void no_memory_is_not_ready(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	rig.b->no_memory = true;
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	rig.b->no_memory = false;
	sim_run(rig.s, SIM_SEC);
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void tokens_are_good_once(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_qp *other = sim_qp(rig.s, 1, &sim_rc);
	u64 token;
	u32 bit;

	sim_to_rts(other, 0, 3, &sim_attrs, 0, 0);
	empty_recvs(rig.b, 1, 2);
	persist_first(&rig, 1, 100);
	persist_first(&rig, 2, 100);
	sim_run(rig.s, SIM_MS);
	token = recv_cqe(rig.b, 0)->persist_token;
	for (bit = 0; bit < 64; bit++)
		ktap_eq(sim_release(rig.b, token ^ 1ULL << bit, 0), -ENOENT);
	ktap_eq(sim_release(rig.b, 0, 0), -ENOENT);
	ktap_eq(sim_release(other, token, 0), -ENOENT);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_acks(&rig), 0);
	/* the second is done first, and twice, while the first waits */
	ktap_eq(persist_release(&rig, 1, 0), 0);
	ktap_eq(persist_release(&rig, 1, 0), -ENOENT);
	ktap_eq(persist_release(&rig, 1, EIO), -ENOENT);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_eq(persist_release(&rig, 0, EIO), -ENOENT);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* Each place is used more than once, and no token comes again. */
static void tokens_do_not_come_again(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u64 token[2 * CAIRN_MAX_PENDING];
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(token); i++) {
		rig_recv(&rig, i, 0);
		persist_first(&rig, i, 100);
		sim_run(rig.s, SIM_MS);
		token[i] = recv_cqe(rig.b, i)->persist_token;
		for (j = 0; j < i; j++)
			ktap_ok(token[i] != token[j]);
		ktap_eq(persist_release(&rig, i, 0), 0);
		sim_run(rig.s, SIM_MS);
	}
	sim_end(rig.s);
}

static void tokens_die_with_the_region(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_PERSIST, CAIRN_WQE_WRITE, CAIRN_WQE_CAS };
	u32 way;

	for (way = 0; way < 6; way++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

		rig_recv(&rig, 1, 0);
		rig_send(&rig, 1, ops[way / 2], 8);
		sim_run(rig.s, SIM_MS);
		rig.mb->valid = false;
		if (way & 1)
			sim_revoke(rig.b, rig.mb->key);
		ktap_eq(persist_release(&rig, 0, 0), -ENOENT);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
		sim_end(rig.s);
	}
}

static void the_end_of_a_region_spares_others(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig second = rig;

	second.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	empty_recvs(rig.b, 1, 2);
	persist_first(&rig, 1, 100);
	persist_first(&second, 2, 100);
	sim_run(rig.s, SIM_MS);
	second.mb->valid = false;
	sim_revoke(rig.b, second.mb->key);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_OP_ERR);
	sim_end(rig.s);
}

static void tokens_die_with_the_queue_pair(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	sim_modify(rig.b, CAIRN_QP_ERR);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 0, 0), -ENOENT);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(rig.s);
}

/* In time, too late, never; a WRITE_PERSIST, a plain WRITE and an atomic. */
static void a_region_limits_the_flush(void)
{
	static const u64 answers[] = { 4 * SIM_MS, 6 * SIM_MS, SIM_SEC };
	static const u8 ops[] = { CAIRN_WQE_WRITE_PERSIST, CAIRN_WQE_WRITE, CAIRN_WQE_FAA };
	u32 i;

	for (i = 0; i < 3 * ARRAY_SIZE(answers); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		bool late = i / 3 > 0;

		rig.mb->flush_limit = 5 * SIM_MS;
		rig_recv(&rig, 1, 0);
		rig_send(&rig, 1, ops[i % 3], 8);
		sim_run(rig.s, answers[i / 3]);
		ktap_eq(rig.b->count[CAIRN_CTR_PERSIST_LATE], late);
		ktap_eq(persist_release(&rig, 0, 0), late ? -ENOENT : 0);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, late ? CAIRN_CQE_REM_OP_ERR :
							CAIRN_CQE_SUCCESS);
		ktap_eq(rig.b->c.state, late ? CAIRN_QP_ERR : CAIRN_QP_RTS);
		sim_end(rig.s);
	}
}

/* The order of the messages holds: a late one does not pass an earlier one. */
static void a_late_flush_waits_for_its_turn(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *slow = rig.mb;

	empty_recvs(rig.b, 1, 3);
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	rig.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	rig.mb->flush_limit = 5 * SIM_MS;
	persist_first(&rig, 2, 100);
	sim_run(rig.s, SIM_MS);
	persist_first(&rig, 3, 100);
	sim_run(rig.s, 20 * SIM_MS);
	ktap_eq(rig.b->count[CAIRN_CTR_PERSIST_LATE], 2);
	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(persist_release(&rig, 1, 0), -ENOENT);
	rig.mb = slow;
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

/* A message into a region without a limit takes away no limit that runs. */
static void a_limit_outlasts_later_messages(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 2);
	rig.mb->flush_limit = 5 * SIM_MS;
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	rig.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	persist_first(&rig, 2, 100);
	sim_run(rig.s, 20 * SIM_MS);
	ktap_eq(rig.b->count[CAIRN_CTR_PERSIST_LATE], 1);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

static void a_reset_forgets_tokens(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	sim_reset(rig.b);
	sim_reset(rig.a);
	ktap_eq(persist_release(&rig, 0, 0), -ENOENT);
	sim_connect(rig.a, rig.b, &sim_attrs);
	rig_recv(&rig, 2, 0);
	persist_first(&rig, 2, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(send_cqes(&rig), 0);
	persist_finish(&rig, 1);
	expect_cqe(rig.a, CAIRN_REQ, 0, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* One of these comes behind the WRITE, and its answer must wait. */
static void answers_wait_for_a_plain_write(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ, CAIRN_WQE_FAA,
				  CAIRN_WQE_WRITE_PERSIST };
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 i;

	attrs.timeout = 25;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
		struct rig second = rig;
		struct watch watched;

		second.mb = persist_region(&rig, CAIRN_PERSIST_NIC);
		persist_watch(&rig, &watched, 0, 8, 1);
		empty_recvs(rig.b, 1, 1);
		rig_recv(&rig, 2, 100);
		rig_send(&second, 1, CAIRN_WQE_SEND, 0);
		rig_recv(&rig, 3, 100);
		rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
		rig_send(&second, 3, ops[i], 8);
		sim_run(rig.s, 10 * SIM_MS);
		ktap_eq(watched.answers, 0);
		/* what came before it is acknowledged */
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(send_cqes(&rig), 1);
		ktap_eq(recv_cqe(rig.b, 1)->opcode, CAIRN_CQE_RECV_PERSIST);
		ktap_eq(persist_release(&rig, 1, 0), 0);
		sim_run(rig.s, 10 * SIM_MS);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
		ktap_ok(watched.answers && !watched.early);
		sim_end(rig.s);
	}
}

/* A READ and all requests before it are acknowledged by its response. The request behind the
 * WRITE owes an ACK, which must not go back to those.
 */
static void no_ack_goes_back_behind_a_read(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig, second;
	u32 i;

	attrs.timeout = 25;
	rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
	second = rig;
	second.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	rig_recv(&rig, 1, 0);
	rig_send(&second, 1, CAIRN_WQE_READ, 100);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
	rig_send(&second, 3, CAIRN_WQE_WRITE, 100);
	sim_run(rig.s, 10 * SIM_MS);
	for (i = 0; i < rig.s->n_sent; i++)
		ktap_ok(rig.s->sent[i].qp != rig.b ||
			rig.s->sent[i].pkt.op->kind != CAIRN_KIND_ACK ||
			cairn_psn_diff(rig.s->sent[i].pkt.psn, psn_of(&rig, 0)) > 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(send_cqes(&rig), 1);
	persist_finish(&rig, 0);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* The first request is lost once, so that one run executes it and all behind it. A response
 * that waits for the host does not stand for its ACK.
 */
static void a_withheld_response_acknowledges_nothing(void)
{
	static const u8 ops[][3] = {
		{ CAIRN_WQE_FAA, 0, 0 },
		{ CAIRN_WQE_WRITE, CAIRN_WQE_READ, 0 },
		{ CAIRN_WQE_WRITE, CAIRN_WQE_READ, CAIRN_WQE_WRITE },
	};
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 i, j;

	attrs.timeout = 25;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
		u32 lost = psn_of(&rig, 0);
		struct rig second = rig;

		second.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
		rig.a->hooks.arg = &lost;
		rig.a->hooks.emit = sim_lose_once;
		empty_recvs(rig.b, 1, 2);
		rig_send(&second, 1, CAIRN_WQE_SEND, 0);
		for (j = 0; j < 3 && (!j || ops[i][j]); j++)
			rig_send(j ? &second : &rig, 2 + j, ops[i][j], 8);
		sim_run(rig.s, 10 * SIM_MS);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(send_cqes(&rig), 1);
		ktap_eq(rig.a->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
		persist_finish(&rig, 1);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 1 + j, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* A peer with a short timeout and two retries: RNR NAKs of the last packet hold it for as
 * long as the host needs, and the ACK ends the wait.
 */
static void a_repeated_plain_write_is_held(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig, second;
	u32 i, rnrs = 0;

	attrs.timeout = 8;		/* 1 ms */
	attrs.retry_cnt = 2;
	rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
	second = rig;
	second.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	rig_recv(&rig, 1, 0);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 3 * PMTU);
	rig_send(&second, 2, CAIRN_WQE_READ, 100);
	rig_send(&second, 3, CAIRN_WQE_WRITE, 100);
	sim_run(rig.s, 2 * SIM_SEC);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	for (i = 0; i < rig.s->n_sent; i++) {
		const struct cairn_pkt *pkt = &rig.s->sent[i].pkt;

		if (rig.s->sent[i].qp != rig.b || pkt->op->kind != CAIRN_KIND_ACK ||
		    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_RNR_NAK)
			continue;
		rnrs++;
		ktap_eq(pkt->psn, psn_of(&rig, 2));
		ktap_eq(pkt->msn, 0);
	}
	/* rarely, in the end */
	ktap_ok(rnrs > 5 && rnrs < 30);
	ktap_eq(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT], rnrs);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, 100 * SIM_US);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	sim_end(rig.s);
}

/* The NAK of a gap behind the WRITE has to wait for the host, too. */
static void a_write_before_a_gap_is_held(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig, second;
	u32 lost;

	attrs.timeout = 8;		/* 1 ms */
	attrs.retry_cnt = 2;
	rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
	second = rig;
	second.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	/* the peer's port is known, so several packets are in flight */
	rig_send(&second, 1, CAIRN_WQE_WRITE, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	lost = psn_of(&rig, 2);
	rig.a->hooks.emit = sim_lose_once;
	rig.a->hooks.arg = &lost;
	rig_recv(&rig, 1, 0);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
	rig_send(&second, 3, CAIRN_WQE_WRITE, 100);
	rig_send(&second, 4, CAIRN_WQE_WRITE, 200);
	sim_run(rig.s, 2 * SIM_SEC);
	ktap_eq(lost, ~0U);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(send_cqes(&rig), 1);
	ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 5);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, 100 * SIM_US);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	sim_end(rig.s);
}

/* Nothing behind it asks for an answer. The ACK comes when the host releases it, not when
 * the RNR timer of 164 ms expires.
 */
static void a_held_write_is_acknowledged_when_durable(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
	sim_run(rig.s, 2 * SIM_SEC);
	ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 5);
	ktap_ok(rig.a->c.req.rnr_until > rig.s->now + SIM_MS);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, 100 * SIM_US);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* NAKs acknowledge what is before them, too. */
static void naks_do_not_pass_a_plain_write(void)
{
	u32 kind;

	for (kind = 0; kind < 3; kind++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		struct rig second = rig;
		struct watch watched;
		u32 first = psn_of(&rig, 0);

		persist_watch(&rig, &watched, 0, 8, 1);
		rig_recv(&rig, 1, 0);
		rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
		sim_run(rig.s, 100 * SIM_US);
		if (kind == 0) {		/* RNR */
			rig_send(&second, 2, CAIRN_WQE_SEND, 8);
		} else if (kind == 1) {		/* a gap */
			struct cairn_pkt pkt = {
				.opcode = CAIRN_BTH_SEND_ONLY,
				.pkey = CAIRN_PKEY_DEFAULT,
				.qpn = rig.b->c.qpn,
				.psn = psn_of(&rig, 5),
			};

			sim_inject(rig.b, &pkt, NULL);
		} else {			/* the end */
			second.mb = sim_mr(rig.s, 1, 8, SIM_LOCAL);
			rig_send(&second, 2, CAIRN_WQE_WRITE, 8);
		}
		sim_run(rig.s, 100 * SIM_US);
		ktap_eq(last_sent(rig.b) == NULL, kind == 1);
		if (last_sent(rig.b))
			ktap_eq(last_sent(rig.b)->psn, first);
		ktap_eq(watched.answers, 0);
		if (kind == 2)
			expect_cqe(rig.a, CAIRN_REQ, 0, 1,
				   CAIRN_CQE_REM_ACCESS_ERR);
		else
			ktap_eq(send_cqes(&rig), 0);
		sim_end(rig.s);
	}
}

static void a_failed_plain_write_is_naked(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 0, ENOSPC), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
	ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_ACK);
	sim_end(rig.s);
}

/* One receive for both: the request to the host carries the immediate. */
static void write_with_immediate_and_host_flush(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE_IMM, 100);

	rig_recv(&rig, 1, 0);
	wr.imm_or_key = 0x1234;
	sim_post_send(rig.a, &wr);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	ktap_eq(recv_cqe(rig.b, 0)->flags, CAIRN_CQE_WITH_IMM | CAIRN_CQE_SOLICITED);
	ktap_eq(recv_cqe(rig.b, 0)->imm_or_key, 0x1234);
	ktap_eq(send_cqes(&rig), 0);
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* An atomic or ATOMIC WRITE of the first word at b, which gets the value @word. */
static void word_send(const struct rig *rig, u64 wr_id, u8 opcode, u64 word)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, opcode, sizeof(word));
	u64 old;

	memcpy(&old, rig->mb->mem, sizeof(old));
	wr.wr_id = wr_id;
	wr.compare_add = opcode == CAIRN_WQE_FAA ? word - old : old;
	wr.swap = word;
	wr.inl = &word;
	wr.inline_len = sizeof(word);
	if (opcode == CAIRN_WQE_ATOMIC_WRITE)
		wr.flags |= CAIRN_WQE_INLINE;
	sim_post_send(rig->a, &wr);
}

static const u8 word_ops[] = { CAIRN_WQE_CAS, CAIRN_WQE_FAA, CAIRN_WQE_ATOMIC_WRITE };

/* The host is asked as for a message, and its answer lets the response leave. */
static void atomics_wait_for_the_host(void)
{
	u64 word = 0x1122334455667788, old;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(word_ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		const struct cairn_cqe *cqe;
		struct watch watched;

		persist_watch(&rig, &watched, 0, 8, 0);
		watched.want = (const u8 *)&word;
		memcpy(&old, rig.mb->mem, sizeof(old));
		rig_recv(&rig, 9, 16);
		word_send(&rig, 1, word_ops[i], word);
		sim_run(rig.s, SIM_MS);
		cqe = recv_cqe(rig.b, 0);
		expect_cqe(rig.b, CAIRN_RESP, 0, 9, CAIRN_CQE_SUCCESS);
		ktap_eq(cqe->opcode, CAIRN_CQE_RECV_PERSIST);
		ktap_eq(cqe->persist_va, rig.mb->va);
		ktap_eq(cqe->byte_len, 8);
		ktap_eq(cqe->psn, psn_of(&rig, 0));
		ktap_eq(send_cqes(&rig), 0);
		ktap_eq(watched.answers, 0);
		persist_finish(&rig, 0);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(watched.answers, 1);
		ktap_eq(watched.early, 0);
		ktap_eq(rig.b->atomics, 1);
		if (word_ops[i] != CAIRN_WQE_ATOMIC_WRITE)
			ktap_mem_eq(rig.ma->mem, &old, sizeof(old));
		sim_end(rig.s);
	}
}

static void atomics_need_a_receive(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(word_ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

		word_send(&rig, 1, word_ops[i], 5);
		sim_run(rig.s, SIM_MS);
		ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
		ktap_eq(rig.b->atomics, 0);
		rig_recv(&rig, 1, 0);
		sim_run(rig.s, SIM_MS);
		ktap_eq(rig.b->atomics, 1);
		persist_finish(&rig, 0);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* Requests behind an atomic are answered behind it. */
static void answers_wait_for_an_atomic(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_SEND, CAIRN_WQE_READ,
				  CAIRN_WQE_FAA, CAIRN_WQE_WRITE_PERSIST };
	struct cairn_qp_attrs attrs = sim_attrs;
	u64 word = 77;
	u32 i;

	attrs.timeout = 25;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
		struct rig second = rig;
		struct watch watched;

		second.mb = persist_region(&rig, CAIRN_PERSIST_NIC);
		persist_watch(&rig, &watched, 0, 8, 1);
		watched.want = (const u8 *)&word;
		rig_send(&second, 1, CAIRN_WQE_WRITE, 8);
		sim_run(rig.s, SIM_MS);
		empty_recvs(rig.b, 1, 1);
		rig_recv(&rig, 2, 100);
		word_send(&rig, 2, CAIRN_WQE_CAS, word);
		rig_send(&second, 3, ops[i], 8);
		sim_run(rig.s, 10 * SIM_MS);
		ktap_eq(watched.answers, 0);
		ktap_eq(send_cqes(&rig), 1);
		ktap_eq(persist_release(&rig, 0, 0), 0);
		sim_run(rig.s, 10 * SIM_MS);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
		ktap_ok(watched.answers && !watched.early);
		sim_end(rig.s);
	}
}

/* As a plain WRITE: RNR NAKs hold a peer with few retries, and it is executed once. */
static void a_repeated_atomic_is_held(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 i;

	attrs.timeout = 8;		/* 1 ms */
	attrs.retry_cnt = 2;
	for (i = 0; i < ARRAY_SIZE(word_ops); i++) {
		struct rig rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
		u64 old;

		memcpy(&old, rig.mb->mem, sizeof(old));
		rig_recv(&rig, 1, 0);
		word_send(&rig, 1, word_ops[i], old + 3);
		sim_run(rig.s, 2 * SIM_SEC);
		ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
		ktap_eq(send_cqes(&rig), 0);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
		ktap_eq(rig.b->atomics, 1);
		ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 5);
		ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] < 30);
		ktap_eq(last_sent(rig.b)->psn, psn_of(&rig, 0));
		ktap_eq(last_sent(rig.b)->msn, 0);
		/* the response leaves now, not when the RNR timer expires */
		ktap_eq(persist_release(&rig, 0, 0), 0);
		sim_run(rig.s, 100 * SIM_US);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		if (word_ops[i] != CAIRN_WQE_ATOMIC_WRITE)
			ktap_mem_eq(rig.ma->mem, &old, sizeof(old));
		sim_end(rig.s);
	}
}

static enum sim_fate word_lose_response(struct sim_qp *qp, enum cairn_side_id side,
					const struct cairn_pkt *pkt)
{
	u32 *losses = qp->hooks.arg;

	if (side != CAIRN_RESP || !*losses)
		return SIM_PASS;
	--*losses;
	return SIM_DROP;
}

/* Its response is lost: the stored result comes again, and the host is not asked again. */
static void a_durable_atomic_is_replayed(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(word_ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		u32 losses = 1;
		u64 old;

		memcpy(&old, rig.mb->mem, sizeof(old));
		empty_recvs(rig.b, 1, 2);
		word_send(&rig, 1, word_ops[i], old + 3);
		sim_run(rig.s, 100 * SIM_US);
		rig.b->hooks.arg = &losses;
		rig.b->hooks.emit = word_lose_response;
		ktap_eq(persist_release(&rig, 0, 0), 0);
		sim_run(rig.s, 100 * SIM_US);
		ktap_eq(losses, 0);
		rig.b->hooks.emit = NULL;
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.b->atomics, 1);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
		if (word_ops[i] != CAIRN_WQE_ATOMIC_WRITE)
			ktap_mem_eq(rig.ma->mem, &old, sizeof(old));
		sim_end(rig.s);
	}
}

static void a_failed_atomic_is_naked(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(word_ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

		rig_recv(&rig, 1, 0);
		word_send(&rig, 1, word_ops[i], 5);
		sim_run(rig.s, SIM_MS);
		ktap_eq(persist_release(&rig, 0, ENOSPC), 0);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
		ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_ACK);
		sim_end(rig.s);
	}
}

/* The rights of a region may be atomics alone. */
static void an_atomic_needs_no_right_to_write(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig.mb->access &= ~(1u << CAIRN_ACCESS_REMOTE_WRITE);
	rig_recv(&rig, 1, 0);
	word_send(&rig, 1, CAIRN_WQE_CAS, 5);
	sim_run(rig.s, SIM_MS);
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(the_host_is_asked),
	KTAP(no_receive_no_message),
	KTAP(the_watermark_keeps_the_order),
	KTAP(nic_flush_behind_host_flush_waits),
	KTAP(tokens_are_bounded),
	KTAP(no_memory_is_not_ready),
	KTAP(tokens_are_good_once),
	KTAP(tokens_do_not_come_again),
	KTAP(tokens_die_with_the_region),
	KTAP(the_end_of_a_region_spares_others),
	KTAP(tokens_die_with_the_queue_pair),
	KTAP(a_region_limits_the_flush),
	KTAP(a_late_flush_waits_for_its_turn),
	KTAP(a_limit_outlasts_later_messages),
	KTAP(a_reset_forgets_tokens),
	KTAP(answers_wait_for_a_plain_write),
	KTAP(no_ack_goes_back_behind_a_read),
	KTAP(a_withheld_response_acknowledges_nothing),
	KTAP(a_repeated_plain_write_is_held),
	KTAP(a_write_before_a_gap_is_held),
	KTAP(a_held_write_is_acknowledged_when_durable),
	KTAP(naks_do_not_pass_a_plain_write),
	KTAP(a_failed_plain_write_is_naked),
	KTAP(write_with_immediate_and_host_flush),
	KTAP(atomics_wait_for_the_host),
	KTAP(atomics_need_a_receive),
	KTAP(answers_wait_for_an_atomic),
	KTAP(a_repeated_atomic_is_held),
	KTAP(a_durable_atomic_is_replayed),
	KTAP(a_failed_atomic_is_naked),
	KTAP(an_atomic_needs_no_right_to_write),
};

KTAP_MAIN(tests)
