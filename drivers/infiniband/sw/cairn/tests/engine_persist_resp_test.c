// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST at the responder, rule by rule (Documentation/wire.rst): write-back,
 * answers that may be sent before a message is durable, host flush and its tokens,
 * duplicates.
 */
#include <errno.h>
#include "persist.h"

static void every_packet_of_a_message(void)
{
	static const u32 lens[] = { PMTU - 1, PMTU, PMTU + 1, 10 * PMTU + 3 };
	u32 i, off;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (off = 0; off < 130; off += 43) {
			struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
			struct watch watched;

			persist_watch(&rig, &watched, off, lens[i], (lens[i] - 1) / PMTU);
			persist_at(&rig, 1, off, lens[i], 0);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
			ktap_ok(watched.answers && !watched.early);
			/* nothing but its lines */
			ktap_ok(!memcmp(rig.mb->shadow + ALIGN(off + lens[i], 64),
					rig.mb->mem + ALIGN(off + lens[i], 64),
					64));
			sim_end(rig.s);
		}
	}
}

static void ordinary_memory_is_refused(void)
{
	struct rig rig = rig_new(1);
	u8 before[100];

	memcpy(before, rig.mb->mem, sizeof(before));
	persist_first(&rig, 1, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_ok(!memcmp(before, rig.mb->mem, sizeof(before)));
	ktap_eq(rig.b->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS], 1);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

static void rights_count(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.mb->access &= ~(1 << CAIRN_ACCESS_REMOTE_WRITE);
	persist_first(&rig, 1, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

static void plain_write_is_persisted_too(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct watch watched;

	persist_watch(&rig, &watched, 0, 3000, 2);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(watched.answers && !watched.early);
	ktap_eq(persist_acks(&rig), 0);
	sim_end(rig.s);
}

/* A completed receive implies that earlier data is durable, as a READ response does. */
static void look_at_shadow(struct sim_qp *qp, enum cairn_side_id side,
			   const struct cairn_cqe *cqe)
{
	struct watch *watch = qp->hooks.arg;

	if (side == CAIRN_RESP)
		watch->early += memcmp(watch->mb->shadow, watch->want, watch->len) != 0;
}

static void completions_follow_the_fence(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_IMM, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
		struct watch watched;

		persist_watch(&rig, &watched, 0, 500, 0);
		rig.b->hooks.cqe = look_at_shadow;
		rig_recv(&rig, 1, 1024);
		if (ops[i] != CAIRN_WQE_WRITE_IMM)
			rig_send(&rig, 1, CAIRN_WQE_WRITE, 500);
		rig_send(&rig, 2, ops[i], 500);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_eq(rig.a->cq[CAIRN_REQ].log[send_cqes(&rig) - 1].cqe.status, 0);
		ktap_ok(watched.answers && !watched.early);
		sim_end(rig.s);
	}
}

/* Two messages of one train: the first is written back, and the host is asked for
 * the second.
 */
static void the_host_is_asked_after_the_fence(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC), host = rig;
	struct watch watched;

	host.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL,
				    CAIRN_PERSIST_HOST);
	persist_watch(&rig, &watched, 0, 100, 0);
	rig.b->hooks.cqe = look_at_shadow;
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	persist_first(&host, 2, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(recv_cqe(rig.b, 0)->opcode, CAIRN_CQE_RECV_PERSIST);
	ktap_ok(watched.answers && !watched.early);
	sim_end(rig.s);
}

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
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
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
	ktap_ok(rig.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	ktap_eq(rig.b->c.resp.msn, 0);
	ktap_eq(rig.b->c.resp.epsn, psn_of(&rig, 1));
	rig_recv(&rig, 1, 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
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
	ktap_eq(persist_release(&rig, 3, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void nic_flush_behind_host_flush_waits(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig nic = rig;

	nic.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_NIC);
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
	ktap_eq(persist_release(&rig, 1, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
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
	rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
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
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
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
	u32 way;

	for (way = 0; way < 4; way++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

		rig_recv(&rig, 1, 0);
		rig_send(&rig, 1, way & 1 ? CAIRN_WQE_WRITE :
			 CAIRN_WQE_WRITE_PERSIST, 100);
		sim_run(rig.s, SIM_MS);
		rig.mb->valid = false;
		if (way & 2)
			sim_revoke(rig.b, rig.mb->key);
		ktap_eq(persist_release(&rig, 0, 0), -ENOENT);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
		sim_end(rig.s);
	}
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

/* In time, too late, never; a WRITE_PERSIST and a plain WRITE. */
static void a_region_limits_the_flush(void)
{
	static const u64 answers[] = { 4 * SIM_MS, 6 * SIM_MS, SIM_SEC };
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(answers); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		bool late = i / 2 > 0;

		rig.mb->flush_limit = 5 * SIM_MS;
		rig_recv(&rig, 1, 0);
		rig_send(&rig, 1, i % 2 ? CAIRN_WQE_WRITE :
			 CAIRN_WQE_WRITE_PERSIST, 100);
		sim_run(rig.s, answers[i / 2]);
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
	rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
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
	ktap_eq(persist_release(&rig, 1, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
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

		second.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL,
					     CAIRN_PERSIST_NIC);
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

/* Its answer leaves when the word is durable. */
static enum sim_fate atomic_emit(struct sim_qp *qp, enum cairn_side_id side,
				 const struct cairn_pkt *pkt)
{
	struct sim_mr *mr = qp->hooks.arg;

	if (pkt->op->kind == CAIRN_KIND_ATOMIC_ACK &&
	    memcmp(mr->shadow, mr->mem, 16))
		sim_fail(qp->s, "an atomic is answered that is not durable");
	return SIM_PASS;
}

static void atomics_are_durable(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u64 word = 40, sum;

	memcpy(rig.mb->mem, &word, sizeof(word));
	rig.b->hooks.arg = rig.mb;
	rig.b->hooks.emit = atomic_emit;
	rig_send(&rig, 1, CAIRN_WQE_FAA, 8);	/* adds 1 */
	rig_send(&rig, 2, CAIRN_WQE_FAA, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	memcpy(&sum, rig.mb->shadow, sizeof(sum));
	ktap_eq(sum, 42);
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
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

struct script {
	u8 opcode;
	u32 len, dma_len, off;
};

static void resp_get(struct rig *rig, u32 n, struct script script)
{
	struct cairn_pkt pkt = {
		.opcode = script.opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->b->c.qpn,
		.psn = psn_of(rig, n),
		.ack_req = true,
		.payload_len = script.len,
		.va = rig->mb->va + script.off,
		.rkey = rig->mb->key,
		.dma_len = script.dma_len,
	};

	sim_inject(rig->b, &pkt, rig->ma->mem + script.off);
	sim_run(rig->s, 2 * SIM_US);
}

static struct rig resp_scripted(enum cairn_persist how)
{
	struct rig rig = persist_rig(how);

	rig.s->dead[0] = true;
	return rig;
}

static void expect_answer(const struct rig *rig, u8 opcode, u32 n)
{
	const struct cairn_pkt *pkt = last_sent(rig->b);

	if (!pkt || pkt->opcode != opcode || pkt->psn != psn_of(rig, n) ||
	    pkt->syndrome & CAIRN_AETH_TYPE_MASK)
		ktap_fail("last answer is %02x syndrome %02x PSN %d, not %02x %u",
			  pkt ? pkt->opcode : 0, pkt ? pkt->syndrome : 0,
			  pkt ? cairn_psn_diff(pkt->psn, rig->a->psn) : 0, opcode, n);
}

#define WP_ONLY(l)	((struct script){ CAIRN_BTH_WRITE_PERSIST_ONLY, l, l })

static void duplicates_follow_the_watermark(void)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 3);
	resp_get(&rig, 0, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_ACK, 0);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_SEND_ONLY });
	resp_get(&rig, 2, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	rig.ma->mem[0] ^= 1;
	resp_get(&rig, 0, WP_ONLY(10));		/* not durable */
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	ktap_ok(rig.mb->mem[0] != rig.ma->mem[0]);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	ktap_eq(last_sent(rig.b)->msn, 1);
	resp_get(&rig, 2, WP_ONLY(10));		/* behind the watermark */
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_SEND_ONLY });
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	resp_get(&rig, 0, WP_ONLY(10));		/* covered */
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	ktap_ok(rig.mb->mem[0] != rig.ma->mem[0]);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 3);
	sim_end(rig.s);
}

/* The PSNs have been all around since then: the watermark lies between what waits now
 * and what is expected, and says nothing of it.
 */
static void watermark_of_a_former_lap(void)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_HOST);
	u32 acks;

	empty_recvs(rig.b, 1, 3);
	resp_get(&rig, 0, WP_ONLY(10));
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	acks = persist_acks(&rig);
	rig.b->c.resp.epsn = psn_of(&rig, -1);
	resp_get(&rig, -1, WP_ONLY(10));
	resp_get(&rig, 0, (struct script){ CAIRN_BTH_SEND_ONLY });
	expect_answer(&rig, CAIRN_BTH_ACK, 0);
	resp_get(&rig, -1, WP_ONLY(10));
	resp_get(&rig, -9, WP_ONLY(10));
	ktap_eq(persist_acks(&rig), acks);
	ktap_eq(persist_release(&rig, 1, 0), 0);
	sim_run(rig.s, SIM_MS);
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, -1);
	sim_end(rig.s);
}

static void duplicate_of_a_message_under_way(void)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_NIC);

	resp_get(&rig, 0, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&rig, CAIRN_BTH_ACK, 1);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&rig, CAIRN_BTH_ACK, 1);
	resp_get(&rig, 0, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	resp_get(&rig, 2, (struct script){ CAIRN_BTH_WRITE_PERSIST_LAST, PMTU });
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 2);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 2);
	sim_end(rig.s);
}

