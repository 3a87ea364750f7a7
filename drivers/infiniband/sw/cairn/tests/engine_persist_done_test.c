// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * PERSIST_DONE: the target's answer to a host flush as a work request of its send queue.
 */
#include <errno.h>
#include "persist.h"

#define MOST	CAIRN_MAX_PERSIST_DONES

static struct sim_qp_init done_init(void)
{
	struct sim_qp_init init = sim_rc;

	init.sq_depth = 1024;
	init.rq_depth = 256;
	init.max_inline = CAIRN_MAX_INLINE;
	init.sig_all = false;
	return init;
}

static struct rig done_rig(u64 seed)
{
	struct sim_qp_init init = done_init();
	struct rig rig = rig_with(seed, &init, &sim_attrs);

	rig.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	return rig;
}

/* Queue an answer in the send queue of @qp, without a doorbell. */
static void done_queue(struct sim_qp *qp, u64 id, const u64 *tokens, u32 num, u32 status,
		       u8 flags)
{
	struct sim_wr wr = {
		.wr_id = id,
		.opcode = CAIRN_WQE_PERSIST_DONE,
		.flags = CAIRN_WQE_SIGNALED | CAIRN_WQE_INLINE | flags,
		.imm_or_key = status,
		.inl = tokens,
		.inline_len = num * sizeof(*tokens),
	};

	ktap_ok(sim_queue_send(qp, &wr));
}

static void done_post(struct sim_qp *qp, u64 id, const u64 *tokens, u32 num, u32 status)
{
	done_queue(qp, id, tokens, num, status, 0);
	sim_doorbell(qp);
}

/* The program at b has made the range of its @n-th receive durable. Return: its token. */
static u64 done_flush(const struct rig *rig, u32 n)
{
	const struct cairn_cqe *cqe = recv_cqe(rig->b, n);

	ktap_eq(cqe->opcode, CAIRN_CQE_RECV_PERSIST);
	sim_make_durable(rig->s, rig->mb, cqe->persist_va - rig->mb->va, cqe->byte_len);
	return cqe->persist_token;
}

/* 64 messages, one flush, one work request, and one acknowledgement. */
static void group_commit(void)
{
	struct rig rig = done_rig(1);
	u64 tokens[MOST];
	u32 i, acks;

	empty_recvs(rig.b, 0, MOST);
	for (i = 0; i < MOST; i++)
		persist_at(&rig, i, i * 64, 64, 0);
	sim_run(rig.s, 10 * SIM_MS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, MOST);
	for (i = 0; i < MOST; i++)
		tokens[i] = done_flush(&rig, i);
	ktap_eq(send_cqes(&rig), 0);
	acks = persist_acks(&rig);
	done_post(rig.b, 7, tokens, MOST, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, MOST - 1, CAIRN_CQE_SUCCESS);
	ktap_eq(persist_acks(&rig), acks + 1);
	ktap_eq(rig.b->cq[CAIRN_REQ].n, 1);
	expect_cqe(rig.b, CAIRN_REQ, 0, 7, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_REQ].log[0].cqe.opcode, CAIRN_CQE_PERSIST_DONE);
	ktap_ok(is_durable(&rig, 0, MOST * 64));
	sim_end(rig.s);
}

