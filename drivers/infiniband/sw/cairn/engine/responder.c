// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder checks, places and executes requests, in PSN order for RC, and sends
 * responses, ACKs and NAKs (IBTA 9.7.4, 9.7.5, 9.8, 9.9.3).
 *
 * Handlers return true if the request counts as received: only then does the expected
 * PSN advance. Otherwise they may have set a NAK.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include "engine/aeth.h"
#include "engine/alarm.h"
#include "engine/congestion.h"
#include "engine/flush_resp.h"
#include "engine/hold.h"
#include "engine/pace.h"
#include "engine/persist_resp.h"
#include "engine/replay.h"
#include "engine/responder.h"
#include "engine/window.h"
#include "engine/wqe.h"

/* RNR timers while memory is being faulted in: 0.16 to 164 ms (IBTA table 45). */
#define RESP_FAULT_TIMER	8
#define RESP_FAULT_TRIES	5

u8 cairn_resp_ack_syndrome(struct cairn_qpc *qpc)
{
	int posted = cairn_env_rq_posted(qpc);

	/* Credits are relative to the MSN, so count the current receive, too. */
	if (posted >= 0 && qpc->resp.recv.valid)
		posted++;
	return CAIRN_AETH_ACK | cairn_aeth_encode_credits(posted);
}

static void resp_set_nak(struct cairn_responder *resp, u32 psn, u8 syndrome)
{
	resp->nak.syndrome = syndrome;
	resp->nak.psn = psn;
	resp->nak.msn = resp->msn;
	resp->nak.due = true;
	resp->nak.sent = true;
}

/* End the connection with a NAK, after the responses that are still pending. */
void cairn_resp_fail(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code)
{
	struct cairn_responder *resp = &qpc->resp;

	resp_set_nak(resp, psn, CAIRN_AETH_NAK | code);
	resp->nak.fatal = true;
	resp->nak.event = 0;
}

/* The same, and report an event to the host. */
void cairn_resp_fatal(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code,
		      enum cairn_async event)
{
	cairn_resp_fail(qpc, psn, code);
	qpc->resp.nak.event = event + 1;
}

/* The request is not valid here: RC ends the connection, UC and UD drop the message. */
static bool resp_invalid(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->kept)
		return false;
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (cairn_qp_reliable(qpc))
		cairn_resp_fatal(qpc, pkt->psn, CAIRN_NAK_INVALID_REQUEST,
				 CAIRN_ASYNC_QP_REQ_ERR);
	else
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
	return false;
}

static const struct cairn_sge *resp_recv_sges(struct cairn_responder *resp)
{
	return (void *)(resp->rwqe->bytes + CAIRN_RECV_SGE_OFFSET);
}

/* Complete the current receive. @pkt: the last packet; NULL: flushed. Data that peers
 * wrote before it is made durable first. Return: false if the CQ is full: the receive
 * stays the current one.
 */
static bool resp_complete_recv(struct cairn_qpc *qpc,
			       const struct cairn_pkt *pkt, u8 status)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_cqe cqe = {
		.wr_id = resp->rwqe->recv.wr_id,
		.qpn = qpc->qpn,
		.opcode = CAIRN_CQE_RECV,
		.status = status,
	};

	if (pkt && !status) {
		cairn_persist_fence(qpc);
		cqe.byte_len = resp->msg.received;
		cqe.psn = pkt->psn;
		if (pkt->op->kind == CAIRN_KIND_WRITE)
			cqe.opcode = CAIRN_CQE_RECV_IMM;
		if (pkt->op->hdrs & CAIRN_HDR_IMMDT) {
			cqe.flags |= CAIRN_CQE_WITH_IMM;
			cqe.imm_or_key = (__force u32)pkt->imm;
		}
		if (pkt->op->hdrs & CAIRN_HDR_IETH) {
			cqe.flags |= CAIRN_CQE_WITH_INV;
			cqe.imm_or_key = pkt->rkey;
		}
		if (pkt->op->hdrs & CAIRN_HDR_DETH) {
			u16 vlan = 0;

			cqe.src_qp = pkt->src_qpn;
			cqe.flags |= cairn_env_grh_flags(pkt, &vlan);
			cqe.vlan = vlan;
		}
		if (pkt->solicited)
			cqe.flags |= CAIRN_CQE_SOLICITED;
	}
	if (!cairn_env_complete(qpc, CAIRN_RESP, &cqe))
		return false;
	resp->recv.valid = false;
	return true;
}

/* Complete the current receive with an error, now or when the CQ has room. */
static void resp_fail_recv(struct cairn_qpc *qpc, u8 status)
{
	if (!resp_complete_recv(qpc, NULL, status))
		qpc->resp.recv.status = status;
}

/* A refused WRITE with immediate ends the receive that it would have taken (IBTA 11.6.2,
 * local access error). A longer one is refused before its immediate data has come.
 */
static void resp_refuse_immediate(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (!resp->recv.valid)
		resp->recv.valid = cairn_env_rq_take(qpc, resp->rwqe) > 0;
	if (resp->recv.valid)
		resp_fail_recv(qpc, CAIRN_CQE_LOC_ACCESS_ERR);
}

static bool resp_no_access(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->kept)
		return false;
	cairn_env_count(qpc, CAIRN_CTR_REMOTE_ACCESS_ERRORS, 1);
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (!cairn_qp_reliable(qpc))
		return false;
	if (pkt->op->hdrs & CAIRN_HDR_IMMDT)
		resp_refuse_immediate(qpc);
	cairn_resp_fatal(qpc, pkt->psn, CAIRN_NAK_REMOTE_ACCESS,
			 CAIRN_ASYNC_QP_ACCESS_ERR);
	return false;
}

