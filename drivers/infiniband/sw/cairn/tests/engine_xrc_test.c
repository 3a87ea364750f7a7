// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC: an initiator at host 0, its target at host 1, which has SRQs in different
 * protection domains. A request may access the memory of its SRQ's domain only.
 */
#include "engine.h"

#define SRQS	2
#define LEN	65536
#define PD(n)	(100 + (n))

struct xrc {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *ma;
	struct sim_mr *mb[SRQS];	/* of the domain of each SRQ */
	struct sim_rq *rq[SRQS];
};

static struct xrc xrc_new(u64 seed)
{
	struct xrc xrc = { .s = sim_new(seed) };
	u32 i;

	xrc.a = sim_qp(xrc.s, 0, &sim_xrc_ini);
	xrc.b = sim_qp(xrc.s, 1, &sim_xrc_tgt);
	xrc.ma = sim_mr(xrc.s, 0, LEN, SIM_ALL);
	for (i = 0; i < SRQS; i++) {
		xrc.rq[i] = sim_rq(64, 1, 0);
		xrc.s->host[1].xsrq[i] = (struct sim_xsrq){ xrc.rq[i], PD(i) };
		xrc.mb[i] = sim_mr(xrc.s, 1, LEN, SIM_ALL);
		xrc.mb[i]->pd = PD(i);
	}
	xrc.s->record = true;
	sim_connect(xrc.a, xrc.b, &sim_attrs);
	return xrc;
}

static void xrc_end(struct xrc *xrc)
{
	u32 i;

	sim_end(xrc->s);
	for (i = 0; i < SRQS; i++)
		sim_rq_free(xrc->rq[i]);
}

static void xrc_recv(struct xrc *xrc, u32 srq, u64 wr_id, u32 off, u32 len)
{
	struct cairn_sge sge = sim_sge(xrc->mb[srq], off, len);

	ktap_ok(sim_queue_recv(xrc->rq[srq], wr_id, &sge, 1));
}

/* @len bytes at @from of the initiator's memory, at @to of the target's. */
static void xrc_send(struct xrc *xrc, u32 srq, u64 wr_id, u8 opcode, u32 from,
		     u32 to, u32 len)
{
	struct cairn_sge sge = sim_sge(xrc->ma, from, len);
	struct sim_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = CAIRN_WQE_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.remote_addr = xrc->mb[srq]->va + to,
		.rkey = xrc->mb[srq]->key,
		.imm_or_key = 0x11223344,
		.compare_add = 5,
		.srqn = srq + 1,
	};

	sim_post_send(xrc->a, &wr);
}

static void xrc_run(struct xrc *xrc)
{
	ktap_ok(sim_run(xrc->s, 100 * SIM_SEC));
}

/* Every request carries the number, and all packets are of the class. */
static void check_headers(struct xrc *xrc, u32 srqn)
{
	u32 i;

	for (i = 0; i < xrc->s->n_sent; i++) {
		const struct sim_sent *sent = &xrc->s->sent[i];

		ktap_eq(sent->pkt.opcode & 0xe0, 0xa0);
		if (sent->qp == xrc->a)
			ktap_eq(sent->pkt.srqn, srqn);
		ktap_eq(sent->side, sent->qp == xrc->a ? CAIRN_REQ : CAIRN_RESP);
	}
}

