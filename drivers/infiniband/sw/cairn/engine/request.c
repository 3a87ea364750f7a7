// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests at the responder: what each kind does when it is the next in order (IBTA
 * 9.7.4, 9.8). WRITE is in engine/write_resp.c.
 */
#include <linux/errno.h>
#include "engine/answer_resp.h"
#include "engine/flush_resp.h"
#include "engine/hold.h"
#include "engine/persist_resp.h"
#include "engine/recv.h"
#include "engine/refuse.h"
#include "engine/replay.h"
#include "engine/request.h"
#include "engine/window.h"
#include "engine/write_resp.h"

/* End the connection without a NAK (IBTA 9.9.6.3, class J). The requests before this one
 * are answered first: a READ or atomic by its response.
 */
static bool request_no_invalidation(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 last = cairn_psn_add(resp->epsn, CAIRN_24BIT_MASK);

	cairn_env_count(qpc, CAIRN_CTR_REMOTE_ACCESS_ERRORS, 1);
	cairn_recv_fail(qpc, CAIRN_CQE_LOC_ACCESS_ERR);
	resp->msg.kind = CAIRN_KIND_NONE;
	if (!resp->replay.any || resp->replay.psn != last)
		cairn_answer_owe_ack(resp, last);
	resp->nak.fatal = true;
	resp->nak.event = CAIRN_ASYNC_QP_ACCESS_ERR + 1;
	return false;
}

/*
 * SEND with invalidate: the receive completes when no access to the memory is left.
 * Until then the packet is kept among those that are ahead of a gap, and is executed
 * again later. Its receive and its payload are in place.
 */
static bool request_invalidated(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int err = 0;

	if (!resp->inval_over || resp->inval_key != pkt->rkey)
		err = cairn_env_invalidate(qpc, pkt->rkey);
	resp->inval_over = false;
	if (!err)
		return true;
	if (err == -EINPROGRESS) {
		resp->msg.received -= pkt->payload_len;
		resp->inval_key = pkt->rkey;
		resp->waits = true;
		cairn_hold(qpc, pkt);
		return false;
	}
	if (pkt->kept) {
		resp->msg.received -= pkt->payload_len;
		return false;
	}
	return request_no_invalidation(qpc);
}

static bool request_send(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (pkt->op->flags & CAIRN_OP_FIRST)
		resp->msg.received = 0;
	if (!cairn_recv_take(qpc, pkt) || !cairn_recv_place(qpc, pkt))
		return false;
	if (pkt->op->hdrs & CAIRN_HDR_IETH && !request_invalidated(qpc, pkt))
		return false;
	resp->msg.kind = CAIRN_KIND_SEND;
	if (!(pkt->op->flags & CAIRN_OP_LAST))
		return true;
	if (!cairn_recv_complete(qpc, pkt, CAIRN_CQE_SUCCESS))
		return cairn_refuse_fatal(qpc, pkt);
	cairn_request_done(resp);
	return true;
}

static bool request_read(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	u32 npkts = cairn_window_npkts(qpc, pkt->dma_len);

	if (!qpc->attrs.remote_read)
		return cairn_refuse_invalid(qpc, pkt);
	if (pkt->dma_len > qpc->max_msg || npkts > CAIRN_PSN_SPAN)
		return cairn_refuse_invalid(qpc, pkt);
	if (pkt->dma_len &&
	    cairn_env_check(qpc, pkt->rkey, pkt->va, pkt->dma_len,
			    CAIRN_ACCESS_REMOTE_READ))
		return cairn_refuse_no_access(qpc, pkt);
	if (!cairn_replay_add(qpc, pkt, npkts, 0))
		return cairn_refuse_invalid(qpc, pkt);
	cairn_request_done(&qpc->resp);
	/* A READ takes one PSN for each response packet. */
	qpc->resp.epsn = cairn_psn_add(qpc->resp.epsn, npkts - 1);
	return true;
}

static int request_check_word(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			      u8 *durability)
{
	return pkt->op->kind == CAIRN_KIND_ATOMIC_REQ ?
	       cairn_env_check_atomic(qpc, pkt->rkey, pkt->va, durability) :
	       cairn_env_check_write(qpc, pkt->rkey, pkt->va, sizeof(u64),
				     durability);
}

/* Check the word of an atomic or ATOMIC WRITE. With host flush it takes a receive, as a
 * message does, to ask the application. Return: false: refused, or put off.
 */
static bool request_word_ready(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			       enum cairn_persist *method)
{
	u8 durability;

	/* Check for room for the result before the side effect. */
	if (pkt->va % sizeof(u64) || !cairn_replay_room(qpc))
		return cairn_refuse_invalid(qpc, pkt);
	if (request_check_word(qpc, pkt, &durability) ||
	    !cairn_persist_allowed(qpc, durability))
		return cairn_refuse_no_access(qpc, pkt);
	*method = cairn_persist_method(durability);
	if (*method != CAIRN_PERSIST_HOST)
		return true;
	if (!cairn_persist_room(qpc))
		return cairn_refuse_not_ready(qpc, pkt);
	return cairn_recv_take(qpc, pkt);
}

