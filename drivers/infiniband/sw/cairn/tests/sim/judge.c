// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The judge of a flow checks every completion, packet and byte. */
#include <stdlib.h>
#include "sim/flow.h"

static bool judge_reads(const struct flow_wr *wr)
{
	return wr->opcode == CAIRN_WQE_READ || wr->opcode == CAIRN_WQE_CAS ||
	       wr->opcode == CAIRN_WQE_FAA;
}

/* Does request @j store @value at @off of the target? */
static bool judge_stores(const struct flow *flow, u32 j, u32 off, u8 value)
{
	const struct flow_wr *wr = &flow->wr[j];

	return off >= wr->roff && off - wr->roff < wr->stored_len &&
	       wr->stored[off - wr->roff] == value;
}

/* May the byte @value at @off come from one of requests @i + 1 to @end - 1? */
static bool from_later(const struct flow *flow, u32 i, u32 end, u32 off, u8 value)
{
	u32 j;

	for (j = i + 1; j < end; j++)
		if (judge_stores(flow, j, off, value))
			return true;
	return false;
}

/* The first request after READ @i that cannot have run before the READ ended. */
static u32 fenced_off(const struct flow *flow, u32 i)
{
	u32 j;

	for (j = i + 1; j < flow->posted; j++)
		if (flow->wr[j].flags & CAIRN_WQE_FENCE)
			break;
	return j;
}

/* The target has the data of request @i, or data of later requests. */
static void check_stored(struct flow *flow, u32 i)
{
	const struct flow_wr *wr = &flow->wr[i];
	u32 k;

	for (k = 0; k < wr->stored_len; k++) {
		u32 off = wr->roff + k;
		u8 v = flow->target->mem[off];

		if (v == wr->stored[k] ||
		    from_later(flow, i, flow->posted, off, v))
			continue;
		sim_fail(flow->s, "WR %u complete, its byte %u of %u is not there",
			 i, k, wr->stored_len);
		return;
	}
}

/* The result of READ or atomic @i is in the requester's memory. */
static void check_result(struct flow *flow, u32 i)
{
	const struct flow_wr *wr = &flow->wr[i];
	u32 p, k, at = 0, end = fenced_off(flow, i);

	if (wr->opcode != CAIRN_WQE_READ)
		end = i;	/* executed once: exactly this value */
	for (p = 0; p < wr->local.n; p++) {
		for (k = 0; k < wr->local.piece[p].len; k++, at++) {
			u8 v = flow->dst->mem[wr->local.piece[p].off + k];

			if (v == wr->data[at] ||
			    from_later(flow, i, end, wr->roff + at, v))
				continue;
			sim_fail(flow->s, "WR %u: byte %u of %u read is wrong", i,
				 at, wr->len);
			return;
		}
	}
}

/* Check everything that the completion of request @i promises. */
static void check_done(struct flow *flow, u32 i)
{
	const struct flow_wr *wr = &flow->wr[i];

	if ((s32)(flow->from->sq_head - wr->end) < 0)
		sim_fail(flow->s, "WR %u complete, its units still in use", i);
	if (flow->from->c.transport != CAIRN_TRANSPORT_RC)
		return;		/* only sent, which is all it promises */
	if (judge_reads(wr))
		check_result(flow, i);
	check_stored(flow, i);
	if (wr->recv != FLOW_NONE && flow->recv_done <= wr->recv)
		sim_fail(flow->s, "WR %u complete, its receive is not", i);
}

static u8 cqe_opcode(u8 opcode)
{
	static const u8 of[CAIRN_WQE_OPCODES] = {
		[CAIRN_WQE_SEND] = CAIRN_CQE_SEND,
		[CAIRN_WQE_SEND_IMM] = CAIRN_CQE_SEND,
		[CAIRN_WQE_SEND_INV] = CAIRN_CQE_SEND,
		[CAIRN_WQE_WRITE] = CAIRN_CQE_WRITE,
		[CAIRN_WQE_WRITE_IMM] = CAIRN_CQE_WRITE,
		[CAIRN_WQE_READ] = CAIRN_CQE_READ,
		[CAIRN_WQE_CAS] = CAIRN_CQE_CAS,
		[CAIRN_WQE_FAA] = CAIRN_CQE_FAA,
	};

	return of[opcode];
}

static bool judge_signaled(const struct flow *flow, const struct flow_wr *wr)
{
	return wr->flags & CAIRN_WQE_SIGNALED || flow->from->c.sq_sig_all;
}