static void opcodes_do_not_mix(void)
{
	static const struct {
		struct script first, second;
	} bad[] = {
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_LAST, PMTU } },
		{ { CAIRN_BTH_WRITE_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_LAST, PMTU } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_ONLY, 10, 10 } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_LAST, 10 } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 3 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_MIDDLE, 10 } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rig rig = resp_scripted(CAIRN_PERSIST_NIC);

		resp_get(&rig, 0, bad[i].first);
		resp_get(&rig, 1, bad[i].second);
		ktap_eq(last_sent(rig.b)->syndrome,
			CAIRN_AETH_NAK | CAIRN_NAK_INVALID_REQUEST);
		ktap_eq(persist_acks(&rig), 0);
		sim_end(rig.s);
	}
}

/* A requester that completes by MSN must not complete an undurable message. */
static void msn_counts_what_is_acknowledged(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig second = rig;
	u32 i;

	second.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	empty_recvs(rig.b, 1, 1);
	rig_send(&second, 1, CAIRN_WQE_WRITE, 10);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 10);	/* waits for the host */
	rig_send(&second, 3, CAIRN_WQE_WRITE, 10);
	sim_run(rig.s, 50 * SIM_US);
	for (i = 0; i < rig.s->n_sent; i++)
		if (rig.s->sent[i].qp == rig.b)
			ktap_ok(rig.s->sent[i].pkt.msn <= 1);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(last_sent(rig.b)->msn, 3);
	sim_end(rig.s);
}