static void all_operations(u32 srq)
{
	struct xrc xrc = xrc_new(srq + 1);
	u8 *from = xrc.ma->mem, *to = xrc.mb[srq]->mem;
	u64 word, orig;

	memcpy(&word, to + 20000, 8);
	xrc_recv(&xrc, srq, 11, 0, 5000);
	xrc_recv(&xrc, srq, 12, 5000, 100);
	xrc_recv(&xrc, srq, 13, 0, 0);
	xrc_send(&xrc, srq, 1, CAIRN_WQE_SEND, 0, 0, 4500);
	xrc_send(&xrc, srq, 2, CAIRN_WQE_SEND_IMM, 5000, 0, 100);
	xrc_send(&xrc, srq, 3, CAIRN_WQE_WRITE, 10000, 10000, 3000);
	xrc_send(&xrc, srq, 4, CAIRN_WQE_WRITE_IMM, 14000, 14000, 17);
	xrc_send(&xrc, srq, 5, CAIRN_WQE_READ, 30000, 30000, 7001);
	xrc_send(&xrc, srq, 6, CAIRN_WQE_FAA, 40000, 20000, 8);
	xrc_send(&xrc, srq, 7, CAIRN_WQE_ATOMIC_WRITE, 41000, 20008, 8);
	xrc_run(&xrc);
	expect_cqes(xrc.a, CAIRN_REQ, 0, 1, 7, CAIRN_CQE_SUCCESS);
	expect_cqes(xrc.b, CAIRN_RESP, 0, 11, 13, CAIRN_CQE_SUCCESS);
	ktap_eq(xrc.b->cq[CAIRN_RESP].log[1].cqe.imm_or_key, 0x11223344);
	ktap_eq(xrc.b->cq[CAIRN_RESP].log[2].cqe.opcode, CAIRN_CQE_RECV_IMM);
	ktap_eq(xrc.b->cq[CAIRN_RESP].log[2].cqe.qpn, xrc.b->c.qpn);
	ktap_mem_eq(to, from, 4500);
	ktap_mem_eq(to + 5000, from + 5000, 100);
	ktap_mem_eq(to + 10000, from + 10000, 3000);
	ktap_mem_eq(to + 14000, from + 14000, 17);
	ktap_mem_eq(from + 30000, to + 30000, 7001);
	memcpy(&orig, from + 40000, 8);
	ktap_eq(orig, word);
	memcpy(&orig, to + 20000, 8);
	ktap_eq(orig, word + 5);
	ktap_mem_eq(to + 20008, from + 41000, 8);
	check_headers(&xrc, srq + 1);
	xrc_end(&xrc);
}

static void operations_go_to_their_srq(void)
{
	all_operations(0);
	all_operations(1);
}

static void inline_data_shares_its_word(void)
{
	struct xrc xrc = xrc_new(1);
	char data[CAIRN_XRC_INLINE_MASK];
	struct sim_wr wr = {
		.opcode = CAIRN_WQE_SEND,
		.flags = CAIRN_WQE_SIGNALED | CAIRN_WQE_INLINE,
		.inl = data,
		.inline_len = sizeof(data),
		.srqn = 2,
	};

	memset(data, 'x', sizeof(data));
	xrc_recv(&xrc, 1, 11, 0, 1000);
	sim_post_send(xrc.a, &wr);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	expect_cqe(xrc.b, CAIRN_RESP, 0, 11, CAIRN_CQE_SUCCESS);
	ktap_eq(xrc.b->cq[CAIRN_RESP].log[0].cqe.byte_len, sizeof(data));
	ktap_mem_eq(xrc.mb[1]->mem, data, sizeof(data));
	xrc_end(&xrc);
}

/* Messages to both SRQs in turn, with losses: each gets its own, in order. */
static void srqs_share_a_connection(void)
{
	for_seeds(seed, 60) {
		struct xrc xrc = xrc_new(seed);
		u32 i, len[SRQS][20], off[SRQS] = { 0 }, n[SRQS] = { 0 };
		u32 from = 0;
		u8 want[SRQS][LEN];

		xrc.s->faults = (struct sim_faults){
			.loss = 60, .dup = 40, .late = 60, .late_ns = 200000,
		};
		for (i = 0; i < 40; i++)
			xrc_recv(&xrc, i % SRQS, 100 + i, i / SRQS * 3000, 3000);
		for (i = 0; i < 20; i++) {
			u32 srq = sim_below(&xrc.s->rand, SRQS);
			u32 l = sim_below(&xrc.s->rand, 3001);

			memcpy(want[srq] + n[srq] * 3000, xrc.ma->mem + from, l);
			len[srq][n[srq]++] = l;
			xrc_send(&xrc, srq, i, CAIRN_WQE_SEND, from, 0, l);
			from += l;
			if (i % 3 == 2)
				xrc_send(&xrc, srq, i, CAIRN_WQE_READ, LEN - 2500,
					 LEN - 2500, 2500);
		}
		xrc_run(&xrc);
		for (i = 0; i < xrc.a->cq[CAIRN_REQ].n; i++)
			ktap_eq(xrc.a->cq[CAIRN_REQ].log[i].cqe.status, 0);
		ktap_eq(xrc.b->cq[CAIRN_RESP].n, 20);
		for (i = 0; i < SRQS; i++)
			for (off[i] = 0; off[i] < n[i]; off[i]++)
				ktap_mem_eq(xrc.mb[i]->mem + off[i] * 3000,
					    want[i] + off[i] * 3000,
					    len[i][off[i]]);
		xrc_end(&xrc);
	}
}