/* The word is stored. Its response leaves when it is durable. */
static bool request_word_done(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			      enum cairn_persist method, u64 orig)
{
	if (method == CAIRN_PERSIST_NIC)
		qpc->resp.persist.fence_due = true;
	if (method == CAIRN_PERSIST_HOST && !cairn_persist_word(qpc, pkt))
		return cairn_refuse_fatal(qpc, pkt);
	cairn_replay_add(qpc, pkt, 1, orig);
	cairn_request_done(&qpc->resp);
	return true;
}

static bool request_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	enum cairn_persist method;
	u64 orig;
	int err;

	if (!qpc->attrs.remote_atomic)
		return cairn_refuse_invalid(qpc, pkt);
	if (!request_word_ready(qpc, pkt, &method))
		return false;
	err = cairn_env_atomic(qpc, pkt, &orig, method == CAIRN_PERSIST_NIC);
	if (err)
		return cairn_refuse_access(qpc, pkt, err);
	return request_word_done(qpc, pkt, method, orig);
}

/* ATOMIC WRITE: one word, stored atomically, and durable as a WRITE would be. */
static bool request_atomic_write(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt)
{
	enum cairn_access access = CAIRN_ACCESS_REMOTE_WRITE;
	enum cairn_persist method;
	int err;

	if (!qpc->attrs.remote_write || pkt->dma_len != sizeof(u64) ||
	    pkt->payload_len != sizeof(u64))
		return cairn_refuse_invalid(qpc, pkt);
	if (!request_word_ready(qpc, pkt, &method))
		return false;
	if (method == CAIRN_PERSIST_NIC)
		access = CAIRN_ACCESS_REMOTE_PERSIST;
	err = cairn_env_store(qpc, pkt, access);
	if (err)
		return cairn_refuse_access(qpc, pkt, err);
	return request_word_done(qpc, pkt, method, 0);
}

static bool request_flush(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int err;

	if (!cairn_flush_valid(qpc, pkt))
		return cairn_refuse_invalid(qpc, pkt);
	/* Not an error, as not every requester counts FLUSH with its READs. */
	if (!cairn_replay_room(qpc))
		return cairn_refuse_not_ready(qpc, pkt);
	err = cairn_flush_begin(qpc, pkt);
	if (err == -EINPROGRESS) {
		resp->waits = true;
		cairn_hold(qpc, pkt);
		return false;
	}
	if (err)
		return cairn_refuse_no_access(qpc, pkt);
	cairn_env_count(qpc, CAIRN_CTR_FLUSHES, 1);
	cairn_replay_add(qpc, pkt, 1, 0);
	cairn_request_done(resp);
	return true;
}

/* XRC: each request names its SRQ, even if it takes no receive. All packets of a
 * message name the same SRQ (IBTA A14).
 */
bool cairn_request_take_srq(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (!(pkt->op->flags & CAIRN_OP_TO_SRQ))
		return true;
	if (resp->srqn != pkt->srqn) {
		if (resp->msg.kind != CAIRN_KIND_NONE ||
		    (resp->recv.valid && pkt->kept))
			return cairn_refuse_invalid(qpc, pkt);
		/* A refused request for another SRQ had taken the receive. */
		if (!cairn_recv_flush(qpc))
			return cairn_refuse_fatal(qpc, pkt);
	}
	if (cairn_env_take_srq(qpc, pkt->srqn)) {
		if (!pkt->kept)
			cairn_env_count(qpc, CAIRN_CTR_RX_NO_SRQ, 1);
		return cairn_refuse_invalid(qpc, pkt);
	}
	resp->srqn = pkt->srqn;
	return true;
}

/* Get the SRQ and the response table if the request needs them. */
static bool request_prepare(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (!cairn_request_take_srq(qpc, pkt))
		return false;
	if (pkt->op->flags & CAIRN_OP_ANSWERED && !cairn_replay_begin(qpc))
		return cairn_refuse_not_ready(qpc, pkt);
	return true;
}

bool cairn_request_execute(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & (CAIRN_OP_ANSWERED | CAIRN_OP_TO_SRQ) &&
	    !request_prepare(qpc, pkt))
		return false;
	switch (pkt->op->kind) {
	case CAIRN_KIND_SEND:
		return request_send(qpc, pkt);
	case CAIRN_KIND_WRITE:
	case CAIRN_KIND_WRITE_PERSIST:
		return cairn_write_execute(qpc, pkt);
	case CAIRN_KIND_READ_REQ:
		return request_read(qpc, pkt);
	case CAIRN_KIND_ATOMIC_REQ:
		return request_atomic(qpc, pkt);
	case CAIRN_KIND_ATOMIC_WRITE:
		return request_atomic_write(qpc, pkt);
	case CAIRN_KIND_FLUSH:
		return request_flush(qpc, pkt);
	}
	return false;
}
