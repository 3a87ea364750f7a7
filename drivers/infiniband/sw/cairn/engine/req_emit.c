// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of requests: a train is described from a record and its WQE, and sent.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "engine/gap.h"
#include "engine/req_emit.h"
#include "engine/req_record.h"
#include "engine/req_window.h"
#include "engine/window.h"

static u8 req_bth_opcode(const struct cairn_qpc *qpc, u8 bth_op)
{
	return qpc->prefix | bth_op;
}

/* Describe packet @pkt of @swr. */
static void req_train_init(struct cairn_qpc *qpc, struct cairn_swr *swr,
			   u32 pkt, struct cairn_train *train, u8 bth_op)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;

	*train = (struct cairn_train){
		.count = 1,
		.first = {
			.opcode = req_bth_opcode(qpc, bth_op),
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = cairn_psn_add(swr->psn, pkt),
			.va = wqe->remote_addr + (u64)pkt * qpc->attrs.pmtu,
			.rkey = wqe->rkey,
			.dma_len = swr->length - pkt * qpc->attrs.pmtu,
			.imm = (__force __be32)wqe->imm_or_key,
			/* Used by XRC only. */
			.srqn = wqe->inline_len >> CAIRN_XRC_SRQN_SHIFT,
		},
	};
	train->ect = qpc->attrs.cc;
	train->retransmit = cairn_psn_diff(train->first.psn, qpc->req.sent) < 0;
}

static void req_fill_atomic(const struct cairn_send_wqe *wqe,
			    struct cairn_train *train)
{
	bool faa = wqe->opcode == CAIRN_WQE_FAA;

	train->first.compare = faa ? 0 : wqe->atomic.compare_add;
	train->first.swap_add = faa ? wqe->atomic.compare_add :
				      wqe->atomic.swap;
}

static void req_fill_flush(const struct cairn_send_wqe *wqe,
			   struct cairn_train *train)
{
	train->first.dma_len = wqe->flush.length;
	train->first.plt = wqe->flush.plt;
	train->first.sel = wqe->flush.sel;
}

static void req_fill_atomic_write(struct cairn_requester *req,
				  struct cairn_train *train)
{
	train->first.dma_len = sizeof(u64);
	train->first.payload_len = sizeof(u64);
	train->length = sizeof(u64);
	train->seg = sizeof(u64);
	if (req->ext->wqe.send.flags & CAIRN_WQE_INLINE)
		train->inline_data = req->ext->wqe.bytes + CAIRN_WQE_DATA_OFFSET;
	train->span = (struct cairn_span){
		.sge = cairn_wqe_sges(&req->ext->wqe),
		.num_sge = req->ext->wqe.send.num_sge,
		.access = CAIRN_ACCESS_LOCAL_READ,
	};
}

int cairn_req_emit_read(struct cairn_qpc *qpc, struct cairn_swr *swr, u32 n)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;
	struct cairn_train train;

	req_train_init(qpc, swr, qpc->req.pkt, &train,
		       cairn_wqe_ops[swr->opcode].only);
	train.first.ack_req = true;
	train.first.dma_len = min(train.first.dma_len, n * qpc->attrs.pmtu);
	if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_ATOMIC)
		req_fill_atomic(wqe, &train);
	else if (swr->opcode == CAIRN_WQE_FLUSH)
		req_fill_flush(wqe, &train);
	else if (swr->opcode == CAIRN_WQE_ATOMIC_WRITE)
		req_fill_atomic_write(&qpc->req, &train);
	return cairn_env_emit(qpc, CAIRN_REQ, &train);
}

u32 cairn_req_train_count(struct cairn_qpc *qpc, const struct cairn_swr *swr,
			  u32 n)
{
	struct cairn_requester *req = &qpc->req;
	u8 flags = cairn_wqe_ops[swr->opcode].flags;
	u32 left = swr->npkts - req->pkt;

	n = min3(n, left, (u32)CAIRN_TRAIN_MAX);
	/* A RETH makes the first packet longer, IMM or IETH the last one. */
	if (flags & CAIRN_WOP_RETH && !req->pkt)
		return 1;
	if (flags & CAIRN_WOP_EXTRA && n == left && n > 1)
		n--;
	return clamp_t(u32, CAIRN_TRAIN_BYTES / (qpc->attrs.pmtu + 64u), 1, n);
}

static u8 req_position(const struct cairn_wqe_op *op, u32 pkt, u32 npkts)
{
	if (npkts == 1)
		return op->only;
	if (!pkt)
		return op->first;
	return pkt == npkts - 1 ? op->last : op->middle;
}

static void req_address_ud(struct cairn_qpc *qpc, struct cairn_train *train)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;

	train->ah = wqe->ud.ah;
	train->first.qpn = wqe->ud.qpn & CAIRN_24BIT_MASK;
	/* The top bit asks for the QP's own Q_Key (IBTA 10.2.5). */
	train->first.qkey =
		wqe->qkey & 0x80000000 ? qpc->attrs.qkey : wqe->qkey;
	train->first.src_qpn = qpc->qpn;
}