/* The key is of the domain of another SRQ than the request is for. */
static void keys_are_of_the_srqs_domain(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_READ,
				  CAIRN_WQE_FAA, CAIRN_WQE_ATOMIC_WRITE };
	u8 before[LEN];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct xrc xrc = xrc_new(1);

		memcpy(before, xrc.mb[1]->mem, LEN);
		xrc.mb[0]->pd = PD(1);
		xrc_send(&xrc, 0, 1, ops[i], 0, 0, 8);
		xrc_run(&xrc);
		expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
		ktap_eq(sim_async_count(xrc.b, CAIRN_ASYNC_QP_ACCESS_ERR), 1);
		ktap_mem_eq(xrc.mb[1]->mem, before, LEN);
		xrc_end(&xrc);
	}
}

static void receives_are_of_the_srqs_domain(void)
{
	struct xrc xrc = xrc_new(1);

	xrc_recv(&xrc, 0, 11, 0, 100);
	xrc.mb[0]->pd = PD(1);
	xrc_send(&xrc, 0, 1, CAIRN_WQE_SEND, 0, 0, 8);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(xrc.b, CAIRN_RESP, 0, 11, CAIRN_CQE_LOC_PROT_ERR);
	xrc_end(&xrc);
}

static void unknown_srq(void)
{
	static const u8 ops[] = { CAIRN_WQE_SEND, CAIRN_WQE_WRITE,
				  CAIRN_WQE_READ, CAIRN_WQE_FAA };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct xrc xrc = xrc_new(1);

		xrc_recv(&xrc, 0, 11, 0, 100);
		xrc_recv(&xrc, 1, 12, 0, 100);
		xrc.s->host[1].xsrq[0].rq = NULL;
		xrc_send(&xrc, 0, 1, ops[i], 0, 0, 8);
		xrc_send(&xrc, 1, 2, CAIRN_WQE_SEND, 0, 0, 8);
		xrc_run(&xrc);
		expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_INV_REQ_ERR);
		expect_cqe(xrc.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(sim_async_count(xrc.b, CAIRN_ASYNC_QP_REQ_ERR), 1);
		ktap_eq(sim_async_count(xrc.b, CAIRN_ASYNC_LAST_WQE_REACHED), 0);
		ktap_eq(xrc.b->count[CAIRN_CTR_RX_NO_SRQ], 1);
		ktap_eq(xrc.b->cq[CAIRN_RESP].n, 0);
		ktap_eq(xrc.rq[1]->head, 0);
		xrc_end(&xrc);
	}
}

/* The SRQ goes when a part of a message has arrived: its receive goes with it. */
static void drop_srq(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	if (pkt->op->kind == CAIRN_KIND_SEND && !(pkt->op->flags & CAIRN_OP_FIRST))
		qp->s->host[1].xsrq[0].rq = NULL;
}