static void on_send_cqe(struct flow *flow, const struct cairn_cqe *cqe)
{
	u32 i = flow->completed, n;

	while (i < flow->posted && !judge_signaled(flow, &flow->wr[i]))
		i++;
	if (i == flow->posted || cqe->wr_id != i) {
		sim_fail(flow->s, "completion of WR %llu, expected %u of %u",
			 (unsigned long long)cqe->wr_id, i, flow->posted);
		return;
	}
	if (cqe->status || cqe->opcode != cqe_opcode(flow->wr[i].opcode)) {
		sim_fail(flow->s, "WR %u (op %u, %u bytes): status %u vendor %u opcode %u",
			 i, flow->wr[i].opcode, flow->wr[i].len, cqe->status,
			 cqe->vendor_err, cqe->opcode);
		return;
	}
	if (judge_reads(&flow->wr[i]) && cqe->byte_len != flow->wr[i].len)
		sim_fail(flow->s, "WR %u: byte_len %u, not %u", i, cqe->byte_len,
			 flow->wr[i].len);
	for (n = flow->completed; n <= i; n++)
		check_done(flow, n);
	flow->completed = i + 1;
}

static void check_received(struct flow *flow, u32 i)
{
	const struct flow_wr *wr = &flow->wr[flow->recv[i].wr];
	const struct flow_list *list = &flow->recv[i].list;
	u32 p, at = 0;

	for (p = 0; p < list->n && at < wr->len; p++) {
		u32 n = min(list->piece[p].len, wr->len - at);

		if (memcmp(flow->rbuf->mem + list->piece[p].off, wr->data + at, n))
			sim_fail(flow->s, "receive %u (WR %u): wrong data", i,
				 flow->recv[i].wr);
		at += n;
	}
}

static u16 recv_flags(const struct flow_wr *wr)
{
	u16 flags = 0;

	if (wr->opcode == CAIRN_WQE_SEND_IMM ||
	    wr->opcode == CAIRN_WQE_WRITE_IMM)
		flags |= CAIRN_CQE_WITH_IMM;
	if (wr->opcode == CAIRN_WQE_SEND_INV)
		flags |= CAIRN_CQE_WITH_INV;
	if (wr->flags & CAIRN_WQE_SOLICITED)
		flags |= CAIRN_CQE_SOLICITED;
	return flags;
}

static void on_recv_cqe(struct flow *flow, const struct cairn_cqe *cqe)
{
	u32 i = flow->recv_done;
	const struct flow_wr *wr = &flow->wr[flow->recv[i].wr];
	bool write = wr->opcode == CAIRN_WQE_WRITE_IMM;

	if (i == flow->recv_posted || cqe->wr_id != i) {
		sim_fail(flow->s, "receive completion %llu, expected %u of %u",
			 (unsigned long long)cqe->wr_id, i, flow->recv_posted);
		return;
	}
	flow->recv_done++;
	if (cqe->status || cqe->byte_len != wr->len ||
	    cqe->opcode != (write ? CAIRN_CQE_RECV_IMM : CAIRN_CQE_RECV) ||
	    cqe->flags != recv_flags(wr) ||
	    (cqe->flags & (CAIRN_CQE_WITH_IMM | CAIRN_CQE_WITH_INV) &&
	     cqe->imm_or_key != wr->imm)) {
		sim_fail(flow->s, "receive %u (WR %u): status %u opcode %u len %u flags %x imm %x",
			 i, flow->recv[i].wr, cqe->status, cqe->opcode, cqe->byte_len,
			 cqe->flags, cqe->imm_or_key);
		return;
	}
	if (write)
		check_stored(flow, flow->recv[i].wr);
	else
		check_received(flow, i);
	if (wr->inv && wr->inv->valid)
		sim_fail(flow->s, "receive %u: key not invalidated", i);
}

static void on_cqe(struct sim_qp *qp, enum cairn_side_id side,
		   const struct cairn_cqe *cqe)
{
	struct flow *flow = qp->flow[side];

	if (!flow)
		sim_fail(qp->s, "QP %u: completion without a request",
			 qp->c.qpn);
	else if (side == CAIRN_REQ)
		on_send_cqe(flow, cqe);
	else
		on_recv_cqe(flow, cqe);
}

/* The request that PSN @psn belongs to. */
static struct flow_wr *wr_of(struct flow *flow, u32 psn)
{
	u32 rel = cairn_psn_add(psn, -flow->from->psn), i;

	for (i = flow->completed; i < flow->posted; i++)
		if (rel >= flow->wr[i].psn &&
		    rel - flow->wr[i].psn < flow->wr[i].npkts)
			return &flow->wr[i];
	return NULL;
}