/* The status of the request is that of all its messages. */
static void failure(void)
{
	struct rig rig = done_rig(1);
	u64 tokens[2];

	empty_recvs(rig.b, 0, 3);
	persist_at(&rig, 0, 0, 64, 0);
	persist_at(&rig, 1, 64, 64, 0);
	persist_at(&rig, 2, 128, 64, 0);
	sim_run(rig.s, SIM_MS);
	tokens[0] = done_flush(&rig, 0);
	done_post(rig.b, 7, tokens, 1, 0);
	tokens[0] = recv_cqe(rig.b, 1)->persist_token;
	tokens[1] = recv_cqe(rig.b, 2)->persist_token;
	done_post(rig.b, 8, tokens, 2, EIO);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.b, CAIRN_REQ, 0, 7, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_REQ, 1, 8, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 1, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 2, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

/* Answers stand in the send queue among other requests. Packets of these are lost and sent
 * again; an answer is executed once, for the second time it would be refused.
 */
static void executed_once(void)
{
	for_seeds(seed, 20) {
		struct rig rig = done_rig(seed), back = rig;
		struct cairn_sge sge;
		struct sim_wr wr;
		u64 token;
		u32 i;

		back.a = rig.b;
		back.ma = rig.mb;
		back.mb = rig.ma;
		rig.s->faults.loss = 200;
		empty_recvs(rig.b, 0, 16);
		for (i = 0; i < 16; i++)
			persist_at(&rig, i, i * 64, 64, 0);
		for (i = 0; i < 100 && rig.b->cq[CAIRN_RESP].n < 16; i++)
			sim_run(rig.s, SIM_SEC);
		for (i = 0; i < 16; i++) {
			wr = rig_wr(&back, &sge, i & 1 ? CAIRN_WQE_READ : CAIRN_WQE_WRITE, 3000);
			wr.wr_id = 2 * i;
			ktap_ok(sim_queue_send(rig.b, &wr));
			token = done_flush(&rig, i);
			done_queue(rig.b, 2 * i + 1, &token, 1, 0, 0);
		}
		sim_doorbell(rig.b);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqes(rig.b, CAIRN_REQ, 0, 0, 31, CAIRN_CQE_SUCCESS);
		expect_cqes(rig.a, CAIRN_REQ, 0, 0, 15, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* The middle of a chain: what came is passed on, and with a fence answered by the device
 * when the next hop has it.
 */
static void fence_waits_for_the_next_hop(void)
{
	struct sim_qp_init init = done_init();
	u32 fence;

	for (fence = 0; fence < 2; fence++) {
		struct rig rig = done_rig(1);
		struct sim_qp *next = sim_qp(rig.s, 1, &init), *end = sim_qp(rig.s, 2, &init);
		struct sim_mr *last = sim_mr_persistent(rig.s, 2, RIG_LEN, SIM_ALL,
							CAIRN_PERSIST_HOST);
		struct cairn_sge sge = sim_sge(rig.mb, 0, 3000);
		struct sim_wr wr = {
			.wr_id = 1, .opcode = CAIRN_WQE_WRITE_PERSIST,
			.flags = CAIRN_WQE_SIGNALED, .sge = &sge, .num_sge = 1,
			.remote_addr = last->va, .rkey = last->key,
		};
		const struct cairn_cqe *cqe;
		u64 token;

		sim_connect(next, end, &sim_attrs);
		empty_recvs(rig.b, 0, 1);
		empty_recvs(end, 0, 1);
		persist_first(&rig, 5, 3000);
		sim_run(rig.s, SIM_MS);
		token = done_flush(&rig, 0);
		ktap_ok(sim_queue_send(next, &wr));
		done_queue(next, 2, &token, 1, 0, fence ? CAIRN_WQE_FENCE : 0);
		sim_doorbell(next);
		sim_run(rig.s, SIM_MS);
		ktap_eq(send_cqes(&rig), !fence);
		cqe = recv_cqe(end, 0);
		sim_make_durable(rig.s, last, 0, 3000);
		ktap_eq(sim_release(end, cqe->persist_token, 0), 0);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(next, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_cqe(next, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 0, 5, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* The next hop fails: what waits behind the fence is not answered. */
static void fence_and_a_failure(void)
{
	struct sim_qp_init init = done_init();
	struct rig rig = done_rig(1);
	struct sim_qp *next = sim_qp(rig.s, 1, &init), *end = sim_qp(rig.s, 2, &init);
	struct sim_mr *last = sim_mr_persistent(rig.s, 2, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
	struct cairn_sge sge = sim_sge(rig.mb, 0, 100);
	struct sim_wr wr = {
		.wr_id = 1, .opcode = CAIRN_WQE_WRITE_PERSIST, .flags = CAIRN_WQE_SIGNALED,
		.sge = &sge, .num_sge = 1, .remote_addr = last->va, .rkey = last->key,
	};
	u64 token;

	sim_connect(next, end, &sim_attrs);
	empty_recvs(rig.b, 0, 1);
	empty_recvs(end, 0, 1);
	persist_first(&rig, 5, 100);
	sim_run(rig.s, SIM_MS);
	token = done_flush(&rig, 0);
	ktap_ok(sim_queue_send(next, &wr));
	done_queue(next, 2, &token, 1, 0, CAIRN_WQE_FENCE);
	sim_doorbell(next);
	sim_run(rig.s, SIM_MS);
	ktap_eq(sim_release(end, recv_cqe(end, 0)->persist_token, EIO), 0);
	sim_run(rig.s, SIM_SEC);
	expect_cqe(next, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(next, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(send_cqes(&rig), 0);
	/* the token is as good as before */
	ktap_eq(sim_release(rig.b, token, EIO), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 5, CAIRN_CQE_REM_OP_ERR);
	sim_end(rig.s);
}

/* Tokens that are not outstanding: those beside them are taken, the request fails. */
static void wrong_tokens(void)
{
	u32 i;

	for (i = 0; i < 5; i++) {
		struct rig rig = done_rig(1);
		u64 tokens[3];

		empty_recvs(rig.b, 0, 2);
		persist_at(&rig, 0, 0, 64, 0);
		persist_at(&rig, 1, 64, 64, 0);
		sim_run(rig.s, SIM_MS);
		tokens[0] = done_flush(&rig, 0);
		tokens[2] = done_flush(&rig, 1);
		tokens[1] = i == 0 ? 0 :
			    i == 1 ? tokens[0] :			/* used */
			    i == 2 ? tokens[0] ^ 1ULL << 40 :		/* guessed */
			    i == 3 ? tokens[0] ^ 1 :
			    (tokens[0] & ~0xffffff00ULL) |
			    (u64)rig.a->c.qpn << 8;			/* of another host */
		done_post(rig.b, 7, tokens, 3, 0);
		done_post(rig.b, 8, tokens, 1, 0);
		/* what was answered before the queue pair failed may be told or not */
		sim_run(rig.s, SIM_MS);
		expect_cqe(rig.b, CAIRN_REQ, 0, 7, CAIRN_CQE_LOC_PROT_ERR);
		ktap_eq(rig.b->cq[CAIRN_REQ].log[0].cqe.vendor_err, ENOENT);
		expect_cqe(rig.b, CAIRN_REQ, 1, 8, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
		sim_end(rig.s);
	}
}

/* On a queue pair of its own a wrong token ends that one, and the others are answered. */
static void wrong_token_beside(void)
{
	struct sim_qp_init init = done_init();
	struct rig rig = done_rig(1);
	struct sim_qp *beside = sim_qp(rig.s, 1, &init), *peer = sim_qp(rig.s, 2, &init);
	u64 tokens[3];

	sim_connect(beside, peer, &sim_attrs);
	empty_recvs(rig.b, 0, 2);
	persist_at(&rig, 0, 0, 64, 0);
	persist_at(&rig, 1, 64, 64, 0);
	sim_run(rig.s, SIM_MS);
	tokens[0] = done_flush(&rig, 0);
	tokens[1] = 0x1234567890ULL;
	tokens[2] = done_flush(&rig, 1);
	done_post(beside, 7, tokens, 3, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(beside, CAIRN_REQ, 0, 7, CAIRN_CQE_LOC_PROT_ERR);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* The region has gone: the answer comes too late. */
static void late(void)
{
	struct rig rig = done_rig(1);
	u64 token;

	empty_recvs(rig.b, 0, 1);
	persist_first(&rig, 1, 64);
	sim_run(rig.s, SIM_MS);
	token = done_flush(&rig, 0);
	rig.mb->valid = false;
	done_post(rig.b, 7, &token, 1, 0);
	sim_run(rig.s, LONG_TIME);
	expect_cqe(rig.b, CAIRN_REQ, 0, 7, CAIRN_CQE_LOC_PROT_ERR);
	ktap_ok(send_cqes(&rig) && rig.a->cq[CAIRN_REQ].log[0].cqe.status);
	sim_end(rig.s);
}

/* Work requests that violate the ABI answer nothing. */
static void malformed(void)
{
	static const struct {
		u32 len;
		u8 flags, num_sge, units;
		u64 addr;
		u32 rkey;
		u8 status;
	} bad[] = {
		{ 0, CAIRN_WQE_INLINE, .status = CAIRN_CQE_LOC_LEN_ERR },
		{ 7, CAIRN_WQE_INLINE, .status = CAIRN_CQE_LOC_LEN_ERR },
		{ 12, CAIRN_WQE_INLINE, .status = CAIRN_CQE_LOC_LEN_ERR },
		{ 40, CAIRN_WQE_INLINE, .units = 1, .status = CAIRN_CQE_LOC_LEN_ERR },
		{ 520, CAIRN_WQE_INLINE, .units = 9, .status = CAIRN_CQE_LOC_LEN_ERR },
		{ ~7u, CAIRN_WQE_INLINE, .status = CAIRN_CQE_LOC_LEN_ERR },
		{ 8, 0, .status = CAIRN_CQE_LOC_QP_OP_ERR },
		{ 8, CAIRN_WQE_INLINE, .num_sge = 1, .status = CAIRN_CQE_LOC_QP_OP_ERR },
		{ 8, CAIRN_WQE_INLINE, .addr = 1, .status = CAIRN_CQE_LOC_QP_OP_ERR },
		{ 8, CAIRN_WQE_INLINE, .rkey = 1, .status = CAIRN_CQE_LOC_QP_OP_ERR },
		{ 8, CAIRN_WQE_INLINE | CAIRN_WQE_EARLY, .status = CAIRN_CQE_LOC_QP_OP_ERR },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rig rig = done_rig(1);
		struct cairn_send_wqe *wqe;
		u64 token;

		empty_recvs(rig.b, 0, 1);
		persist_first(&rig, 1, 64);
		sim_run(rig.s, SIM_MS);
		token = done_flush(&rig, 0);
		wqe = (void *)sim_unit(rig.b->sq, rig.b->c.sq_depth, rig.b->sq_tail);
		*wqe = (struct cairn_send_wqe){
			.wr_id = 7, .opcode = CAIRN_WQE_PERSIST_DONE,
			.flags = bad[i].flags | CAIRN_WQE_SIGNALED,
			.num_sge = bad[i].num_sge, .units = bad[i].units ?: 1,
			.remote_addr = bad[i].addr, .rkey = bad[i].rkey,
			.inline_len = bad[i].len,
		};
		memcpy(wqe->inline_data, &token, sizeof(token));
		rig.b->sq_tail += wqe->units;
		sim_doorbell(rig.b);
		sim_run(rig.s, SIM_MS);
		expect_cqe(rig.b, CAIRN_REQ, 0, 7, bad[i].status);
		ktap_eq(send_cqes(&rig), 0);
		if (ktap.failures)
			ktap_diag("request %u", i);
		sim_end(rig.s);
	}
}

/* A queue for short requests has room for four tokens. */
static void short_requests(void)
{
	struct sim_qp_init init = done_init();
	struct rig rig;
	u64 tokens[4];
	u32 i;

	init.max_inline = 0;
	init.max_sge = 1;
	rig = rig_with(1, &init, &sim_attrs);
	rig.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	empty_recvs(rig.b, 0, 4);
	for (i = 0; i < 4; i++)
		persist_at(&rig, i, i * 64, 64, 0);
	sim_run(rig.s, SIM_MS);
	for (i = 0; i < 4; i++)
		tokens[i] = done_flush(&rig, i);
	done_post(rig.b, 7, tokens, 4, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.b, CAIRN_REQ, 0, 7, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 3, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* Other transports have no durable messages to answer. */
static void other_transports(void)
{
	static const struct sim_qp_init *const inits[] = { &sim_uc, &sim_ud };
	u64 token = 1;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(inits); i++) {
		struct rig rig = rig_with(1, inits[i], &sim_attrs);

		done_post(rig.b, 7, &token, 1, 0);
		sim_run(rig.s, SIM_MS);
		expect_cqe(rig.b, CAIRN_REQ, 0, 7, CAIRN_CQE_LOC_QP_OP_ERR);
		sim_end(rig.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(group_commit),
	KTAP(failure),
	KTAP(executed_once),
	KTAP(fence_waits_for_the_next_hop),
	KTAP(fence_and_a_failure),
	KTAP(wrong_tokens),
	KTAP(wrong_token_beside),
	KTAP(late),
	KTAP(malformed),
	KTAP(short_requests),
	KTAP(other_transports),
};

KTAP_MAIN(tests)