static void srq_goes_within_a_message(void)
{
	struct xrc xrc = xrc_new(1);

	xrc.b->hooks.rx = drop_srq;
	xrc_recv(&xrc, 0, 11, 0, 10000);
	xrc_send(&xrc, 0, 1, CAIRN_WQE_SEND, 0, 0, 9000);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_INV_REQ_ERR);
	ktap_eq(xrc.rq[0]->head, 1);
	ktap_eq(xrc.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(xrc.b->c.state, CAIRN_QP_ERR);
	ktap_ok(!xrc.b->c.resp.recv.valid);
	xrc_end(&xrc);
}

/* A receive that a message has begun to fill is flushed to its own SRQ's queue. */
static void receive_in_hand_is_flushed(void)
{
	struct xrc xrc = xrc_new(1);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_XRC | CAIRN_BTH_SEND_FIRST,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = xrc.b->c.qpn,
		.psn = xrc.a->psn,
		.srqn = 2,
		.payload_len = 1024,
	};
	u8 payload[1024] = { 0 };

	xrc_recv(&xrc, 1, 11, 0, 10000);
	sim_run(xrc.s, SIM_MS);
	sim_inject(xrc.b, &pkt, payload);
	ktap_ok(xrc.b->c.resp.recv.valid);
	sim_modify(xrc.b, CAIRN_QP_ERR);
	xrc_run(&xrc);
	expect_cqe(xrc.b, CAIRN_RESP, 0, 11, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(sim_async_count(xrc.b, CAIRN_ASYNC_LAST_WQE_REACHED), 0);
	xrc_end(&xrc);
}

static void message_keeps_its_srq(void)
{
	struct xrc xrc = xrc_new(1);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_XRC | CAIRN_BTH_SEND_FIRST,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = xrc.b->c.qpn,
		.psn = xrc.a->psn,
		.srqn = 2,
		.payload_len = 1024,
	};
	u8 payload[1024] = { 0 };

	xrc_recv(&xrc, 0, 10, 0, 10000);
	xrc_recv(&xrc, 1, 11, 0, 10000);
	sim_run(xrc.s, SIM_MS);
	sim_inject(xrc.b, &pkt, payload);
	pkt.opcode = CAIRN_BTH_XRC | CAIRN_BTH_SEND_LAST;
	pkt.psn = cairn_psn_add(pkt.psn, 1);
	pkt.srqn = 1;
	sim_inject(xrc.b, &pkt, payload);
	xrc_run(&xrc);
	ktap_eq(sim_async_count(xrc.b, CAIRN_ASYNC_QP_REQ_ERR), 1);
	expect_cqe(xrc.b, CAIRN_RESP, 0, 11, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(xrc.rq[0]->head, 0);
	xrc_end(&xrc);
}

/*
 * A forged request is kept ahead of the expected PSN and is not valid when its turn
 * comes. The connection continues whatever SRQ it names and whatever that SRQ has.
 */
static void refused_ahead(u32 srqn, u8 opcode, u32 len, u32 recvs)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct xrc xrc = xrc_new(1);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_XRC | opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = xrc.b->c.qpn,
		.srqn = srqn,
		.payload_len = len,
		.dma_len = len,
		.ack_req = true,
	};
	u8 payload[1024] = { 0 };
	u64 id;

	attrs.rnr_retry = 0;
	sim_connect(xrc.a, xrc.b, &attrs);
	pkt.psn = cairn_psn_add(xrc.a->psn, 2);
	for (id = 10; id < 15; id++)
		xrc_recv(&xrc, 0, id, 0, 100);
	for (id = 0; id < recvs; id++)
		xrc_recv(&xrc, 1, 20 + id, 0, 8);
	xrc_send(&xrc, 0, 0, CAIRN_WQE_SEND, 0, 0, 8);
	sim_run(xrc.s, SIM_MS);
	sim_inject_from(xrc.b, SIM_SPORT, &pkt, payload);
	sim_run(xrc.s, 100 * SIM_US);
	ktap_ok(xrc.b->held);
	for (id = 1; id < 5; id++) {
		xrc_send(&xrc, 0, id, CAIRN_WQE_SEND, 0, 0, 8);
		sim_run(xrc.s, SIM_MS);
	}
	xrc_run(&xrc);
	expect_cqes(xrc.a, CAIRN_REQ, 0, 0, 4, CAIRN_CQE_SUCCESS);
	ktap_eq(xrc.b->c.state, CAIRN_QP_RTS);
	ktap_eq(xrc.b->count[CAIRN_CTR_RX_HELD_REFUSED], 1);
	ktap_eq(xrc.b->count[CAIRN_CTR_RX_NO_SRQ], 0);
	ktap_eq(sim_async_count(xrc.b, CAIRN_ASYNC_QP_REQ_ERR), 0);
	ktap_eq(xrc.rq[0]->head, 5);
	ktap_eq(xrc.b->cq[CAIRN_RESP].n, 5 + xrc.rq[1]->head);
	xrc_end(&xrc);
}