/* The ACK of an earlier request does not count the WRITE that waits behind it. */
static void msn_of_an_earlier_request(bool again)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_HOST);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.b->c.qpn,
		.psn = psn_of(&rig, 2),
		.payload_len = 10,
		.va = rig.mb->va,
		.rkey = rig.mb->key,
		.dma_len = 10,
	};

	empty_recvs(rig.b, 1, 3);
	resp_get(&rig, 0, (struct script){ CAIRN_BTH_SEND_ONLY });
	if (again) {
		/* a READ behind it bounds the ACK of the duplicate */
		resp_get(&rig, 1, (struct script){ CAIRN_BTH_READ_REQUEST, 0, 10 });
		sim_inject(rig.b, &pkt, rig.ma->mem);
		resp_get(&rig, 0, (struct script){ CAIRN_BTH_SEND_ONLY });
		expect_answer(&rig, CAIRN_BTH_ACK, 0);
		ktap_eq(last_sent(rig.b)->msn, 2);
	} else {
		/* one train: the WRITE asks for no ACK */
		struct cairn_pkt send = pkt;

		send.opcode = CAIRN_BTH_SEND_ONLY;
		send.psn = psn_of(&rig, 1);
		send.payload_len = 0;
		send.ack_req = true;
		sim_inject_part(rig.b, &send, NULL);
		sim_inject(rig.b, &pkt, rig.ma->mem);
		expect_answer(&rig, CAIRN_BTH_ACK, 1);
		ktap_eq(last_sent(rig.b)->msn, 2);
	}
	sim_end(rig.s);
}