/* End the connection without a NAK (IBTA 9.9.6.3, class J). The requests before this one
 * are answered first: a READ or atomic by its response.
 */
static bool resp_no_invalidation(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 last = cairn_psn_add(resp->epsn, CAIRN_24BIT_MASK);

	cairn_env_count(qpc, CAIRN_CTR_REMOTE_ACCESS_ERRORS, 1);
	resp_fail_recv(qpc, CAIRN_CQE_LOC_ACCESS_ERR);
	resp->msg.kind = CAIRN_KIND_NONE;
	if (!resp->replay.any || resp->replay.psn != last)
		cairn_resp_owe_ack(resp, last);
	resp->nak.fatal = true;
	resp->nak.event = CAIRN_ASYNC_QP_ACCESS_ERR + 1;
	return false;
}

/* The current receive fails for an error of the host's WQE: move to ERR. */
static bool resp_recv_failed(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			     u8 status, enum cairn_nak code)
{
	if (status == CAIRN_CQE_LOC_PROT_ERR)
		cairn_env_count(qpc, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	resp_fail_recv(qpc, status);
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (cairn_qp_reliable(qpc)) {
		/* No event: the CQE reports the error to the host. */
		cairn_resp_fail(qpc, pkt->psn, code);
	} else {
		cairn_qpc_fail(qpc);
	}
	return false;
}

/* No receive is posted: RC sends an RNR NAK, the others drop the message. A kept packet
 * gets no RNR NAK, as it may be forged and the NAK ends the connection of a peer that
 * does not retry.
 */
static bool resp_not_ready(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->kept)
		return false;
	if (cairn_qp_reliable(qpc)) {
		resp_set_nak(&qpc->resp, pkt->psn,
			     CAIRN_AETH_RNR_NAK | qpc->attrs.min_rnr_timer);
		return false;
	}
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	cairn_env_count(qpc, CAIRN_CTR_RX_NO_WQE, 1);
	return false;
}

/* Memory is being faulted in: RC sends an RNR NAK, so that the peer retries; the others
 * drop the message. Each RNR NAK asks for four times the delay of the last, so that the
 * peer's retries last even for a page on a slow disk.
 */
static bool resp_not_present(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (pkt->kept)
		return false;
	if (!cairn_qp_reliable(qpc)) {
		resp->msg.kind = CAIRN_KIND_NONE;
		cairn_env_count(qpc, CAIRN_CTR_ODP_DROPS, 1);
		return false;
	}
	resp_set_nak(resp, pkt->psn, CAIRN_AETH_RNR_NAK |
		     (RESP_FAULT_TIMER + 4 * resp->odp.tries));
	if (resp->odp.tries < RESP_FAULT_TRIES)
		resp->odp.tries++;
	return false;
}

/* The host's queues do not allow the request to be executed: report QP_FATAL. */
static bool resp_local_error(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (cairn_qp_reliable(qpc))
		cairn_resp_fatal(qpc, pkt->psn, CAIRN_NAK_REMOTE_OP,
				 CAIRN_ASYNC_QP_FATAL);
	else
		cairn_qpc_fatal(qpc);
	return false;
}

/* The write pointer of the receive ring is out of range. Report one event. */
static bool resp_bad_ring(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	cairn_env_count(qpc, CAIRN_CTR_BAD_RINGS, 1);
	return resp_local_error(qpc, pkt);
}

/* The CQ has no room: the message is not acknowledged (IBTA 9.9.3, local QP error), and
 * its receive is flushed. Even for a kept packet, as the error is the host's.
 */
static bool resp_overrun(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	return resp_local_error(qpc, pkt);
}

/* Flush the current receive. If its SRQ was destroyed, the receive went with it. Return:
 * false if it waits for room in the CQ.
 */
static bool resp_flush_recv(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->recv.valid && cairn_resp_srq(qpc, resp->srqn))
		resp->recv.valid = false;
	if (resp->recv.valid &&
	    !resp_complete_recv(qpc, NULL, resp->recv.status ?:
				CAIRN_CQE_WR_FLUSH_ERR))
		return false;
	resp->recv.status = 0;
	return true;
}

/* Take a receive for this message, unless it has one. */
static bool resp_take_recv(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 status;
	int units;

	if (resp->recv.valid)
		return true;
	units = cairn_env_rq_take(qpc, resp->rwqe);
	if (!units)
		return resp_not_ready(qpc, pkt);
	if (units < 0)
		return resp_bad_ring(qpc, pkt);
	resp->recv.valid = true;
	status = cairn_wqe_check_recv(qpc, resp->rwqe, units, &resp->recv.len);
	if (!status)
		return true;
	cairn_env_count(qpc, CAIRN_CTR_BAD_WQES, 1);
	return resp_recv_failed(qpc, pkt, status, CAIRN_NAK_REMOTE_OP);
}

/* Payload sizes: all but the last packet are full (IBTA 9.7.4.1.6). */
static bool resp_size_fits(const struct cairn_qpc *qpc,
			   const struct cairn_pkt *pkt)
{
	u32 pmtu = qpc->attrs.pmtu;

	if (!(pkt->op->flags & CAIRN_OP_LAST))
		return pkt->payload_len == pmtu;
	if (!(pkt->op->flags & CAIRN_OP_FIRST) && !pkt->payload_len)
		return false;
	return pkt->payload_len <= pmtu;
}