/* All READs and atomics before @wr must have their results. */
static void check_fence(struct flow *flow, const struct flow_wr *wr)
{
	u32 i, n = wr - flow->wr;

	for (i = flow->completed; i < n; i++)
		if (judge_reads(&flow->wr[i]))
			check_result(flow, i);
}

/* End-to-end credits (IBTA 9.7.7.2): one packet beyond the limit may be sent as a probe.
 * AETHs that the requester ignored, from an unknown port, do not count.
 */
static void check_credit(struct flow *flow, const struct flow_wr *wr, u32 rel)
{
	s32 n = wr->ssn;

	if (wr->recv == FLOW_NONE || !flow->lsn_known || n <= flow->lsn ||
	    flow->probe == rel || !flow->from->c.req.credits.valid)
		return;
	if (flow->probe != FLOW_NONE)
		sim_fail(flow->s, "PSNs %u and %u of the flow probe beyond credits",
			 flow->probe, rel);
	flow->probe = rel;
}

/* PSNs that a request packet takes: a READ takes those of its responses. */
static u32 psns_of(const struct flow *flow, const struct cairn_pkt *pkt)
{
	u32 pmtu = flow->from->c.attrs.pmtu;

	if (pkt->op->kind != CAIRN_KIND_READ_REQ || !pkt->dma_len)
		return 1;
	return (pkt->dma_len + pmtu - 1) / pmtu;
}

static void forget_reads(struct flow *flow, u32 first, u32 last)
{
	u32 i, n = 0;

	for (i = 0; i < flow->rd_out; i++)
		if (flow->rd_last[i] < first || flow->rd_last[i] > last)
			flow->rd_last[n++] = flow->rd_last[i];
	flow->rd_out = n;
}

/* A READ that is requested again counts once. */
static void count_read(struct flow *flow, u32 rel, u32 n)
{
	u32 max = flow->from->c.attrs.max_rd_atomic;

	forget_reads(flow, rel, rel + n - 1);
	flow->rd_last[flow->rd_out++] = rel + n - 1;
	if (flow->rd_out > max) {
		sim_fail(flow->s, "%u READs and atomics under way, agreed are %u",
			 flow->rd_out, max);
		flow->rd_out = 0;
	}
}

/* Check a packet that was never sent before. */
static void on_new(struct flow *flow, struct flow_wr *wr,
		   const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & CAIRN_OP_FIRST)
		flow->messages++;
	if (wr->ssn)
		return;
	wr->ssn = flow->messages;
	if (wr->flags & CAIRN_WQE_FENCE)
		check_fence(flow, wr);
}

static void on_request(struct flow *flow, const struct cairn_pkt *pkt)
{
	struct flow_wr *wr = wr_of(flow, pkt->psn);
	u32 rel = cairn_psn_add(pkt->psn, -flow->from->psn);
	u32 n = psns_of(flow, pkt);

	if (!wr) {
		sim_fail(flow->s, "PSN %u belongs to no request under way",
			 pkt->psn);
		return;
	}
	if (rel > flow->sent)
		sim_fail(flow->s, "PSN %u leaves before %u", rel, flow->sent);
	if (rel == flow->sent)
		on_new(flow, wr, pkt);
	flow->sent = max(flow->sent, rel + n);
	check_credit(flow, wr, rel);
	if (judge_reads(wr))
		count_read(flow, rel, n);
	if (flow->from->c.transport == CAIRN_TRANSPORT_RC &&
	    cairn_psn_diff(pkt->psn, flow->from->c.req.una) < 0)
		sim_fail(flow->s, "PSN %u leaves again, acknowledged", rel);
}

/* An ACK with the PSN of a READ or atomic would be taken for its response. */
static void check_ack(struct flow *flow, const struct cairn_pkt *pkt)
{
	struct flow_wr *wr;

	if (pkt->opcode != CAIRN_BTH_ACK ||
	    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK)
		return;
	wr = wr_of(flow, pkt->psn);
	if (wr && judge_reads(wr))
		sim_fail(flow->s, "ACK with PSN %u of a READ or atomic", pkt->psn);
}

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	struct flow *flow = qp->flow[CAIRN_REQ];

	if (pkt->op->kind == CAIRN_KIND_CNP)	/* not of any request */
		return SIM_PASS;
	if (flow && side == CAIRN_REQ)
		on_request(flow, pkt);
	if (qp->flow[CAIRN_RESP] && side == CAIRN_RESP)
		check_ack(qp->flow[CAIRN_RESP], pkt);
	return SIM_PASS;
}