/* Describe @n packets of a SEND or WRITE from packet @pkt on. */
static void req_fill_message(struct cairn_qpc *qpc, struct cairn_swr *swr,
			     u32 pkt, u32 n, struct cairn_train *train)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[swr->opcode];
	struct cairn_requester *req = &qpc->req;
	u32 pmtu = qpc->attrs.pmtu, off = pkt * pmtu, end = pkt + n;
	bool last = end == swr->npkts;

	req_train_init(qpc, swr, pkt, train,
		       req_position(op, pkt, swr->npkts));
	train->count = n;
	train->mid_opcode = req_bth_opcode(qpc, op->middle);
	train->last_opcode =
		req_bth_opcode(qpc, req_position(op, end - 1, swr->npkts));
	train->length = last ? swr->length - off : n * pmtu;
	train->seg = min(train->length, pmtu);
	train->first.payload_len = train->seg;
	train->first.solicited = last && swr->flags & CAIRN_WQE_SOLICITED &&
			    op->flags & (CAIRN_WOP_CREDIT |
					 CAIRN_WOP_PERSIST);
	if (op->flags & CAIRN_WOP_EXTRA && swr->opcode == CAIRN_WQE_SEND_INV)
		train->first.rkey = req->ext->wqe.send.imm_or_key;
	if (cairn_qp_reliable(qpc)) {
		u32 out = cairn_psn_diff(train->first.psn, req->una) + n;

		train->first.ack_req =
			last || out >= cairn_req_most_out(qpc) || req->credits.wait ||
			cairn_gap_ends(req,
				       cairn_psn_add(train->first.psn, n)) ||
			(train->first.psn ^ (train->first.psn + n)) &
				CAIRN_ACK_INTERVAL;
	} else if (qpc->transport == CAIRN_TRANSPORT_UD) {
		req_address_ud(qpc, train);
	}
	if (swr->flags & CAIRN_WQE_INLINE)
		train->inline_data =
			req->ext->wqe.bytes + CAIRN_WQE_DATA_OFFSET + off;
	train->span = (struct cairn_span){
		.sge = cairn_wqe_sges(&req->ext->wqe),
		.num_sge = req->ext->wqe.send.num_sge,
		.offset = off,
		.more = swr->length - off - train->length,
		.access = CAIRN_ACCESS_LOCAL_READ,
	};
}

int cairn_req_emit_message(struct cairn_qpc *qpc, struct cairn_swr *swr,
			   u32 pkt, u32 n, bool pause)
{
	struct cairn_train train;

	req_fill_message(qpc, swr, pkt, n, &train);
	if (pause && cairn_qp_reliable(qpc))
		train.first.ack_req = true;
	return cairn_env_emit(qpc, CAIRN_REQ, &train);
}

int cairn_req_repeat_last(struct cairn_qpc *qpc, struct cairn_swr *swr)
{
	if (!cairn_req_load(qpc, swr, NULL))
		return -EINVAL;
	return cairn_req_emit_message(qpc, swr, swr->npkts - 1, 1, false);
}

/* A train of single-packet messages. */
struct req_messages {
	struct cairn_train train;
	struct cairn_ahead *ahead;
};

/* Describe message @k of the train. Only the last one requests an ACK. */
static int req_message_part(struct cairn_qpc *qpc,
			    const struct cairn_train *train, u32 k,
			    struct cairn_train *one)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = cairn_req_swr(req, req->send_rec + k);

	if (!cairn_req_load(qpc, swr,
			    container_of(train, struct req_messages, train)->ahead))
		return -EINVAL;
	req_fill_message(qpc, swr, 0, 1, one);
	/* The host may have changed the address handle since the WQE started. */
	if (one->ah != train->ah)
		return -EINVAL;
	one->first.ack_req &= k + 1 == train->count;
	return 0;
}

u32 cairn_req_emit_messages(struct cairn_qpc *qpc, struct cairn_swr *swr,
			    u32 count, struct cairn_ahead *ahead)
{
	struct req_messages all __uninitialized;
	struct cairn_train *train = &all.train;

	all.ahead = ahead;
	while (count > 1) {
		u32 good;

		if (!cairn_req_load(qpc, swr, ahead))
			return 0;
		req_fill_message(qpc, swr, 0, 1, train);
		train->count = count;
		train->mid_opcode = train->first.opcode;
		train->last_opcode = train->first.opcode;
		train->length = count * train->seg;
		good = cairn_env_emit_messages(qpc, train, req_message_part);
		if (good == count)
			return count;
		count = min(good, count / 2);
	}
	return 0;
}

u32 cairn_req_message_bytes(const struct cairn_qpc *qpc,
			    const struct cairn_swr *swr, u32 n)
{
	u32 pkt = qpc->req.pkt, left = swr->length - pkt * qpc->attrs.pmtu;
	u8 op = req_position(&cairn_wqe_ops[swr->opcode], pkt, swr->npkts);

	return cairn_window_packet_bytes(req_bth_opcode(qpc, op), n,
					 min(left, n * qpc->attrs.pmtu));
}

u32 cairn_req_request_bytes(const struct cairn_qpc *qpc,
			    const struct cairn_swr *swr)
{
	u32 payload = swr->opcode == CAIRN_WQE_ATOMIC_WRITE ? sizeof(u64) : 0;

	return cairn_window_packet_bytes(req_bth_opcode(qpc,
							cairn_wqe_ops[swr->opcode].only),
					 1, payload);
}
