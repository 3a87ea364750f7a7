// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The judge of a flow checks every completion, packet and byte. */
#include <stdlib.h>
#include "sim/flow.h"

static bool reads(const struct flow_wr *wr)
{
	return wr->opcode == CAIRN_WQE_READ || wr->opcode == CAIRN_WQE_CAS ||
	       wr->opcode == CAIRN_WQE_FAA;
}

/* Does request @j store @value at @off of the target? */
static bool stores(const struct flow *f, u32 j, u32 off, u8 value)
{
	const struct flow_wr *wr = &f->wr[j];

	return off >= wr->roff && off - wr->roff < wr->stored_len &&
	       wr->stored[off - wr->roff] == value;
}

/* May the byte @value at @off come from one of requests @i + 1 to @end - 1? */
static bool from_later(const struct flow *f, u32 i, u32 end, u32 off, u8 value)
{
	u32 j;

	for (j = i + 1; j < end; j++)
		if (stores(f, j, off, value))
			return true;
	return false;
}

/* The first request after READ @i that cannot have run before the READ ended. */
static u32 fenced_off(const struct flow *f, u32 i)
{
	u32 j;

	for (j = i + 1; j < f->posted; j++)
		if (f->wr[j].flags & CAIRN_WQE_FENCE)
			break;
	return j;
}

/* The target has the data of request @i, or data of later requests. */
static void check_stored(struct flow *f, u32 i)
{
	const struct flow_wr *wr = &f->wr[i];
	u32 k;

	for (k = 0; k < wr->stored_len; k++) {
		u32 off = wr->roff + k;
		u8 v = f->target->mem[off];

		if (v == wr->stored[k] ||
		    from_later(f, i, f->posted, off, v))
			continue;
		sim_fail(f->s, "WR %u complete, its byte %u of %u is not there",
			 i, k, wr->stored_len);
		return;
	}
}

/* The result of READ or atomic @i is in the requester's memory. */
static void check_result(struct flow *f, u32 i)
{
	const struct flow_wr *wr = &f->wr[i];
	u32 p, k, at = 0, end = fenced_off(f, i);

	if (wr->opcode != CAIRN_WQE_READ)
		end = i;	/* executed once: exactly this value */
	for (p = 0; p < wr->local.n; p++) {
		for (k = 0; k < wr->local.piece[p].len; k++, at++) {
			u8 v = f->dst->mem[wr->local.piece[p].off + k];

			if (v == wr->data[at] ||
			    from_later(f, i, end, wr->roff + at, v))
				continue;
			sim_fail(f->s, "WR %u: byte %u of %u read is wrong", i,
				 at, wr->len);
			return;
		}
	}
}