/* IBTA table 42 */
static s32 judge_credits(u8 syndrome)
{
	u32 code = syndrome & CAIRN_AETH_VALUE_MASK;

	if (code == CAIRN_AETH_CREDIT_INVALID)
		return -1;
	if (code < 4)
		return code;
	return (code & 1 ? 3 : 2) << (code / 2 - 1);
}

static void learn_credits(struct flow *flow, const struct cairn_pkt *pkt)
{
	u32 rel = cairn_psn_add(pkt->psn, -flow->from->psn);
	bool ack = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;
	s32 n = judge_credits(pkt->syndrome);

	flow->probe = FLOW_NONE;
	if (rel >= 1 << 23)
		return;		/* before the first: from before the flow */
	if (ack && n >= 0) {
		/* the MSN of request number 1 is its SSN */
		n += cairn_psn_diff(pkt->msn, flow->ssn0) + 1;
		flow->lsn = max(flow->lsn, n);
	}
	/* an old answer, or a response out of order, may be ignored */
	if (pkt->op->kind == CAIRN_KIND_ACK && ack && rel >= flow->una)
		flow->lsn_known = judge_credits(pkt->syndrome) >= 0;
	flow->una = max(flow->una, rel + ack);
}

static void on_rx(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct flow *flow = qp->flow[CAIRN_REQ];
	u32 rel;

	if (!flow || !(pkt->op->flags & CAIRN_OP_RESPONSE) ||
	    pkt->op->kind == CAIRN_KIND_CNP)
		return;
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		learn_credits(flow, pkt);
	rel = cairn_psn_add(pkt->psn, -qp->psn);
	if (pkt->op->kind != CAIRN_KIND_ACK)
		forget_reads(flow, rel, rel);
}

void flow_watch(struct flow *flow)
{
	static const struct sim_hooks hooks = {
		.cqe = on_cqe,
		.emit = on_emit,
		.rx = on_rx,
	};

	flow->from->hooks = hooks;
	flow->to->hooks = hooks;
}

/* Copy the data that must have arrived into the image of a region. */
static void judge_apply(u8 *image, const struct flow_list *list, const u8 *data, u32 len)
{
	u32 p, at = 0;

	for (p = 0; p < list->n && at < len; p++) {
		u32 n = min(list->piece[p].len, len - at);

		memcpy(image + list->piece[p].off, data + at, n);
		at += n;
	}
}

static void check_region(struct flow *flow, const char *what,
			 const struct sim_mr *mr, const u8 *image)
{
	u32 i;

	if (!memcmp(mr->mem, image, mr->len))
		return;
	for (i = 0; mr->mem[i] == image[i]; i++)
		;
	sim_fail(flow->s, "%s differs at byte %u of %u", what, i, mr->len);
}

/* Results of READs have been checked one by one, so accept them here. */
static void check_dst(struct flow *flow)
{
	u32 i, p;

	for (i = 0; i < flow->wrs; i++) {
		const struct flow_list *list = &flow->wr[i].local;

		if (!judge_reads(&flow->wr[i]))
			continue;
		check_result(flow, i);
		for (p = 0; p < list->n; p++)
			memcpy(flow->dst_image + list->piece[p].off,
			       flow->dst->mem + list->piece[p].off,
			       list->piece[p].len);
	}
	check_region(flow, "memory around READ results", flow->dst, flow->dst_image);
}

static void check_rbuf(struct flow *flow)
{
	u32 i;

	for (i = 0; i < flow->recvs; i++) {
		const struct flow_wr *wr = &flow->wr[flow->recv[i].wr];

		if (wr->opcode != CAIRN_WQE_WRITE_IMM)
			judge_apply(flow->rbuf_image, &flow->recv[i].list, wr->data,
				    wr->len);
	}
	check_region(flow, "receive buffers", flow->rbuf, flow->rbuf_image);
}

void flow_check(struct flow *flow)
{
	struct sim *sim = flow->s;

	if (!flow_done(flow))
		sim_fail(sim, "QP %u came to rest: %u of %u requests, %u of %u receives",
			 flow->from->c.qpn, flow->completed, flow->wrs, flow->recv_done,
			 flow->recvs);
	if (sim->failures)
		return;
	check_region(flow, "target", flow->target, flow->model);
	check_dst(flow);
	check_rbuf(flow);
	if (flow->from->sq_head != flow->from->sq_tail)
		sim_fail(sim, "send ring: %u units still in use",
			 flow->from->sq_tail - flow->from->sq_head);
}