/* Does the packet continue the current message (IBTA 9.7.4.1.2)? */
static bool resp_in_sequence(const struct cairn_responder *resp,
			     const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & CAIRN_OP_FIRST)
		return resp->msg.kind == CAIRN_KIND_NONE;
	return resp->msg.kind == pkt->op->kind;
}

static bool resp_too_long(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (cairn_qp_reliable(qpc))
		return resp_recv_failed(qpc, pkt, CAIRN_CQE_LOC_LEN_ERR,
					CAIRN_NAK_INVALID_REQUEST);
	cairn_env_count(qpc, CAIRN_CTR_RX_TOO_LONG, 1);
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	return false;
}

static void resp_message_done(struct cairn_responder *resp)
{
	resp->msg.kind = CAIRN_KIND_NONE;
	resp->msn = cairn_psn_add(resp->msn, 1);
}

static bool resp_place_recv(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_span to = {
		.sge = resp_recv_sges(resp),
		.num_sge = resp->rwqe->recv.num_sge,
		.offset = resp->msg.received,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
		.side = CAIRN_RESP,
	};
	int err = 0;

	if (pkt->payload_len > resp->recv.len - resp->msg.received)
		return !pkt->kept && resp_too_long(qpc, pkt);
	if (pkt->payload_len)
		err = cairn_env_place(qpc, &to, pkt, pkt->payload_len);
	if (err == -EAGAIN)
		return resp_not_present(qpc, pkt);
	if (err)
		return !pkt->kept &&
		       resp_recv_failed(qpc, pkt, CAIRN_CQE_LOC_PROT_ERR,
					CAIRN_NAK_REMOTE_OP);
	resp->msg.received += pkt->payload_len;
	return true;
}

/*
 * SEND with invalidate: the receive completes when no access to the memory is left.
 * Until then the packet is kept among those that are ahead of a gap, and is executed
 * again later. Its receive and its payload are in place.
 */
static bool resp_invalidated(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
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
	return resp_no_invalidation(qpc);
}

static bool resp_do_send(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (pkt->op->flags & CAIRN_OP_FIRST)
		resp->msg.received = 0;
	if (!resp_take_recv(qpc, pkt) || !resp_place_recv(qpc, pkt))
		return false;
	if (pkt->op->hdrs & CAIRN_HDR_IETH && !resp_invalidated(qpc, pkt))
		return false;
	resp->msg.kind = CAIRN_KIND_SEND;
	if (!(pkt->op->flags & CAIRN_OP_LAST))
		return true;
	if (!resp_complete_recv(qpc, pkt, CAIRN_CQE_SUCCESS))
		return resp_overrun(qpc, pkt);
	resp_message_done(resp);
	return true;
}

/* Does the RETH name memory? An empty WRITE_PERSIST may: its answer then reports the
 * durability of that memory. A wrong key ends the connection, as with data, so that a
 * peer cannot probe keys.
 */
static bool resp_names_memory(const struct cairn_pkt *pkt)
{
	return pkt->dma_len ||
	       (pkt->op->kind == CAIRN_KIND_WRITE_PERSIST && pkt->rkey);
}

/* UC has no acknowledgement that could wait for durability, so it may not write to
 * such memory. The XRC target QP has no program to ask for a host flush.
 */
static bool resp_may_persist(const struct cairn_qpc *qpc, int durability)
{
	return qpc->transport == CAIRN_TRANSPORT_RC ||
	       (cairn_qp_reliable(qpc) &&
		cairn_persist_method(durability) != CAIRN_PERSIST_HOST);
}

/* Check the RETH of a FIRST or ONLY: all of its range must be writable. */
static int resp_start_write(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 durability = CAIRN_DURABILITY_UNKNOWN;

	if (pkt->dma_len > qpc->max_msg)
		return -EINVAL;
	if (resp_names_memory(pkt)) {
		if (cairn_env_check_write(qpc, pkt->rkey, pkt->va,
					  max(pkt->dma_len, 1u), &durability) ||
		    (pkt->op->kind == CAIRN_KIND_WRITE_PERSIST && !durability))
			return -EFAULT;
	}
	if (durability && !resp_may_persist(qpc, durability))
		return -EFAULT;
	resp->msg.durability = durability;
	resp->msg.method = pkt->dma_len ? cairn_persist_method(durability) :
				       CAIRN_PERSIST_NONE;
	resp->persist.msg_psn = pkt->psn;
	resp->msg.received = 0;
	resp->msg.rkey = pkt->rkey;
	resp->msg.va = pkt->va;
	resp->msg.remaining = pkt->dma_len;
	return 0;
}

/* The last packet may have ended within a word. Its held bytes are stored with this
 * packet, so the destination begins with them. A refused packet leaves them held.
 */
static int resp_place_words(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			    struct cairn_sge *sge, const struct cairn_span *to)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_words words = resp->persist.words;

	sge->addr -= words.len;
	sge->length += words.len;
	if (cairn_env_place_words(qpc, to, pkt, pkt->payload_len, &words,
				  pkt->op->flags & CAIRN_OP_LAST))
		return -EFAULT;
	resp->persist.words = words;
	return 0;
}

static int resp_place_payload(struct cairn_qpc *qpc,
			      const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_sge sge = {
		.addr = resp->msg.va,
		.length = pkt->payload_len,
		.lkey = resp->msg.rkey,
	};
	struct cairn_span to = {
		.sge = &sge,
		.num_sge = 1,
		.more = resp->msg.remaining - pkt->payload_len,
		.access = resp->msg.method == CAIRN_PERSIST_NIC ?
			  CAIRN_ACCESS_REMOTE_PERSIST :
			  CAIRN_ACCESS_REMOTE_WRITE,
		.side = CAIRN_RESP,
	};

	if (resp->msg.method != CAIRN_PERSIST_NONE)
		return resp_place_words(qpc, pkt, &sge, &to);
	return cairn_env_place(qpc, &to, pkt, pkt->payload_len);
}