static void refused_ahead_ends_nothing(void)
{
	refused_ahead(99, CAIRN_BTH_SEND_ONLY, 8, 1);	/* of no SRQ */
	refused_ahead(99, CAIRN_BTH_READ_REQUEST, 0, 1);
	refused_ahead(2, CAIRN_BTH_SEND_ONLY, 8, 0);	/* has no receive */
	refused_ahead(2, CAIRN_BTH_SEND_LAST, 8, 1);	/* of no message */
	refused_ahead(2, CAIRN_BTH_SEND_ONLY, 512, 1);	/* too long */
	refused_ahead(2, CAIRN_BTH_SEND_FIRST, 1024, 1);
	refused_ahead(2, CAIRN_BTH_WRITE_ONLY, 8, 1);	/* no key */
	refused_ahead(1, CAIRN_BTH_SEND_ONLY, 512, 1);
}

/* The first response is lost, then the SRQ goes. */
static enum sim_fate drop_response(struct sim_qp *qp, enum cairn_side_id side,
				   const struct cairn_pkt *pkt)
{
	struct sim_xsrq *xsrq = &qp->s->host[1].xsrq[0];

	if (pkt->op->kind != CAIRN_KIND_READ_RESP || !xsrq->rq)
		return SIM_PASS;
	xsrq->rq = NULL;
	return SIM_DROP;
}

static void repeated_read_after_the_srq(void)
{
	struct xrc xrc = xrc_new(1);
	u8 before[1000];

	memcpy(before, xrc.ma->mem, sizeof(before));
	xrc.b->hooks.emit = drop_response;
	xrc_send(&xrc, 0, 1, CAIRN_WQE_READ, 0, 0, sizeof(before));
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_mem_eq(xrc.ma->mem, before, sizeof(before));
	xrc_end(&xrc);
}

/* A fault rule refuses all requests. */
static u8 refuse_access(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	return CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
}

/* The refusal of an immediate ends a receive of the SRQ that the request names. The target
 * has used none before, or one that has gone.
 */
static void rule_refuses_an_immediate(bool used)
{
	struct xrc xrc = xrc_new(1);

	if (used) {
		xrc_recv(&xrc, 1, 12, 0, 100);
		xrc_send(&xrc, 1, 1, CAIRN_WQE_SEND, 0, 0, 8);
		xrc_run(&xrc);
		xrc.s->host[1].xsrq[1].rq = NULL;
	}
	xrc.b->hooks.refuse = refuse_access;
	xrc_recv(&xrc, 0, 11, 0, 100);
	xrc_send(&xrc, 0, 2, CAIRN_WQE_WRITE_IMM, 0, 0, 8);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, used, 2, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(xrc.b, CAIRN_RESP, used, 11, CAIRN_CQE_LOC_ACCESS_ERR);
	ktap_eq(xrc.rq[0]->head, 1);
	ktap_eq(xrc.rq[1]->head, used);
	xrc_end(&xrc);
}

static void rules_refuse_requests_of_an_srq(void)
{
	rule_refuses_an_immediate(false);
	rule_refuses_an_immediate(true);
}