static void msn_of_earlier_requests(void)
{
	msn_of_an_earlier_request(false);
	msn_of_an_earlier_request(true);
}

/* A failure is reported even if an invalidation ends in the same turn. */
static void failure_while_an_invalidation_waits(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	bool seen = false;

	attrs.timeout = 10;
	for (u64 seed = 1; seed < 40 && !seen; seed++) {
		struct pair pair = pair_with(seed, &sim_rc, &attrs);
		struct cairn_sge sge;
		struct sim_mr *inv;
		struct sim_wr wr;
		struct rig rig;
		u32 i;

		pair.s->record = true;
		rig = (struct rig){
			.s = pair.s, .a = pair.a, .b = pair.b,
			.ma = sim_mr(pair.s, 0, RIG_LEN, SIM_ALL),
			.mb = sim_mr_persistent(pair.s, 1, RIG_LEN, SIM_ALL,
						CAIRN_PERSIST_HOST),
		};
		inv = sim_mr(pair.s, 1, 4096, SIM_ALL);
		inv->remote_inv = true;
		empty_recvs(rig.b, 1, 1);
		rig_recv(&rig, 2, 100);
		persist_first(&rig, 1, 100);
		wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND_INV, 8);
		wr.wr_id = 2;
		wr.imm_or_key = inv->key;
		sim_post_send(rig.a, &wr);
		for (i = 0; i < 500 && !rig.b->c.resp.waits; i++)
			sim_run(rig.s, 100);
		if (rig.b->c.resp.waits) {
			seen = true;
			/* it is over, and no run has seen it */
			rig.s->now = rig.b->inval_end[CAIRN_RESP];
			ktap_eq(persist_release(&rig, 0, EIO), 0);
			ktap_ok(sim_run(rig.s, LONG_TIME));
			ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
			expect_cqe(rig.a, CAIRN_REQ, 0, 1,
				   CAIRN_CQE_REM_OP_ERR);
		}
		sim_end(rig.s);
	}
	ktap_ok(seen);
}

/* The last packet of a message never comes. */
static enum sim_fate word_lose_last(struct sim_qp *qp, enum cairn_side_id side,
				    const struct cairn_pkt *pkt)
{
	return side == CAIRN_REQ && pkt->op->flags & CAIRN_OP_LAST ? SIM_DROP :
								     SIM_PASS;
}

static bool word_is(const u8 *at, const u8 *old, const u8 *new)
{
	return !memcmp(at, old, 8) || !memcmp(at, new, 8);
}

/* Between the packets of a message no aligned word is half new, neither in memory
 * nor in what a power failure leaves.
 */