static int resp_place_write(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int err = 0;

	if (pkt->payload_len)
		err = resp_place_payload(qpc, pkt);
	if (err)
		return err;
	if (resp->msg.method == CAIRN_PERSIST_NIC)
		resp->persist.fence_due = true;
	resp->msg.va += pkt->payload_len;
	resp->msg.received += pkt->payload_len;
	resp->msg.remaining -= pkt->payload_len;
	return 0;
}

/* Get the resources that the last packet of a WRITE consumes, or send an RNR NAK. */
static bool resp_ready_for_last(struct cairn_qpc *qpc,
				const struct cairn_pkt *pkt)
{
	bool host = qpc->resp.msg.method == CAIRN_PERSIST_HOST;

	if (host && !cairn_persist_room(qpc))
		return resp_not_ready(qpc, pkt);
	if (host || pkt->op->hdrs & CAIRN_HDR_IMMDT)
		return resp_take_recv(qpc, pkt);
	return true;
}

static bool resp_write_done(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 msn = resp->msn;

	if (resp->msg.method != CAIRN_PERSIST_HOST &&
	    pkt->op->hdrs & CAIRN_HDR_IMMDT &&
	    !resp_complete_recv(qpc, pkt, CAIRN_CQE_SUCCESS))
		return resp_overrun(qpc, pkt);
	resp_message_done(resp);
	if (cairn_persist_placed(qpc, pkt))
		return true;
	/* The NAK does not count the message. */
	resp->msn = msn;
	return resp_overrun(qpc, pkt);
}

static bool resp_do_write(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	bool last = pkt->op->flags & CAIRN_OP_LAST;
	struct cairn_responder *resp = &qpc->resp;
	int err;

	if (!qpc->attrs.remote_write)
		return resp_invalid(qpc, pkt);
	if (pkt->op->flags & CAIRN_OP_FIRST) {
		err = resp_start_write(qpc, pkt);
		if (err)
			return err == -EFAULT ? resp_no_access(qpc, pkt) :
						resp_invalid(qpc, pkt);
	}
	if (last ? pkt->payload_len != resp->msg.remaining :
		   pkt->payload_len >= resp->msg.remaining)
		return resp_invalid(qpc, pkt);
	if (last && !resp_ready_for_last(qpc, pkt))
		return false;
	err = resp_place_write(qpc, pkt);
	if (err)
		return err == -EAGAIN ? resp_not_present(qpc, pkt) :
					resp_no_access(qpc, pkt);
	resp->msg.kind = pkt->op->kind;
	return !last || resp_write_done(qpc, pkt);
}

static bool resp_do_read(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	u32 npkts = cairn_window_npkts(qpc, pkt->dma_len);

	if (!qpc->attrs.remote_read)
		return resp_invalid(qpc, pkt);
	if (pkt->dma_len > qpc->max_msg || npkts > CAIRN_PSN_SPAN)
		return resp_invalid(qpc, pkt);
	if (pkt->dma_len &&
	    cairn_env_check(qpc, pkt->rkey, pkt->va, pkt->dma_len,
			    CAIRN_ACCESS_REMOTE_READ))
		return resp_no_access(qpc, pkt);
	if (!cairn_replay_add(qpc, pkt, npkts, 0))
		return resp_invalid(qpc, pkt);
	resp_message_done(&qpc->resp);
	/* A READ takes one PSN for each response packet. */
	qpc->resp.epsn = cairn_psn_add(qpc->resp.epsn, npkts - 1);
	return true;
}

static bool resp_do_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	enum cairn_persist persist;
	u64 orig;
	int err;

	if (!qpc->attrs.remote_atomic)
		return resp_invalid(qpc, pkt);
	if (pkt->va & 7)
		return resp_invalid(qpc, pkt);
	/* Check for room for the result before the side effect. */
	if (!cairn_replay_room(qpc))
		return resp_invalid(qpc, pkt);
	err = cairn_env_atomic(qpc, pkt, &orig, &persist);
	if (err)
		return err == -EAGAIN ? resp_not_present(qpc, pkt) :
					resp_no_access(qpc, pkt);
	if (persist == CAIRN_PERSIST_NIC)
		resp->persist.fence_due = true;
	cairn_replay_add(qpc, pkt, 1, orig);
	resp_message_done(resp);
	return true;
}

/* ATOMIC WRITE: one word, stored atomically, and durable as a WRITE would be. It is
 * refused in a region with host flush, as no receive could ask the application.
 */
static bool resp_do_atomic_write(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	enum cairn_access access = CAIRN_ACCESS_REMOTE_WRITE;
	enum cairn_persist method;
	u8 durability;
	int err;

	if (!qpc->attrs.remote_write || pkt->va % sizeof(u64) ||
	    pkt->dma_len != sizeof(u64) || pkt->payload_len != sizeof(u64) ||
	    !cairn_replay_room(qpc))
		return resp_invalid(qpc, pkt);
	if (cairn_env_check_write(qpc, pkt->rkey, pkt->va, sizeof(u64),
				  &durability))
		return resp_no_access(qpc, pkt);
	method = cairn_persist_method(durability);
	if (method == CAIRN_PERSIST_NIC)
		access = CAIRN_ACCESS_REMOTE_PERSIST;
	err = method == CAIRN_PERSIST_HOST ? -EFAULT :
					     cairn_env_store(qpc, pkt, access);
	if (err)
		return err == -EAGAIN ? resp_not_present(qpc, pkt) :
					resp_no_access(qpc, pkt);
	if (method == CAIRN_PERSIST_NIC)
		resp->persist.fence_due = true;
	cairn_replay_add(qpc, pkt, 1, 0);
	resp_message_done(resp);
	return true;
}

