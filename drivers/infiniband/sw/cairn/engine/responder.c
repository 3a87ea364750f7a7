// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder receives requests, in PSN order for RC, and runs: it fences, then sends
 * responses, ACKs and NAKs (IBTA 9.7.4, 9.7.5, 9.8, 9.9.3).
 *
 * A request counts as received if it was executed (engine/request.c): only then does
 * the expected PSN advance. Otherwise it was refused (engine/refuse.c), or waits.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/prefetch.h>
#include "engine/alarm.h"
#include "engine/answer_resp.h"
#include "engine/congestion.h"
#include "engine/flush_resp.h"
#include "engine/hold.h"
#include "engine/pace.h"
#include "engine/persist_resp.h"
#include "engine/recv.h"
#include "engine/refuse.h"
#include "engine/replay.h"
#include "engine/request.h"
#include "engine/responder.h"

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

/*
 * Acknowledge a duplicate SEND or WRITE with the PSN of the latest SEND or WRITE, but
 * not past a READ or atomic whose response may be lost. A requester would take an ACK
 * of those for the response.
 */
static void resp_ack_duplicate(struct cairn_responder *resp, u32 psn)
{
	if (resp->replay.any && cairn_psn_diff(resp->replay.psn, psn) > 0)
		cairn_answer_owe_ack(resp, psn);
	else
		cairn_answer_owe_ack(resp, resp->done_psn);
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
			cairn_answer_owe_ack(resp, pkt->psn);
	} else {
		resp->replay.psn = cairn_psn_add(resp->epsn, CAIRN_24BIT_MASK);
		resp->replay.any = true;
		/* A response that waits for the host stands for no ACK. */
		if (!resp->persist.plain)
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
	case CAIRN_KIND_ATOMIC_REQ:
	case CAIRN_KIND_ATOMIC_WRITE:
		if (cairn_persist_repeated(&qpc->resp, pkt->psn))
			qpc->resp.repeated = true;
		fallthrough;
	case CAIRN_KIND_READ_REQ:
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
	cairn_answer_nak(resp, resp->epsn, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
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
		return cairn_refuse_invalid(qpc, pkt);
	if (!cairn_request_execute(qpc, pkt))
		return false;
	resp_note_executed(resp, pkt);
	cairn_hold_passed(resp, epsn, cairn_psn_diff(resp->epsn, epsn));
	return true;
}

/* The same for the kept packet @held, which is refused by intent or handled like others. */
static bool resp_take_held(struct cairn_qpc *qpc, struct cairn_pkt *held)
{
	held->kept = !held->refuse;
	return held->refuse ? cairn_refuse_told(qpc, held) :
			      resp_take_expected(qpc, held);
}

/* Execute kept packets from the expected PSN on. @asked: an answer was requested. */
static void resp_run_held(struct cairn_qpc *qpc, bool asked)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_pkt held;

	while (cairn_hold_next(qpc, &held)) {
		asked = true;
		if (resp_take_held(qpc, &held))
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
	cairn_answer_fatal(qpc, resp->epsn, CAIRN_NAK_REMOTE_ACCESS,
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
		cairn_refuse_invalid(qpc, pkt);
		return;
	}
	cairn_request_execute(qpc, pkt);
}

static void resp_rx_ud(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->qkey != qpc->attrs.qkey)
		cairn_env_count(qpc, CAIRN_CTR_RX_QKEY_ERRORS, 1);
	else if (pkt->payload_len > qpc->attrs.pmtu)
		cairn_refuse_invalid(qpc, pkt);
	else
		cairn_recv_datagram(qpc, pkt);
}

/* Is the packet for this queue pair? It is counted if not. */
static __always_inline bool resp_accepts(struct cairn_qpc *qpc,
					 const struct cairn_pkt *pkt)
{
	u8 state = cairn_state(qpc);

	if (pkt->op->transport != qpc->takes || state < CAIRN_QP_RTR ||
	    state == CAIRN_QP_ERR || qpc->resp.nak.fatal) {
		cairn_env_count(qpc, CAIRN_CTR_RX_WRONG_QP, 1);
		return false;
	}
	if (!cairn_qp_sender_fits(qpc, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_SPOOFED, 1);
		return false;
	}
	if (!cairn_qp_pkey_fits(qpc, pkt->pkey)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_PKEY_ERRORS, 1);
		return false;
	}
	return true;
}

void cairn_resp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 state = cairn_state(qpc);

	cairn_env_assert_held(qpc, CAIRN_RESP);
	if (!resp_accepts(qpc, pkt))
		return;
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

void cairn_resp_rx_refused(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			   u64 now)
{
	struct cairn_responder *resp = &qpc->resp;

	cairn_env_assert_held(qpc, CAIRN_RESP);
	if (!cairn_qp_reliable(qpc) || pkt->psn != resp->epsn || resp->waits) {
		cairn_resp_rx(qpc, pkt, now);
		return;
	}
	if (!resp_accepts(qpc, pkt))
		return;
	resp->peer_port.sport = pkt->flow;
	resp->peer_port.known = true;
	cairn_refuse_told(qpc, pkt);
	/* As if it were lost, the packets behind it wait for it. Else all are repeated. */
	if (pkt->refuse != (CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ))
		cairn_hold_drop(qpc);
}

/* ERR: drop all work. Return: true if more receives may have to be flushed. */
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
	return cairn_recv_flush_all(qpc, budget);
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
		cairn_pace_wake(&resp->rate, now);
		if (resp->waits && !resp->nak.fatal)
			more = resp_resume(qpc, budget);
		cairn_hold_expire(qpc, now);
		cairn_persist_overdue(qpc, now);
		/* The fence must run on the CPU that wrote back: here, or before the
		 * first packet of this CPU leaves.
		 */
		cairn_persist_fence_answers(qpc);
		/* No ACK or NAK overtakes a response, even one that has to wait. */
		if (resp->replay.pending && !cairn_replay_run(qpc, budget, now))
			return more || (!resp->odp.faulting &&
					(!cairn_budget_left(budget) ||
					 !resp->rate.marked));
		cairn_answer_send(qpc);
	}
	return cairn_state(qpc) == CAIRN_QP_ERR ? resp_flush(qpc, budget) : more;
}

u64 cairn_resp_deadline(const struct cairn_qpc *qpc)
{
	const struct cairn_responder *resp = &qpc->resp;
	u64 first = cairn_rate_deadline(&resp->rate);

	if (resp->holding)
		first = cairn_alarm_earlier(first, resp->hold.until);
	return cairn_alarm_earlier(first, resp->persist.deadline);
}

void cairn_resp_prefetch(const struct cairn_qpc *qpc)
{
	const struct cairn_responder *resp = &qpc->resp;

	prefetch(qpc);
	prefetchw(&resp->epsn);
	prefetchw(&resp->rate);
	prefetchw(&resp->persist);
}