static void word_between_packets(enum cairn_persist how, u8 opcode, u32 off)
{
	struct rig rig = persist_rig(how);
	u32 at = ALIGN(off + PMTU, 8) - 8;
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, opcode, 3 * PMTU - 1);
	u8 old[RIG_LEN];

	memcpy(old, rig.mb->mem, RIG_LEN);
	empty_recvs(rig.b, 1, 1);
	rig.a->hooks.emit = word_lose_last;
	wr.wr_id = 1;
	sge.addr += off;
	wr.remote_addr += off;
	sim_post_send(rig.a, &wr);
	sim_run(rig.s, SIM_MS);
	ktap_ok(rig.b->c.resp.msg.received == 2 * PMTU);
	ktap_ok(word_is(rig.mb->mem + at, old + at, rig.ma->mem + at));
	ktap_ok(word_is(rig.mb->mem + at + PMTU, old + at + PMTU,
			rig.ma->mem + at + PMTU));
	ktap_ok(word_is(rig.mb->shadow + at + PMTU, old + at + PMTU,
			rig.ma->mem + at + PMTU));
	rig.a->hooks.emit = NULL;
	sim_run(rig.s, LONG_TIME);
	if (how == CAIRN_PERSIST_HOST)
		ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(!memcmp(rig.mb->mem, old, off));
	ktap_ok(is_durable(&rig, off, 3 * PMTU - 1));
	ktap_ok(!memcmp(rig.mb->mem + off + 3 * PMTU - 1,
			old + off + 3 * PMTU - 1, 64));
	sim_end(rig.s);
}

static void a_word_between_packets_is_whole(void)
{
	u32 off;

	for (off = 0; off < 16; off++) {
		word_between_packets(CAIRN_PERSIST_NIC,
				     CAIRN_WQE_WRITE_PERSIST, off);
		word_between_packets(CAIRN_PERSIST_NIC, CAIRN_WQE_WRITE, off);
		word_between_packets(CAIRN_PERSIST_HOST,
				     CAIRN_WQE_WRITE_PERSIST, off);
	}
}

/* A message that was given up leaves nothing to the next. */
static void a_held_word_dies_with_its_message(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u8 old[RIG_LEN];

	memcpy(old, rig.mb->mem, RIG_LEN);
	rig.a->hooks.emit = word_lose_last;
	persist_at(&rig, 1, 4, 2 * PMTU, 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.b->c.resp.persist.words.len, 4);
	rig.a->hooks.emit = NULL;
	sim_reset(rig.b);
	ktap_eq(rig.b->c.resp.persist.words.len, 0);
	ktap_ok(!memcmp(rig.mb->mem + PMTU, old + PMTU, 8));
	sim_end(rig.s);
}

/* Check the durability in the @n-th completion of the writer. */
static void expect_durability(const struct rig *rig, u32 n, u8 durability)
{
	if (ktap_ok(send_cqes(rig) > n))
		ktap_eq(rig->a->cq[CAIRN_REQ].log[n].cqe.durability, durability);
}

static void post_into(const struct rig *rig, struct sim_mr *mr, u64 id, u32 len)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE_PERSIST, len);

	wr.wr_id = id;
	wr.remote_addr = mr->va;
	wr.rkey = mr->key;
	sim_post_send(rig->a, &wr);
}

static void write_into(const struct rig *rig, struct sim_mr *mr, u64 id)
{
	post_into(rig, mr, id, 100);
	sim_run(rig->s, SIM_SEC);
}

/* Regions of several kinds on one connection, and an ACK that is lost: the next
 * one stands for it.
 */