static bool resp_do_flush(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int err;

	if (!cairn_flush_valid(qpc, pkt))
		return resp_invalid(qpc, pkt);
	/* Not an error, as not every requester counts FLUSH with its READs. */
	if (!cairn_replay_room(qpc))
		return resp_not_ready(qpc, pkt);
	err = cairn_flush_begin(qpc, pkt);
	if (err == -EINPROGRESS) {
		resp->waits = true;
		cairn_hold(qpc, pkt);
		return false;
	}
	if (err)
		return resp_no_access(qpc, pkt);
	cairn_env_count(qpc, CAIRN_CTR_FLUSHES, 1);
	cairn_replay_add(qpc, pkt, 1, 0);
	resp_message_done(resp);
	return true;
}

/* XRC: each request names its SRQ, even if it takes no receive. All packets of a
 * message name the same SRQ (IBTA A14).
 */
static bool resp_take_srq(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->srqn != pkt->srqn) {
		if (resp->msg.kind != CAIRN_KIND_NONE ||
		    (resp->recv.valid && pkt->kept))
			return resp_invalid(qpc, pkt);
		/* A refused request for another SRQ had taken the receive. */
		if (!resp_flush_recv(qpc))
			return resp_overrun(qpc, pkt);
	}
	if (cairn_env_take_srq(qpc, pkt->srqn)) {
		if (!pkt->kept)
			cairn_env_count(qpc, CAIRN_CTR_RX_NO_SRQ, 1);
		return resp_invalid(qpc, pkt);
	}
	resp->srqn = pkt->srqn;
	return true;
}

/* Get the SRQ and the response table if the request needs them. */
static bool resp_prepare(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & CAIRN_OP_TO_SRQ && !resp_take_srq(qpc, pkt))
		return false;
	if (pkt->op->flags & CAIRN_OP_ANSWERED && !cairn_replay_begin(qpc))
		return resp_not_ready(qpc, pkt);
	return true;
}

static bool resp_execute(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & (CAIRN_OP_ANSWERED | CAIRN_OP_TO_SRQ) &&
	    !resp_prepare(qpc, pkt))
		return false;
	switch (pkt->op->kind) {
	case CAIRN_KIND_SEND:
		return resp_do_send(qpc, pkt);
	case CAIRN_KIND_WRITE:
	case CAIRN_KIND_WRITE_PERSIST:
		return resp_do_write(qpc, pkt);
	case CAIRN_KIND_READ_REQ:
		return resp_do_read(qpc, pkt);
	case CAIRN_KIND_ATOMIC_REQ:
		return resp_do_atomic(qpc, pkt);
	case CAIRN_KIND_ATOMIC_WRITE:
		return resp_do_atomic_write(qpc, pkt);
	case CAIRN_KIND_FLUSH:
		return resp_do_flush(qpc, pkt);
	}
	return false;
}

void cairn_resp_owe_ack(struct cairn_responder *resp, u32 psn)
{
	if (!resp->ack_due || cairn_psn_diff(psn, resp->ack_psn) > 0)
		resp->ack_psn = psn;
	resp->ack_due = true;
}

/*
 * Acknowledge a duplicate SEND or WRITE with the PSN of the latest SEND or WRITE, but
 * not past a READ or atomic whose response may be lost. A requester would take an ACK
 * of those for the response.
 */
static void resp_ack_duplicate(struct cairn_responder *resp, u32 psn)
{
	if (resp->replay.any && cairn_psn_diff(resp->replay.psn, psn) > 0)
		cairn_resp_owe_ack(resp, psn);
	else
		cairn_resp_owe_ack(resp, resp->done_psn);
}

/* Note an executed request. The response of a READ or atomic acknowledges all requests
 * before it.
 */
static void resp_note_executed(struct cairn_responder *resp,
			       const struct cairn_pkt *pkt)
{
	resp->epsn = cairn_psn_add(resp->epsn, 1);
	/* It does not apply to later packets. */
	resp->inval_over = false;
	if (!(pkt->op->flags & CAIRN_OP_ANSWERED)) {
		resp->done_psn = pkt->psn;
		if (pkt->ack_req)
			cairn_resp_owe_ack(resp, pkt->psn);
	} else {
		resp->replay.psn = cairn_psn_add(resp->epsn, CAIRN_24BIT_MASK);
		resp->replay.any = true;
		resp->ack_due = false;
	}
}

static void resp_duplicate(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	cairn_env_count(qpc, CAIRN_CTR_DUPLICATE_REQUEST, 1);
	switch (pkt->op->kind) {
	case CAIRN_KIND_WRITE_PERSIST:
		if (cairn_persist_covers(&qpc->resp, pkt->psn)) {
			qpc->resp.persist.ack_due = true;
			break;
		}
		fallthrough;
	case CAIRN_KIND_SEND:
	case CAIRN_KIND_WRITE:
		/* A requester that misses an ACK sets AckReq. */
		if (cairn_persist_repeated(&qpc->resp, pkt->psn))
			qpc->resp.repeated = true;
		if (pkt->ack_req || qpc->resp.repeated)
			resp_ack_duplicate(&qpc->resp, pkt->psn);
		break;
	case CAIRN_KIND_READ_REQ:
	case CAIRN_KIND_ATOMIC_REQ:
	case CAIRN_KIND_ATOMIC_WRITE:
	case CAIRN_KIND_FLUSH:
		/* An unknown one is dropped; the requester retries from its oldest
		 * unanswered request.
		 */
		cairn_replay_duplicate(qpc, pkt);
		break;
	}
}