static void rules_refuse_requests_of_no_srq(void)
{
	struct xrc xrc = xrc_new(1);

	xrc.s->host[1].xsrq[0].rq = NULL;
	xrc.b->hooks.refuse = refuse_access;
	xrc_send(&xrc, 0, 1, CAIRN_WQE_WRITE_IMM, 0, 0, 8);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_INV_REQ_ERR);
	ktap_eq(xrc.b->cq[CAIRN_RESP].n, 0);
	xrc_end(&xrc);
}

/* Requests to an initiator, of RC to a target, of XRC to an RC queue pair. */
static void not_for_this_queue_pair(void)
{
	struct xrc xrc = xrc_new(1);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_XRC | CAIRN_BTH_SEND_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = xrc.a->c.qpn,
		.psn = xrc.b->psn,
		.srqn = 1,
		.ack_req = true,
	};

	xrc_recv(&xrc, 0, 11, 0, 100);
	xrc.s->host[0].xsrq[0] = xrc.s->host[1].xsrq[0];
	sim_run(xrc.s, SIM_MS);
	sim_inject(xrc.a, &pkt, NULL);
	pkt.psn--;		/* a duplicate gets no answer either */
	sim_inject(xrc.a, &pkt, NULL);
	ktap_eq(xrc.a->count[CAIRN_CTR_RX_WRONG_QP], 2);
	pkt.opcode = CAIRN_BTH_SEND_ONLY;
	pkt.qpn = xrc.b->c.qpn;
	pkt.psn = xrc.a->psn;
	sim_inject(xrc.b, &pkt, NULL);
	ktap_eq(xrc.b->count[CAIRN_CTR_RX_WRONG_QP], 1);
	xrc_run(&xrc);
	ktap_eq(xrc.rq[0]->head, 0);
	ktap_eq(xrc.s->n_sent, 0);
	ktap_eq(xrc.a->c.state, CAIRN_QP_RTS);
	ktap_eq(xrc.b->c.state, CAIRN_QP_RTS);
	xrc_end(&xrc);
}

/* The target has no program that could be asked, and WRITE_PERSIST is RC's. */
static void persistence(void)
{
	struct xrc xrc = xrc_new(1);
	struct sim_mr *nic = sim_mr_persistent(xrc.s, 1, LEN, SIM_ALL,
					       CAIRN_PERSIST_NIC);
	struct sim_mr *host = sim_mr_persistent(xrc.s, 1, LEN, SIM_ALL,
						CAIRN_PERSIST_HOST);

	nic->pd = PD(0);
	host->pd = PD(0);
	xrc.mb[0] = nic;
	xrc_send(&xrc, 0, 1, CAIRN_WQE_WRITE, 0, 0, 3000);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(nic->shadow, xrc.ma->mem, 3000);
	xrc.mb[0] = host;
	xrc_send(&xrc, 0, 2, CAIRN_WQE_WRITE, 0, 0, 3000);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	xrc_end(&xrc);

	xrc = xrc_new(1);
	xrc_send(&xrc, 0, 1, CAIRN_WQE_WRITE_PERSIST, 0, 0, 3000);
	xrc_run(&xrc);
	expect_cqe(xrc.a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_QP_OP_ERR);
	xrc_end(&xrc);
}

static const struct ktap_test tests[] = {
	KTAP(operations_go_to_their_srq),
	KTAP(inline_data_shares_its_word),
	KTAP(srqs_share_a_connection),
	KTAP(keys_are_of_the_srqs_domain),
	KTAP(receives_are_of_the_srqs_domain),
	KTAP(unknown_srq),
	KTAP(srq_goes_within_a_message),
	KTAP(receive_in_hand_is_flushed),
	KTAP(message_keeps_its_srq),
	KTAP(refused_ahead_ends_nothing),
	KTAP(repeated_read_after_the_srq),
	KTAP(rules_refuse_requests_of_an_srq),
	KTAP(rules_refuse_requests_of_no_srq),
	KTAP(not_for_this_queue_pair),
	KTAP(persistence),
};

KTAP_MAIN(tests)