static void answers_name_the_weakest(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct sim_mr *other = sim_mr_persistent(rig.s, 1, 4096, SIM_ALL,
						 CAIRN_PERSIST_NIC);
	struct watch watched;

	rig.mb->durability = CAIRN_DURABILITY_EADR;
	other->durability = CAIRN_DURABILITY_EMULATED;
	write_into(&rig, rig.mb, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_EADR);
	rig.mb->durability = CAIRN_DURABILITY_ADR;
	write_into(&rig, rig.mb, 2);
	expect_durability(&rig, 1, CAIRN_DURABILITY_ADR);
	rig.mb->durability = CAIRN_DURABILITY_EADR;
	persist_watch(&rig, &watched, 0, 0, 0);
	watched.drop = 1;
	post_into(&rig, other, 3, 100);
	post_into(&rig, rig.mb, 4, 100);
	sim_run(rig.s, SIM_SEC);
	ktap_eq(watched.drop, 0);
	expect_durability(&rig, 2, CAIRN_DURABILITY_EMULATED);
	expect_durability(&rig, 3, CAIRN_DURABILITY_EMULATED);
	sim_end(rig.s);
}

/* A peer that names the kind of one message only: the weakest one counts all the same. */
static void a_stronger_answer_changes_nothing(void)
{
	static const u8 kinds[] = { CAIRN_DURABILITY_EADR, CAIRN_DURABILITY_EMULATED,
				    CAIRN_DURABILITY_ADR };
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u32 n;

	rig.s->dead[1] = true;
	for (n = 0; n < ARRAY_SIZE(kinds); n++) {
		struct cairn_pkt answer = {
			.opcode = CAIRN_BTH_PERSIST_ACK,
			.pkey = CAIRN_PKEY_DEFAULT,
			.qpn = rig.a->c.qpn,
			.psn = psn_of(&rig, n),
			.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_VALUE_MASK,
			.msn = n + 1,
			.durability = kinds[n],
		};

		post_into(&rig, rig.mb, n, 100);
		sim_run(rig.s, SIM_US);
		sim_inject(rig.a, &answer, NULL);
		expect_durability(&rig, n, n ? CAIRN_DURABILITY_EMULATED : kinds[0]);
	}
	sim_end(rig.s);
}

/* Each kind with each length: one packet or many. */
static void every_length_names_its_kind(void)
{
	static const u32 lens[] = { 1, PMTU, PMTU + 1, 8 * PMTU, 40000 };
	enum cairn_durability kind;
	struct rig rig;
	u32 i;

	for (kind = CAIRN_DURABILITY_EADR; kind <= CAIRN_DURABILITY_EMULATED;
	     kind++) {
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			rig = persist_rig(cairn_persist_method(kind));
			rig.mb->durability = kind;
			empty_recvs(rig.b, 1, 1);
			post_into(&rig, rig.mb, 1, lens[i]);
			sim_run(rig.s, SIM_MS);
			if (kind == CAIRN_DURABILITY_HOST)
				ktap_eq(persist_release(&rig, 0, 0), 0);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_durability(&rig, 0, kind);
			sim_end(rig.s);
		}
	}
}

/* The answer that names the kind is lost, and the next is a failure. */
static void a_failure_names_the_kind(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *adr = sim_mr_persistent(rig.s, 1, 4096, SIM_ALL,
					       CAIRN_PERSIST_NIC);
	struct sim_mr *emulated = sim_mr_persistent(rig.s, 1, 4096, SIM_ALL,
						    CAIRN_PERSIST_NIC);
	struct watch watched;

	emulated->durability = CAIRN_DURABILITY_EMULATED;
	empty_recvs(rig.b, 1, 1);
	write_into(&rig, adr, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_ADR);
	persist_watch(&rig, &watched, 0, 0, 0);
	watched.drop = 1;
	post_into(&rig, emulated, 2, 100);
	post_into(&rig, rig.mb, 3, 100);
	sim_run(rig.s, 100 * SIM_US);
	ktap_eq(watched.drop, 0);
	ktap_eq(persist_release(&rig, 0, EIO), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
	expect_durability(&rig, 1, CAIRN_DURABILITY_EMULATED);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_REM_OP_ERR);
	expect_durability(&rig, 2, CAIRN_DURABILITY_UNKNOWN);
	sim_end(rig.s);
}