static void resp_nak_gap(struct cairn_responder *resp)
{
	resp_set_nak(resp, resp->epsn, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
}

/* After an RNR NAK the requester sends all packets again (IBTA 9.7.5.2.8). */
static bool resp_rnr_said(const struct cairn_responder *resp)
{
	return resp->nak.sent &&
	       (resp->nak.syndrome & CAIRN_AETH_TYPE_MASK) ==
		       CAIRN_AETH_RNR_NAK;
}

/* A request ahead of the expected PSN. From another UDP port than that of the packets in
 * sequence it may be forged, so it is neither kept nor reported with a NAK. A peer with
 * several ports sends more packets from the known one.
 */
static void resp_rx_ahead(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	cairn_env_count(qpc, CAIRN_CTR_OUT_OF_SEQUENCE, 1);
	if (resp->peer_port.known && pkt->flow != resp->peer_port.sport) {
		cairn_env_count(qpc, CAIRN_CTR_RX_OTHER_PORT, 1);
		return;
	}
	if (!resp_rnr_said(resp))
		cairn_hold(qpc, pkt);
	/* One NAK for each gap (IBTA 9.7.5.2.8). */
	if (!resp->nak.sent && !resp->waits)
		resp_nak_gap(resp);
}

/* Handle the expected packet. Return: true if it counts as received. */
static bool resp_take_expected(struct cairn_qpc *qpc,
			       const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 epsn = resp->epsn;

	resp->nak.sent = false;
	resp->nak.due = false;
	/* The fault is over: start again with short RNR timers, even if the page has
	 * been evicted since.
	 */
	if (resp->odp.tries && !cairn_env_faulting(qpc, CAIRN_RESP))
		resp->odp.tries = 0;
	if (!resp_in_sequence(resp, pkt) || !resp_size_fits(qpc, pkt))
		return resp_invalid(qpc, pkt);
	if (!resp_execute(qpc, pkt))
		return false;
	resp_note_executed(resp, pkt);
	cairn_hold_passed(resp, epsn, cairn_psn_diff(resp->epsn, epsn));
	return true;
}

/* Execute kept packets from the expected PSN on. @asked: an answer was requested. */
static void resp_run_held(struct cairn_qpc *qpc, bool asked)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_pkt held;

	while (cairn_hold_next(qpc, &held)) {
		asked = true;
		held.kept = true;
		if (resp_take_expected(qpc, &held))
			continue;
		if (resp->waits)
			return;
		if (resp->nak.due) {
			cairn_hold_drop(qpc);	/* everything is repeated */
			return;
		}
		cairn_hold_refuse(qpc, resp->epsn);
		break;
	}
	if (resp->holding && (asked || resp->ack_due))
		resp_nak_gap(resp);
}

static void resp_rx_expected(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->waits)
		return;			/* a duplicate of the waiting packet */
	resp->peer_port.sport = pkt->flow;
	resp->peer_port.known = true;
	if (resp_take_expected(qpc, pkt))
		resp_run_held(qpc, pkt->ack_req ||
			      pkt->op->flags & CAIRN_OP_ANSWERED);
	else if (!resp->waits)
		cairn_hold_drop(qpc);	/* everything is repeated */
}

/* The region of a FLUSH ended while the FLUSH was in progress. */
static void resp_flush_failed(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	resp->waits = false;
	cairn_hold_drop(qpc);
	cairn_env_count(qpc, CAIRN_CTR_REMOTE_ACCESS_ERRORS, 1);
	cairn_resp_fatal(qpc, resp->epsn, CAIRN_NAK_REMOTE_ACCESS,
			 CAIRN_ASYNC_QP_ACCESS_ERR);
}

/* Can the waiting packet be executed? Return: 0 if so; -EAGAIN: it needs another turn;
 * other errors: not yet, or never.
 */
static int resp_wait_ends(struct cairn_qpc *qpc, struct cairn_budget *budget)
{
	struct cairn_responder *resp = &qpc->resp;
	int err;

	if (resp->flush.left) {
		err = cairn_resp_srq(qpc, resp->srqn) ?:
		      cairn_flush_run(qpc, budget);
		if (err == -EFAULT)
			resp_flush_failed(qpc);
		return err;
	}
	if (!cairn_env_invalidated(qpc, CAIRN_RESP))
		return -EINPROGRESS;
	resp->inval_over = true;
	return 0;
}

/* Execute the waiting packet again if it can be. Return: true if that needs another turn. */
static bool resp_resume(struct cairn_qpc *qpc, struct cairn_budget *budget)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 epsn = resp->epsn;
	int err = resp_wait_ends(qpc, budget);

	if (err)
		return err == -EAGAIN;
	resp->waits = false;
	resp_run_held(qpc, true);
	/* The packet was not kept for lack of room, so request it again. */
	if (resp->epsn == epsn && !resp->waits && !resp->nak.due)
		resp_nak_gap(resp);
	return resp->waits && resp->flush.left;
}