/* Check everything that the completion of request @i promises. */
static void check_done(struct flow *f, u32 i)
{
	const struct flow_wr *wr = &f->wr[i];

	if ((s32)(f->from->sq_head - wr->end) < 0)
		sim_fail(f->s, "WR %u complete, its units still in use", i);
	if (f->from->c.transport != CAIRN_TRANSPORT_RC)
		return;		/* only sent, which is all it promises */
	if (reads(wr))
		check_result(f, i);
	check_stored(f, i);
	if (wr->recv != FLOW_NONE && f->recv_done <= wr->recv)
		sim_fail(f->s, "WR %u complete, its receive is not", i);
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

static bool signaled(const struct flow *f, const struct flow_wr *wr)
{
	return wr->flags & CAIRN_WQE_SIGNALED || f->from->c.sq_sig_all;
}

static void on_send_cqe(struct flow *f, const struct cairn_cqe *c)
{
	u32 i = f->completed, n;

	while (i < f->posted && !signaled(f, &f->wr[i]))
		i++;
	if (i == f->posted || c->wr_id != i) {
		sim_fail(f->s, "completion of WR %llu, expected %u of %u",
			 (unsigned long long)c->wr_id, i, f->posted);
		return;
	}
	if (c->status || c->opcode != cqe_opcode(f->wr[i].opcode)) {
		sim_fail(f->s, "WR %u (op %u, %u bytes): status %u vendor %u opcode %u",
			 i, f->wr[i].opcode, f->wr[i].len, c->status,
			 c->vendor_err, c->opcode);
		return;
	}
	if (reads(&f->wr[i]) && c->byte_len != f->wr[i].len)
		sim_fail(f->s, "WR %u: byte_len %u, not %u", i, c->byte_len,
			 f->wr[i].len);
	for (n = f->completed; n <= i; n++)
		check_done(f, n);
	f->completed = i + 1;
}

static void check_received(struct flow *f, u32 i)
{
	const struct flow_wr *wr = &f->wr[f->recv[i].wr];
	const struct flow_list *l = &f->recv[i].list;
	u32 p, at = 0;

	for (p = 0; p < l->n && at < wr->len; p++) {
		u32 n = min(l->piece[p].len, wr->len - at);

		if (memcmp(f->rbuf->mem + l->piece[p].off, wr->data + at, n))
			sim_fail(f->s, "receive %u (WR %u): wrong data", i,
				 f->recv[i].wr);
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

static void on_recv_cqe(struct flow *f, const struct cairn_cqe *c)
{
	u32 i = f->recv_done;
	const struct flow_wr *wr = &f->wr[f->recv[i].wr];
	bool write = wr->opcode == CAIRN_WQE_WRITE_IMM;

	if (i == f->recv_posted || c->wr_id != i) {
		sim_fail(f->s, "receive completion %llu, expected %u of %u",
			 (unsigned long long)c->wr_id, i, f->recv_posted);
		return;
	}
	f->recv_done++;
	if (c->status || c->byte_len != wr->len ||
	    c->opcode != (write ? CAIRN_CQE_RECV_IMM : CAIRN_CQE_RECV) ||
	    c->flags != recv_flags(wr) ||
	    (c->flags & (CAIRN_CQE_WITH_IMM | CAIRN_CQE_WITH_INV) &&
	     c->imm_or_key != wr->imm)) {
		sim_fail(f->s, "receive %u (WR %u): status %u opcode %u len %u flags %x imm %x",
			 i, f->recv[i].wr, c->status, c->opcode, c->byte_len,
			 c->flags, c->imm_or_key);
		return;
	}
	if (write)
		check_stored(f, f->recv[i].wr);
	else
		check_received(f, i);
	if (wr->inv && wr->inv->valid)
		sim_fail(f->s, "receive %u: key not invalidated", i);
}

static void on_cqe(struct sim_qp *qp, enum cairn_side_id side,
		   const struct cairn_cqe *cqe)
{
	struct flow *f = qp->flow[side];

	if (!f)
		sim_fail(qp->s, "QP %u: completion without a request",
			 qp->c.qpn);
	else if (side == CAIRN_REQ)
		on_send_cqe(f, cqe);
	else
		on_recv_cqe(f, cqe);
}

/* The request that PSN @psn belongs to. */
static struct flow_wr *wr_of(struct flow *f, u32 psn)
{
	u32 rel = cairn_psn_add(psn, -f->from->psn), i;

	for (i = f->completed; i < f->posted; i++)
		if (rel >= f->wr[i].psn &&
		    rel - f->wr[i].psn < f->wr[i].npkts)
			return &f->wr[i];
	return NULL;
}

/* All READs and atomics before @wr must have their results. */
static void check_fence(struct flow *f, const struct flow_wr *wr)
{
	u32 i, n = wr - f->wr;

	for (i = f->completed; i < n; i++)
		if (reads(&f->wr[i]))
			check_result(f, i);
}

/* End-to-end credits (IBTA 9.7.7.2): one packet beyond the limit may be sent as a probe.
 * AETHs that the requester ignored, from an unknown port, do not count.
 */
static void check_credit(struct flow *f, const struct flow_wr *wr, u32 rel)
{
	s32 n = wr->ssn;

	if (wr->recv == FLOW_NONE || !f->lsn_known || n <= f->lsn ||
	    f->probe == rel || !f->from->c.req.credits.valid)
		return;
	if (f->probe != FLOW_NONE)
		sim_fail(f->s, "PSNs %u and %u of the flow probe beyond credits",
			 f->probe, rel);
	f->probe = rel;
}

/* PSNs that a request packet takes: a READ takes those of its responses. */
static u32 psns_of(const struct flow *f, const struct cairn_pkt *pkt)
{
	u32 pmtu = f->from->c.attrs.pmtu;

	if (pkt->op->kind != CAIRN_KIND_READ_REQ || !pkt->dma_len)
		return 1;
	return (pkt->dma_len + pmtu - 1) / pmtu;
}

static void forget_reads(struct flow *f, u32 first, u32 last)
{
	u32 i, n = 0;

	for (i = 0; i < f->rd_out; i++)
		if (f->rd_last[i] < first || f->rd_last[i] > last)
			f->rd_last[n++] = f->rd_last[i];
	f->rd_out = n;
}

/* A READ that is requested again counts once. */
static void count_read(struct flow *f, u32 rel, u32 n)
{
	u32 max = f->from->c.attrs.max_rd_atomic;

	forget_reads(f, rel, rel + n - 1);
	f->rd_last[f->rd_out++] = rel + n - 1;
	if (f->rd_out > max) {
		sim_fail(f->s, "%u READs and atomics under way, agreed are %u",
			 f->rd_out, max);
		f->rd_out = 0;
	}
}

/* Check a packet that was never sent before. */
static void on_new(struct flow *f, struct flow_wr *wr,
		   const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & CAIRN_OP_FIRST)
		f->messages++;
	if (wr->ssn)
		return;
	wr->ssn = f->messages;
	if (wr->flags & CAIRN_WQE_FENCE)
		check_fence(f, wr);
}

static void on_request(struct flow *f, const struct cairn_pkt *pkt)
{
	struct flow_wr *wr = wr_of(f, pkt->psn);
	u32 rel = cairn_psn_add(pkt->psn, -f->from->psn);
	u32 n = psns_of(f, pkt);

	if (!wr) {
		sim_fail(f->s, "PSN %u belongs to no request under way",
			 pkt->psn);
		return;
	}
	if (rel > f->sent)
		sim_fail(f->s, "PSN %u leaves before %u", rel, f->sent);
	if (rel == f->sent)
		on_new(f, wr, pkt);
	f->sent = max(f->sent, rel + n);
	check_credit(f, wr, rel);
	if (reads(wr))
		count_read(f, rel, n);
	if (f->from->c.transport == CAIRN_TRANSPORT_RC &&
	    cairn_psn_diff(pkt->psn, f->from->c.req.una) < 0)
		sim_fail(f->s, "PSN %u leaves again, acknowledged", rel);
}

/* An ACK with the PSN of a READ or atomic would be taken for its response. */
static void check_ack(struct flow *f, const struct cairn_pkt *pkt)
{
	struct flow_wr *wr;

	if (pkt->opcode != CAIRN_BTH_ACK ||
	    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK)
		return;
	wr = wr_of(f, pkt->psn);
	if (wr && reads(wr))
		sim_fail(f->s, "ACK with PSN %u of a READ or atomic", pkt->psn);
}

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	struct flow *f = qp->flow[CAIRN_REQ];

	if (pkt->op->kind == CAIRN_KIND_CNP)	/* not of any request */
		return SIM_PASS;
	if (f && side == CAIRN_REQ)
		on_request(f, pkt);
	if (qp->flow[CAIRN_RESP] && side == CAIRN_RESP)
		check_ack(qp->flow[CAIRN_RESP], pkt);
	return SIM_PASS;
}

/* IBTA table 42 */
static s32 credits(u8 syndrome)
{
	u32 code = syndrome & CAIRN_AETH_VALUE_MASK;

	if (code == CAIRN_AETH_CREDIT_INVALID)
		return -1;
	if (code < 4)
		return code;
	return (code & 1 ? 3 : 2) << (code / 2 - 1);
}

static void learn_credits(struct flow *f, const struct cairn_pkt *pkt)
{
	u32 rel = cairn_psn_add(pkt->psn, -f->from->psn);
	bool ack = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;
	s32 n = credits(pkt->syndrome);

	f->probe = FLOW_NONE;
	if (rel >= 1 << 23)
		return;		/* before the first: from before the flow */
	if (ack && n >= 0) {
		/* the MSN of request number 1 is its SSN */
		n += cairn_psn_diff(pkt->msn, f->ssn0) + 1;
		f->lsn = max(f->lsn, n);
	}
	/* an old answer, or a response out of order, may be ignored */
	if (pkt->op->kind == CAIRN_KIND_ACK && ack && rel >= f->una)
		f->lsn_known = credits(pkt->syndrome) >= 0;
	f->una = max(f->una, rel + ack);
}

static void on_rx(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct flow *f = qp->flow[CAIRN_REQ];
	u32 rel;

	if (!f || !(pkt->op->flags & CAIRN_OP_RESPONSE) ||
	    pkt->op->kind == CAIRN_KIND_CNP)
		return;
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		learn_credits(f, pkt);
	rel = cairn_psn_add(pkt->psn, -qp->psn);
	if (pkt->op->kind != CAIRN_KIND_ACK)
		forget_reads(f, rel, rel);
}

void flow_watch(struct flow *f)
{
	static const struct sim_hooks hooks = {
		.cqe = on_cqe,
		.emit = on_emit,
		.rx = on_rx,
	};

	f->from->hooks = hooks;
	f->to->hooks = hooks;
}

/* Copy the data that must have arrived into the image of a region. */
static void apply(u8 *image, const struct flow_list *l, const u8 *data, u32 len)
{
	u32 p, at = 0;

	for (p = 0; p < l->n && at < len; p++) {
		u32 n = min(l->piece[p].len, len - at);

		memcpy(image + l->piece[p].off, data + at, n);
		at += n;
	}
}

static void check_region(struct flow *f, const char *what,
			 const struct sim_mr *mr, const u8 *image)
{
	u32 i;

	if (!memcmp(mr->mem, image, mr->len))
		return;
	for (i = 0; mr->mem[i] == image[i]; i++)
		;
	sim_fail(f->s, "%s differs at byte %u of %u", what, i, mr->len);
}

/* Results of READs have been checked one by one, so accept them here. */
static void check_dst(struct flow *f)
{
	u32 i, p;

	for (i = 0; i < f->wrs; i++) {
		const struct flow_list *l = &f->wr[i].local;

		if (!reads(&f->wr[i]))
			continue;
		check_result(f, i);
		for (p = 0; p < l->n; p++)
			memcpy(f->dst_image + l->piece[p].off,
			       f->dst->mem + l->piece[p].off,
			       l->piece[p].len);
	}
	check_region(f, "memory around READ results", f->dst, f->dst_image);
}

static void check_rbuf(struct flow *f)
{
	u32 i;

	for (i = 0; i < f->recvs; i++) {
		const struct flow_wr *wr = &f->wr[f->recv[i].wr];

		if (wr->opcode != CAIRN_WQE_WRITE_IMM)
			apply(f->rbuf_image, &f->recv[i].list, wr->data,
			      wr->len);
	}
	check_region(f, "receive buffers", f->rbuf, f->rbuf_image);
}

void flow_check(struct flow *f)
{
	struct sim *s = f->s;

	if (!flow_done(f))
		sim_fail(s, "QP %u came to rest: %u of %u requests, %u of %u receives",
			 f->from->c.qpn, f->completed, f->wrs, f->recv_done,
			 f->recvs);
	if (s->failures)
		return;
	check_region(f, "target", f->target, f->model);
	check_dst(f);
	check_rbuf(f);
	if (f->from->sq_head != f->from->sq_tail)
		sim_fail(s, "send ring: %u units still in use",
			 f->from->sq_tail - f->from->sq_head);
}