/* No byte, but a region: how does that become durable? */
static void persist_ask(const struct rig *rig, struct sim_mr *mr, u64 id)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE_PERSIST, 0);

	wr.wr_id = id;
	wr.remote_addr = mr ? mr->va : 0;
	wr.rkey = mr ? mr->key : 0;
	sim_post_send(rig->a, &wr);
	sim_run(rig->s, SIM_SEC);
}

static void empty_messages_ask(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *plain = sim_mr(rig.s, 1, 4096, SIM_ALL);

	persist_ask(&rig, NULL, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_UNKNOWN);
	/* no host flush is requested for an empty message */
	persist_ask(&rig, rig.mb, 2);
	expect_durability(&rig, 1, CAIRN_DURABILITY_HOST);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	persist_ask(&rig, plain, 3);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);

	rig = persist_rig(CAIRN_PERSIST_NIC);
	persist_ask(&rig, rig.mb, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_ADR);
	rig.mb->access &= ~(1 << CAIRN_ACCESS_REMOTE_WRITE);
	persist_ask(&rig, rig.mb, 2);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

/* A kind that this device does not know, as a later one may send. */
static void strange_durability_is_unknown(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.mb->durability = CAIRN_DURABILITY_EADR;
	write_into(&rig, rig.mb, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_EADR);
	rig.mb->durability = CAIRN_DURABILITY_EMULATED + 1;
	write_into(&rig, rig.mb, 2);
	expect_durability(&rig, 1, CAIRN_DURABILITY_UNKNOWN);
	sim_end(rig.s);
}

static void received_names_no_durability(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	empty_recvs(rig.a, 7, 1);
	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_durability(&rig, 0, CAIRN_DURABILITY_UNKNOWN);
	ktap_eq(recv_cqe(rig.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
	ktap_eq(recv_cqe(rig.a, 0)->durability, CAIRN_DURABILITY_ADR);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(every_packet_of_a_message),
	KTAP(ordinary_memory_is_refused),
	KTAP(rights_count),
	KTAP(plain_write_is_persisted_too),
	KTAP(completions_follow_the_fence),
	KTAP(the_host_is_asked_after_the_fence),
	KTAP(the_host_is_asked),
	KTAP(no_receive_no_message),
	KTAP(the_watermark_keeps_the_order),
	KTAP(nic_flush_behind_host_flush_waits),
	KTAP(tokens_are_bounded),
	KTAP(no_memory_is_not_ready),
	KTAP(tokens_are_good_once),
	KTAP(tokens_do_not_come_again),
	KTAP(tokens_die_with_the_region),
	KTAP(tokens_die_with_the_queue_pair),
	KTAP(a_region_limits_the_flush),
	KTAP(a_late_flush_waits_for_its_turn),
	KTAP(a_reset_forgets_tokens),
	KTAP(answers_wait_for_a_plain_write),
	KTAP(a_repeated_plain_write_is_held),
	KTAP(a_held_write_is_acknowledged_when_durable),
	KTAP(naks_do_not_pass_a_plain_write),
	KTAP(a_failed_plain_write_is_naked),
	KTAP(atomics_are_durable),
	KTAP(write_with_immediate_and_host_flush),
	KTAP(duplicates_follow_the_watermark),
	KTAP(watermark_of_a_former_lap),
	KTAP(duplicate_of_a_message_under_way),
	KTAP(opcodes_do_not_mix),
	KTAP(msn_counts_what_is_acknowledged),
	KTAP(msn_of_earlier_requests),
	KTAP(failure_while_an_invalidation_waits),
	KTAP(a_word_between_packets_is_whole),
	KTAP(a_held_word_dies_with_its_message),
	KTAP(answers_name_the_weakest),
	KTAP(a_stronger_answer_changes_nothing),
	KTAP(every_length_names_its_kind),
	KTAP(a_failure_names_the_kind),
	KTAP(empty_messages_ask),
	KTAP(strange_durability_is_unknown),
	KTAP(received_names_no_durability),
};

KTAP_MAIN(tests)