static void resp_rx_rc(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	s32 diff = cairn_psn_diff(pkt->psn, qpc->resp.epsn);

	if (diff < 0)
		resp_duplicate(qpc, pkt);
	else if (diff > 0)
		resp_rx_ahead(qpc, pkt);
	else
		resp_rx_expected(qpc, pkt);
}

/* UC (IBTA 9.8.2): a gap drops the message; the next FIRST starts a new one. */
static void resp_rx_uc(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	bool gap = pkt->psn != resp->epsn;

	resp->epsn = cairn_psn_add(pkt->psn, 1);
	if ((gap || pkt->op->flags & CAIRN_OP_FIRST) &&
	    resp->msg.kind != CAIRN_KIND_NONE) {
		cairn_env_count(qpc, CAIRN_CTR_RX_UC_GAPS, 1);
		resp->msg.kind = CAIRN_KIND_NONE;
	}
	/* The rest of a dropped message. */
	if (!resp_in_sequence(resp, pkt))
		return;
	if (!resp_size_fits(qpc, pkt)) {
		resp_invalid(qpc, pkt);
		return;
	}
	resp_execute(qpc, pkt);
}

static void resp_rx_ud(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 grh[CAIRN_GRH_LEN];
	struct cairn_span to;
	int err;

	if (pkt->qkey != qpc->attrs.qkey) {
		cairn_env_count(qpc, CAIRN_CTR_RX_QKEY_ERRORS, 1);
		return;
	}
	if (pkt->payload_len > qpc->attrs.pmtu) {
		resp_invalid(qpc, pkt);
		return;
	}
	if (!resp_take_recv(qpc, pkt))
		return;
	if (resp->recv.len < CAIRN_GRH_LEN + pkt->payload_len) {
		resp_too_long(qpc, pkt);
		return;
	}
	to = (struct cairn_span){
		.sge = resp_recv_sges(resp),
		.num_sge = resp->rwqe->recv.num_sge,
		.more = pkt->payload_len,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
		.side = CAIRN_RESP,
	};
	cairn_env_grh(pkt, grh);
	err = cairn_env_place_bytes(qpc, &to, grh, CAIRN_GRH_LEN);
	if (err) {
		if (err == -EAGAIN)
			resp_not_present(qpc, pkt);
		else
			resp_recv_failed(qpc, pkt, CAIRN_CQE_LOC_PROT_ERR, 0);
		return;
	}
	resp->msg.received = CAIRN_GRH_LEN;
	if (!resp_place_recv(qpc, pkt))
		return;
	if (!resp_complete_recv(qpc, pkt, CAIRN_CQE_SUCCESS))
		resp_overrun(qpc, pkt);
}

void cairn_resp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 state = cairn_state(qpc);

	cairn_env_assert_held(qpc, CAIRN_RESP);
	if (pkt->op->transport != qpc->takes || state < CAIRN_QP_RTR ||
	    state == CAIRN_QP_ERR || resp->nak.fatal) {
		cairn_env_count(qpc, CAIRN_CTR_RX_WRONG_QP, 1);
		return;
	}
	if (!cairn_qp_sender_fits(qpc, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_SPOOFED, 1);
		return;
	}
	if (!cairn_qp_pkey_fits(qpc, pkt->pkey)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_PKEY_ERRORS, 1);
		return;
	}
	if (state == CAIRN_QP_RTR && !resp->comm_est) {
		resp->comm_est = true;
		cairn_env_async(qpc, CAIRN_ASYNC_COMM_EST);
	}
	if (pkt->ce)
		cairn_congestion_marked(qpc, CAIRN_RESP, now);
	if (cairn_qp_reliable(qpc))
		resp_rx_rc(qpc, pkt);
	else if (qpc->transport == CAIRN_TRANSPORT_UC)
		resp_rx_uc(qpc, pkt);
	else
		resp_rx_ud(qpc, pkt);
}

static void resp_emit_aeth(struct cairn_qpc *qpc, u8 opcode, u32 psn, u32 msn,
			   u8 syndrome)
{
	struct cairn_train train = {
		.count = 1,
		.first = {
			.opcode = opcode,
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = psn,
			.syndrome = syndrome,
			.msn = msn,
			.durability = qpc->resp.persist.durability,
		},
	};

	cairn_env_emit(qpc, CAIRN_RESP, &train);
}

static void resp_send_nak(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 type = resp->nak.syndrome & CAIRN_AETH_TYPE_MASK;
	u32 psn = resp->nak.psn, msn = resp->nak.msn;

	/* Delay a NAK of a gap: with an earlier PSN it would cost a retry. */
	if (cairn_persist_limit(resp, &psn, &msn) && !resp->nak.fatal &&
	    type != CAIRN_AETH_RNR_NAK)
		return;
	cairn_env_count(qpc, resp->nak.persist ? CAIRN_CTR_PERSIST_NAKS_SENT :
		      resp->nak.fatal ? CAIRN_CTR_FATAL_NAKS_SENT :
		      type == CAIRN_AETH_RNR_NAK ? CAIRN_CTR_RNR_NAKS_SENT :
						  CAIRN_CTR_SEQ_NAKS_SENT, 1);
	resp_emit_aeth(qpc,
		       resp->nak.persist ? CAIRN_BTH_PERSIST_ACK :
					   qpc->prefix | CAIRN_BTH_ACK,
		       psn, msn, resp->nak.syndrome);
	resp->nak.due = false;
	resp->ack_due = false;
	resp->nak.persist = false;
}

/* The connection ends: all answers are sent. */
static void resp_end(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	resp->nak.fatal = false;
	if (resp->nak.event)
		cairn_env_async(qpc, resp->nak.event - 1);
	cairn_qpc_fail(qpc);
}

static void resp_send_ack(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 psn = resp->ack_psn, msn = resp->msn;
	u8 hold = 0;

	resp->ack_due = false;
	if (resp->repeated)
		hold = cairn_persist_hold(resp, &psn, &msn);
	if (hold) {
		cairn_env_count(qpc, CAIRN_CTR_RNR_NAKS_SENT, 1);
		resp_emit_aeth(qpc, qpc->prefix | CAIRN_BTH_ACK, psn, msn, hold);
		return;
	}
	if (!cairn_persist_may_ack(qpc, &psn, &msn))
		return;
	cairn_env_count(qpc, CAIRN_CTR_ACKS_SENT, 1);
	resp_emit_aeth(qpc, qpc->prefix | CAIRN_BTH_ACK, psn, msn,
		       cairn_resp_ack_syndrome(qpc));
}

/* Send a PERSIST ACK of the watermark. It also acknowledges all packets before it. */
static void resp_send_persist_ack(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	resp->persist.ack_due = false;
	if (resp->ack_due &&
	    cairn_psn_diff(resp->ack_psn, resp->persist.durable_psn) <= 0)
		resp->ack_due = false;
	cairn_env_count(qpc, CAIRN_CTR_PERSIST_ACKS_SENT, 1);
	resp_emit_aeth(qpc, CAIRN_BTH_PERSIST_ACK, resp->persist.durable_psn,
		       resp->persist.durable_msn, cairn_resp_ack_syndrome(qpc));
}

/* ERR: flush posted receives, one for each packet of the budget, while the CQ has room.
 * A later post rings a doorbell. Return: true if more may be posted now.
 */
static bool resp_flush(struct cairn_qpc *qpc, struct cairn_budget *budget)
{
	struct cairn_responder *resp = &qpc->resp;

	cairn_hold_drop(qpc);
	resp->waits = false;
	resp->ack_due = false;
	resp->nak.due = false;
	resp->replay.pending = 0;
	resp->rate.marked = false;
	resp->msg.kind = CAIRN_KIND_NONE;
	cairn_persist_drop(resp);
	if (!resp_flush_recv(qpc))
		return false;
	if (qpc->has_srq) {
		if (!resp->last_wqe && qpc->transport != CAIRN_TRANSPORT_XRC)
			cairn_env_async(qpc, CAIRN_ASYNC_LAST_WQE_REACHED);
		resp->last_wqe = true;
		return false;
	}
	cairn_env_rq_ring_on_post(qpc);
	while (cairn_budget_left(budget)) {
		if (cairn_env_rq_take(qpc, resp->rwqe) <= 0)
			return false;
		resp->recv.valid = true;
		if (!resp_flush_recv(qpc))
			return false;
		cairn_budget_use(budget, 1, 0);
	}
	return true;
}

bool cairn_resp_in_step(const struct cairn_qpc *qpc, u32 psn)
{
	const struct cairn_responder *resp = &qpc->resp;

	return psn == resp->epsn && !resp->waits && !resp->holding;
}

int cairn_resp_srq(struct cairn_qpc *qpc, u32 srqn)
{
	if (qpc->transport != CAIRN_TRANSPORT_XRC)
		return 0;
	return cairn_env_take_srq(qpc, srqn) ? -EFAULT : 0;
}

void cairn_resp_settle(struct cairn_qpc *qpc)
{
	cairn_env_assert_held(qpc, CAIRN_RESP);
	cairn_persist_fence(qpc);
}

bool cairn_resp_run(struct cairn_qpc *qpc, u64 now, struct cairn_budget *budget)
{
	struct cairn_responder *resp = &qpc->resp;
	bool more = false;

	cairn_env_assert_held(qpc, CAIRN_RESP);
	if (cairn_state(qpc) != CAIRN_QP_ERR) {
		if (READ_ONCE(qpc->cnp_due))
			cairn_congestion_answer(qpc, now);
		cairn_pace_wake(qpc, &resp->rate, now);
		if (resp->waits && !resp->nak.fatal)
			more = resp_resume(qpc, budget);
		cairn_hold_expire(qpc, now);
		cairn_persist_overdue(qpc, now);
		/* The fence must run on the CPU that wrote back, so before the side
		 * is unlocked: another CPU may send the answer.
		 */
		cairn_persist_fence(qpc);
		/* No ACK or NAK overtakes a response, even one that has to wait. */
		if (resp->replay.pending && !cairn_replay_run(qpc, budget, now))
			return more || (!resp->odp.faulting &&
					(!cairn_budget_left(budget) ||
					 !resp->rate.marked));
		if (resp->persist.ack_due)
			resp_send_persist_ack(qpc);
		if (resp->nak.due)
			resp_send_nak(qpc);
		else if (resp->ack_due)
			resp_send_ack(qpc);
		resp->repeated = false;
		if (resp->nak.fatal)
			resp_end(qpc);
	}
	return cairn_state(qpc) == CAIRN_QP_ERR ? resp_flush(qpc, budget) : more;
}

u64 cairn_resp_deadline(const struct cairn_qpc *qpc)
{
	const struct cairn_responder *resp = &qpc->resp;
	u64 first = cairn_rate_deadline(&resp->rate);

	first = cairn_alarm_earlier(first, resp->hold.until);
	return cairn_alarm_earlier(first, resp->persist.deadline);
}

void cairn_resp_prefetch(const struct cairn_qpc *qpc)
{
	prefetch(qpc);
	prefetchw(&qpc->resp);
}
