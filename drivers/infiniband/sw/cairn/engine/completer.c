// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The completer handles responses, completes the send queue in posting order, and
 * decides on retries (IBTA 9.7.5, 9.9.2).
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/aeth.h"
#include "engine/ahead.h"
#include "engine/completer.h"
#include "engine/congestion.h"
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/peer_port.h"
#include "engine/persist_req.h"
#include "engine/requester.h"
#include "engine/window.h"
#include "engine/wqe.h"

/* Post @cqe, or keep it until the CQ has room. A kept one must be posted first. The QP
 * then flushes or fails, so the private copy of a WQE is not needed any more.
 */
bool cairn_comp_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			 const struct cairn_cqe *cqe)
{
	struct cairn_requester *req = &qpc->req;

	if (likely(cairn_env_complete(qpc, side, cqe)))
		return true;
	req->unreported = true;
	req->wqe_valid = false;
	req->ext->wqe.cqe = *cqe;
	return false;
}

/* Post the kept completion. Return: false if the CQ has still no room. */
static bool comp_post_kept(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	const struct cairn_cqe *cqe = &req->ext->wqe.cqe;

	if (!req->unreported)
		return true;
	if (!cairn_env_complete(qpc, cqe->opcode == CAIRN_CQE_RECV_DURABLE ?
				CAIRN_RESP : CAIRN_REQ, cqe))
		return false;
	req->unreported = false;
	return true;
}

/* Post the completion of @swr. Return: false if the CQ is full (cairn_comp_complete()). */
static bool comp_post_cqe(struct cairn_qpc *qpc, const struct cairn_swr *swr,
			  u8 status, u32 vendor_err)
{
	struct cairn_cqe cqe = {
		.wr_id = swr->wr_id,
		.qpn = qpc->qpn,
		.byte_len = swr->length,
		.status = status,
		.vendor_err = vendor_err,
	};

	if (!status && !(swr->flags & CAIRN_WQE_SIGNALED) && !qpc->sq_sig_all)
		return true;
	if (swr->opcode < CAIRN_WQE_OPCODES)
		cqe.opcode = cairn_wqe_ops[swr->opcode].cqe_opcode;
	if (cairn_req_swr_persists(swr))
		cqe.psn = cairn_psn_add(swr->psn, swr->npkts - 1);
	if (cairn_req_swr_persists(swr) && !status && !cairn_req_swr_early(swr))
		cqe.durability = cairn_persist_kind(&qpc->req);
	return cairn_comp_complete(qpc, CAIRN_REQ, &cqe);
}

/* Take the oldest record off the queue. Do it before the completion is posted, as a
 * program that polls the completion may reuse the units at once.
 */
static void comp_retire(struct cairn_qpc *qpc, struct cairn_swr *swr)
{
	struct cairn_requester *req = &qpc->req;

	if (req->send_rec == req->una_rec) {
		req->send_rec++;
		req->pkt = 0;
	}
	if (req->kept_rec == req->una_rec && !cairn_req_swr_early(swr))
		req->kept_rec++;
	req->una_rec++;
	if ((s32)(req->ack_rec - req->una_rec) < 0)
		req->ack_rec = req->una_rec;
	req->sq_done = swr->idx + swr->units;
	cairn_env_sq_release(qpc, req->sq_done);
}

/* Flush started records. The failed record gets its own status. Return: false if the CQ
 * is full.
 */
static bool comp_flush_records(struct cairn_qpc *qpc,
			       struct cairn_budget *budget)
{
	struct cairn_requester *req = &qpc->req;

	while (req->una_rec != req->new_rec && cairn_budget_left(budget)) {
		struct cairn_swr *swr = cairn_req_swr(req, req->una_rec);
		bool failed = req->failing && req->fail_rec == req->una_rec;

		comp_retire(qpc, swr);
		if (failed)
			req->failing = false;
		if (!comp_post_cqe(qpc, swr,
				   failed ? swr->status : CAIRN_CQE_WR_FLUSH_ERR,
				   failed ? swr->vendor_err : 0))
			return false;
		cairn_budget_use(budget, 1, 0);
	}
	return true;
}

/* Keep the destination for a probe and the durable completion, as the WQE is released. */
static void comp_keep_target(struct cairn_requester *req, struct cairn_swr *swr)
{
	swr->va = req->ext->wqe.send.remote_addr;
	swr->rkey = req->ext->wqe.send.rkey;
}

/* RC goes to ERR, other transports to SQE (IBTA 10.3.1). The flush posts the
 * completions in order, since many records may be before this one.
 */
void cairn_comp_fail_at(struct cairn_qpc *qpc, u32 n, u8 status, u32 vendor_err)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = cairn_req_swr(req, n);

	cairn_persist_tell(qpc);
	swr->status = status;
	swr->vendor_err = vendor_err;
	req->failing = true;
	req->fail_rec = n;
	req->ack_deadline = 0;
	req->rnr_until = 0;
	cairn_gap_forget(req);
	if (cairn_qp_reliable(qpc))
		cairn_qpc_fail(qpc);
	else if (cairn_state(qpc) == CAIRN_QP_RTS ||
		 cairn_state(qpc) == CAIRN_QP_SQD)
		WRITE_ONCE(qpc->state, CAIRN_QP_SQE);
}

/* The oldest record that is not received, to which an answer for una belongs. Records
 * before it may wait for durability.
 */
static u32 comp_awaited_rec(struct cairn_requester *req)
{
	u32 n = req->ack_rec;

	/* All are received: the last one is probed again. */
	if (n == req->new_rec && n != req->una_rec)
		return n - 1;
	while (n + 1 != req->new_rec && n != req->send_rec &&
	       cairn_req_swr_received(req, cairn_req_swr(req, n)))
		n++;
	return n;
}

/* Fail the oldest WQE that is not received. */
void cairn_comp_fail(struct cairn_qpc *qpc, u8 status, u32 vendor_err)
{
	cairn_comp_fail_at(qpc, comp_awaited_rec(&qpc->req), status, vendor_err);
}

/* Are durable completions still undelivered? A later failure must wait for them, as ERR
 * would drop them. It does not wait for the host to post a receive.
 */
static bool comp_owes_durable(struct cairn_requester *req)
{
	const struct cairn_swr *swr = cairn_req_swr(req, req->kept_rec);

	return req->kept_rec != req->una_rec && !req->persist.recv_at &&
	       (!cairn_req_swr_early(swr) || swr->durable || swr->status);
}

void cairn_comp_reap(struct cairn_qpc *qpc, struct cairn_ahead *ahead)
{
	struct cairn_requester *req = &qpc->req;

	while (req->una_rec != req->new_rec && req->reaps_left &&
	       cairn_state(qpc) != CAIRN_QP_ERR &&
	       cairn_state(qpc) != CAIRN_QP_SQE) {
		struct cairn_swr *swr = cairn_req_swr(req, req->una_rec);

		if (swr->status && comp_owes_durable(req))
			return;
		if (swr->status) {
			cairn_comp_fail_at(qpc, req->una_rec, swr->status,
					   swr->vendor_err);
			return;
		}
		if (swr->npkts ? !cairn_req_swr_received(req, swr) :
			       req->send_rec == req->una_rec)
			return;
		if (cairn_req_swr_held(swr))
			return;
		if (cairn_req_swr_early(swr) &&
		    !cairn_req_load(qpc, swr, ahead)) {
			cairn_comp_fail_at(qpc, req->una_rec,
					   CAIRN_CQE_LOC_QP_OP_ERR, EINVAL);
			return;
		}
		req->reaps_left--;
		comp_retire(qpc, swr);
		if (!comp_post_cqe(qpc, swr, CAIRN_CQE_SUCCESS, 0)) {
			cairn_qpc_fatal(qpc);
			return;
		}
		if (cairn_req_swr_early(swr))
			comp_keep_target(req, swr);
	}
}

/* Flush WQEs that have not started. The walk copies the first unit of each. Return: false
 * if the CQ is full or the ring ends.
 */
static bool comp_flush_units(struct cairn_qpc *qpc, u32 left,
			     struct cairn_ahead *ahead,
			     struct cairn_budget *budget)
{
	struct cairn_requester *req = &qpc->req;

	req->wqe_valid = false;
	while (left && cairn_budget_left(budget)) {
		const struct cairn_send_wqe *wqe = &req->ext->wqe.send;
		struct cairn_swr swr;

		cairn_ahead_unit(qpc, ahead, req->sq_next, left);
		if (!wqe->units || wqe->units > CAIRN_MAX_WQE_UNITS ||
		    wqe->units > left) {
			req->ring_bad = true;
			return false;
		}
		swr = (struct cairn_swr){
			.wr_id = wqe->wr_id,
			.opcode = wqe->opcode,
		};
		left -= wqe->units;
		req->sq_next += wqe->units;
		req->sq_done = req->sq_next;
		cairn_env_sq_release(qpc, req->sq_done);
		if (!comp_post_cqe(qpc, &swr, CAIRN_CQE_WR_FLUSH_ERR, 0))
			return false;
		cairn_budget_use(budget, 1, 0);
	}
	return true;
}

/* Flush the WQEs that were known to be posted, then those posted since. A later post
 * rings a doorbell.
 */
static void comp_flush_ring(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
			    struct cairn_budget *budget)
{
	struct cairn_requester *req = &qpc->req;
	u32 tail, rounds = 2;

	while (rounds-- && !req->ring_bad) {
		if (cairn_env_sq_tail(qpc, &tail))
			req->ring_bad = true;
		else if (!comp_flush_units(qpc, tail - req->sq_next, ahead,
					   budget))
			return;
	}
}

bool cairn_comp_flush(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		      struct cairn_budget *budget)
{
	struct cairn_requester *req = &qpc->req;

	req->ack_deadline = 0;
	req->rnr_until = 0;
	req->persist.probe_at = 0;
	req->persist.recv_at = 0;
	req->rate.marked = false;
	req->odp.faulting = false;
	req->odp.ask_again = false;
	cairn_gap_forget(req);
	cairn_latency_forget(req);
	/* The kept completion is posted when the CQ has room. */
	if (!comp_post_kept(qpc) || !comp_flush_records(qpc, budget))
		return true;
	if (req->una_rec != req->new_rec)
		return false;
	req->kept_rec = req->new_rec;
	req->persist.undurable_rec = req->new_rec;
	req->persist.outstanding = 0;
	req->send_rec = req->new_rec;
	req->pkt = 0;
	req->una = req->psn;
	req->sent = req->psn;
	comp_flush_ring(qpc, ahead, budget);
	return cairn_budget_left(budget);
}

bool cairn_comp_flush_sqe(struct cairn_qpc *qpc, struct cairn_budget *budget)
{
	cairn_env_assert_held(qpc, CAIRN_REQ);
	return cairn_state(qpc) != CAIRN_QP_SQE ||
	       (cairn_comp_flush(qpc, NULL, budget) && !qpc->req.unreported);
}

/* Spend one retry, or fail the oldest WQE when none is left. A retry_cnt of 7 is not
 * infinite.
 */
static bool comp_spend_retry(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (!req->retries) {
		cairn_env_count(qpc, CAIRN_CTR_RETRY_EXCEEDED, 1);
		cairn_comp_fail(qpc, CAIRN_CQE_RETRY_EXC_ERR, 0);
		return false;
	}
	req->retries--;
	req->ack_deadline = 0;
	return true;
}

/* The first WRITE_PERSIST is unanswered: the peer may not support it, so ask. */
static void comp_doubt_peer(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (req->persist.peer_doubted || req->persist.durability ||
	    !cairn_req_swr_persists(cairn_req_swr(req, comp_awaited_rec(req))))
		return;
	req->persist.peer_doubted = true;
	cairn_env_ask_peer(qpc);
}

void cairn_comp_peer_unable(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u8 state = cairn_state(qpc);

	if (req->persist.peer_doubted && cairn_req_outstanding(req) &&
	    (state == CAIRN_QP_RTS || state == CAIRN_QP_SQD) &&
	    cairn_req_swr_persists(cairn_req_swr(req, comp_awaited_rec(req))))
		cairn_comp_fail(qpc, CAIRN_CQE_REM_INV_REQ_ERR, 0);
}

void cairn_comp_expire(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->rnr_until && now >= req->rnr_until)
		req->rnr_until = 0;
	if (req->rtt.probe_deadline && now >= req->rtt.probe_deadline) {
		cairn_peer_port_doubt(&req->peer_port);
		cairn_gap_probe(qpc);
	}
	if (!req->ack_deadline || now < req->ack_deadline)
		return;
	req->ack_deadline = 0;
	if (!cairn_req_outstanding(req))
		return;
	/* Memory of this host is being faulted in: the peer is not late. */
	if (req->odp.faulting) {
		cairn_req_rearm(qpc, now);
		return;
	}
	cairn_env_count(qpc, CAIRN_CTR_ACK_TIMEOUTS, 1);
	req->implied_nak = false;
	cairn_peer_port_doubt(&req->peer_port);
	comp_doubt_peer(qpc);
	if (comp_spend_retry(qpc))
		cairn_gap_timeout(qpc);
}

/* A later answer implies that a READ or atomic response was lost. */
static void comp_implied_nak(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (req->implied_nak || cairn_gap_read(qpc))
		return;
	if (req->odp.faulting) {
		req->odp.ask_again = true;
		return;
	}
	req->implied_nak = true;
	cairn_env_count(qpc, CAIRN_CTR_IMPLIED_NAKS, 1);
	if (comp_spend_retry(qpc))
		cairn_gap_repeat_read(qpc);
}

void cairn_comp_clip(struct cairn_requester *req)
{
	while (req->send_rec != req->new_rec) {
		struct cairn_swr *swr = cairn_req_swr(req, req->send_rec);
		s32 off = cairn_req_swr_offset(swr, req->una);

		if (off < 0 || (off <= (s32)req->pkt && !swr->local_done))
			break;
		if (off < (s32)swr->npkts) {
			req->pkt = off;
			break;
		}
		req->send_rec++;
		req->pkt = 0;
	}
}

/* Advance una to @end over responses that have been placed. Return: false if one is
 * missing.
 */
static bool comp_skip_responses(struct cairn_requester *req, u32 end)
{
	while (req->una != end && cairn_gap_got(req, req->una)) {
		cairn_gap_set_got(req, req->una, false);
		req->una = cairn_psn_add(req->una, 1);
	}
	return req->una == end;
}

/* All packets before @psn were answered: advance una. READs and atomics are
 * acknowledged by their own responses only. Return: false if one of them is missing.
 */
static bool comp_advance_una(struct cairn_requester *req, u32 psn)
{
	u32 n;

	if (cairn_psn_diff(psn, req->acked) > 0)
		req->acked = psn;
	for (n = req->ack_rec; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);
		u32 end = cairn_psn_add(swr->psn, swr->npkts);

		if (cairn_psn_diff(req->acked, req->una) <= 0 &&
		    !swr->local_done)
			break;
		if (cairn_psn_diff(end, req->una) <= 0)
			continue;
		if (!(cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS))
			req->una = cairn_psn_diff(req->acked, end) < 0 ?
					   req->acked :
					   end;
		else if (!comp_skip_responses(req, end))
			break;
		if (req->una != end)
			break;
	}
	req->ack_rec = n;
	return cairn_psn_diff(req->una, psn) >= 0;
}

static void comp_refused(struct cairn_qpc *qpc, u8 syndrome)
{
	static const u8 status[] = {
		[CAIRN_NAK_INVALID_REQUEST] = CAIRN_CQE_REM_INV_REQ_ERR,
		[CAIRN_NAK_REMOTE_ACCESS] = CAIRN_CQE_REM_ACCESS_ERR,
		[CAIRN_NAK_REMOTE_OP] = CAIRN_CQE_REM_OP_ERR,
		[CAIRN_NAK_INVALID_RD_REQUEST] = CAIRN_CQE_REM_INV_REQ_ERR,
	};

	cairn_comp_fail(qpc, status[syndrome & CAIRN_AETH_VALUE_MASK], syndrome);
}

/* The record that @psn belongs to, or NULL. */
static struct cairn_swr *comp_record_at(struct cairn_requester *req, u32 psn)
{
	u32 n;

	for (n = req->ack_rec; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);
		s32 off = cairn_req_swr_offset(swr, psn);

		if (off < 0)
			break;
		if (off < (s32)swr->npkts)
			return swr;
	}
	return NULL;
}

/* The READ or atomic, by @op_flag, that the response @psn belongs to, or NULL. */
static struct cairn_swr *comp_record_of(struct cairn_requester *req, u32 psn,
					u8 op_flag)
{
	struct cairn_swr *swr = comp_record_at(req, psn);

	return swr && cairn_comp_responses(swr) == op_flag ? swr : NULL;
}

/*
 * A READ may be requested again while its responses are in flight. The peer may then
 * refuse a request whose responses have arrived, and it sends that NAK once. The READ
 * responses that are still missing will not come. No more than a window was in flight,
 * so the length of the READs does not help a forged NAK.
 */
static bool comp_refuses_reads(struct cairn_qpc *qpc, u32 nak_psn)
{
	struct cairn_requester *req = &qpc->req;
	s32 behind = cairn_psn_diff(req->una, nak_psn);

	return behind > 0 && behind <= (s32)cairn_window(qpc) &&
	       comp_record_of(req, req->una, CAIRN_WOP_READS);
}

/*
 * A NAK that ends the connection may overtake the READ responses before it. It is
 * kept, as the peer does not repeat it: in its error state it does not answer.
 */
static void comp_late_refusal(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	s32 ahead = cairn_psn_diff(req->late_nak.psn, req->una);
	u8 syndrome = req->late_nak.syndrome;

	if (!syndrome || ahead > 0)
		return;
	req->late_nak.syndrome = 0;
	if (cairn_state(qpc) != CAIRN_QP_ERR &&
	    (!ahead || comp_refuses_reads(qpc, req->late_nak.psn)))
		comp_refused(qpc, syndrome);
}

/* Progress was acknowledged: complete records and reset the retry counters. */
static void comp_progress(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	/* An RNR NAK was followed by the answer itself: do not wait any more. */
	req->rnr_until = 0;
	req->retries = qpc->attrs.retry_cnt;
	req->rnr_retries = qpc->attrs.rnr_retry;
	req->implied_nak = false;
	if (req->timed)
		cairn_latency_answered(req, now);
	cairn_comp_reap(qpc, NULL);
	comp_late_refusal(qpc);
	cairn_gap_progress(req, now);
	cairn_comp_clip(req);
	cairn_req_rearm(qpc, now);
}

/* A response with @psn acknowledges all packets before it. Return: true if none of
 * them is missing and the QP is not in ERR: the caller handles @psn itself.
 */
bool cairn_comp_ack_before(struct cairn_qpc *qpc, u32 psn, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 una = req->una;
	bool clear = comp_advance_una(req, psn);

	if (req->una != una)
		comp_progress(qpc, now);
	if (!clear)
		comp_implied_nak(qpc);
	return clear && cairn_state(qpc) != CAIRN_QP_ERR;
}

/* Credits are never taken back: the code rounds down, and a persistence ACK counts
 * from the MSN of a message that may be old (IBTA 9.7.7.2).
 */
void cairn_comp_take_credits(struct cairn_requester *req,
			     const struct cairn_pkt *pkt)
{
	int credits = cairn_aeth_decode_credits(pkt->syndrome);
	u32 lsn = cairn_psn_add(pkt->msn, max(credits, 0));

	if (credits >= 0 &&
	    (!req->credits.valid || cairn_psn_diff(lsn, req->credits.lsn) > 0))
		req->credits.lsn = lsn;
	req->credits.valid = credits >= 0;
}

static void comp_rx_ack(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	cairn_env_count(qpc, CAIRN_CTR_ACKS_RECEIVED, 1);
	cairn_comp_take_credits(&qpc->req, pkt);
	cairn_comp_ack_before(qpc, cairn_psn_add(pkt->psn, 1), now);
	cairn_gap_answer(qpc, true, now);
}

void cairn_comp_wait_for_receive(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	/* A second NAK of a request that waits already. */
	if (req->rnr_until)
		return;
	if (qpc->attrs.rnr_retry != 7) {
		if (!req->rnr_retries) {
			cairn_env_count(qpc, CAIRN_CTR_RNR_RETRY_EXCEEDED, 1);
			cairn_comp_fail(qpc, CAIRN_CQE_RNR_RETRY_EXC_ERR,
					pkt->syndrome);
			return;
		}
		req->rnr_retries--;
	}
	cairn_gap_forget(req);
	cairn_req_rewind(qpc, req->una);
	req->ack_deadline = 0;
	req->rnr_until = now + cairn_aeth_rnr_ns(pkt->syndrome);
}

static void comp_rx_rnr_nak(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			    u64 now)
{
	cairn_env_count(qpc, CAIRN_CTR_RNR_NAKS_RECEIVED, 1);
	if (!cairn_comp_ack_before(qpc, pkt->psn, now))
		return;
	/* The peer lives. A NAK from an unknown port would not prove that. */
	qpc->req.retries = qpc->attrs.retry_cnt;
	cairn_comp_wait_for_receive(qpc, pkt, now);
}

static void comp_rx_nak(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u8 code = pkt->syndrome & CAIRN_AETH_VALUE_MASK;

	if (code > CAIRN_NAK_INVALID_RD_REQUEST) {
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
		return;
	}
	cairn_env_count(qpc, code == CAIRN_NAK_PSN_SEQ ?
			CAIRN_CTR_SEQ_NAKS_RECEIVED :
			CAIRN_CTR_FATAL_NAKS_RECEIVED, 1);
	if (!cairn_comp_ack_before(qpc, pkt->psn, now)) {
		if (code == CAIRN_NAK_PSN_SEQ) {
			cairn_gap_later_nak(req, pkt->psn);
		} else if (cairn_state(qpc) != CAIRN_QP_ERR) {
			req->late_nak.syndrome = pkt->syndrome;
			req->late_nak.psn = pkt->psn;
		}
		return;
	}
	if (code != CAIRN_NAK_PSN_SEQ)
		comp_refused(qpc, pkt->syndrome);
	else if (comp_spend_retry(qpc))
		cairn_gap_nak(qpc);
}

/*
 * A response acknowledges all packets before it. It may be ahead of missing responses.
 * Return: its record, or NULL if it is stale.
 */
static struct cairn_swr *comp_find_awaited(struct cairn_qpc *qpc,
					   const struct cairn_pkt *pkt,
					   u8 op_flag, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = comp_record_of(req, pkt->psn, op_flag);

	cairn_comp_ack_before(qpc, pkt->psn, now);
	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return NULL;
	if (swr && cairn_psn_diff(pkt->psn, req->una) >= 0 &&
	    !cairn_gap_got(req, pkt->psn))
		return swr;
	cairn_env_count(qpc, CAIRN_CTR_STALE_RESPONSES, 1);
	return NULL;
}

/* The response packet @psn was placed. */
static void comp_response_done(struct cairn_qpc *qpc, u32 psn, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	cairn_gap_set_got(req, psn, true);
	if (psn != req->una) {
		cairn_env_count(qpc, CAIRN_CTR_RESPONSES_AHEAD, 1);
		comp_advance_una(req, req->una);
		if (cairn_psn_diff(psn, req->acked) >= 0)
			req->acked = cairn_psn_add(psn, 1);
		return;
	}
	comp_advance_una(req, cairn_psn_add(psn, 1));
	comp_progress(qpc, now);
	cairn_gap_answer(qpc, false, now);
}

/* Only a response for the oldest PSN fails its WQE, as earlier WQEs come first. */
static void comp_response_failed(struct cairn_qpc *qpc, u32 psn, u8 status,
				 u32 vendor_err)
{
	if (psn == qpc->req.una)
		cairn_comp_fail(qpc, status, vendor_err);
}

static void comp_place_failed(struct cairn_qpc *qpc, u32 psn)
{
	cairn_env_count(qpc, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	comp_response_failed(qpc, psn, CAIRN_CQE_LOC_PROT_ERR, EFAULT);
}

/* Is @psn the last response packet of its READ request? */
static bool comp_ends_request(struct cairn_qpc *qpc,
			      const struct cairn_swr *swr, u32 psn)
{
	u32 pkt = cairn_psn_diff(psn, swr->psn);

	return pkt + 1 == swr->npkts || !((pkt + 1) % cairn_window_read_chunk(qpc));
}

/* The destination is not present: drop the response. It costs no retry. */
static void comp_place_later(struct cairn_requester *req)
{
	req->odp.faulting = true;
	req->odp.ask_again = true;
}

void cairn_comp_faulted_in(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	bool ask = req->odp.ask_again;
	struct cairn_swr *swr;

	if (cairn_env_faulting(qpc, CAIRN_REQ))
		return;
	req->odp.faulting = false;
	req->odp.ask_again = false;
	/* After an RNR NAK all packets are sent again in any case. */
	if (!ask || req->rnr_until || !cairn_req_outstanding(req))
		return;
	swr = comp_record_at(req, req->una);
	if (swr && cairn_comp_responses(swr))
		cairn_gap_repeat_read(qpc);
}

/* A response could not be placed. -EAGAIN is temporary, other errors are permanent. */
static void comp_not_placed(struct cairn_qpc *qpc, u32 psn, int err)
{
	if (err == -EAGAIN)
		comp_place_later(&qpc->req);
	else
		comp_place_failed(qpc, psn);
}

static void comp_rx_read(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			 u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr =
		comp_find_awaited(qpc, pkt, CAIRN_WOP_READS, now);
	struct cairn_span to;
	u32 off, want;
	int err = 0;

	if (!swr)
		return;
	off = cairn_psn_diff(pkt->psn, swr->psn) * qpc->attrs.pmtu;
	want = min_t(u32, swr->length - off, qpc->attrs.pmtu);
	/* FIRST and MIDDLE may both be valid, as they depend on where the request
	 * began.
	 */
	if (pkt->payload_len != want ||
	    !(pkt->op->flags & CAIRN_OP_LAST) ==
		    comp_ends_request(qpc, swr, pkt->psn)) {
		comp_response_failed(qpc, pkt->psn, CAIRN_CQE_BAD_RESP_ERR,
				     pkt->opcode);
		return;
	}
	if (!cairn_req_load(qpc, swr, NULL)) {
		comp_response_failed(qpc, pkt->psn, CAIRN_CQE_LOC_QP_OP_ERR,
				     EINVAL);
		return;
	}
	to = (struct cairn_span){
		.sge = cairn_wqe_sges(&req->ext->wqe),
		.num_sge = req->ext->wqe.send.num_sge,
		.offset = off,
		.more = swr->length - off - want,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};
	if (want)
		err = cairn_env_place(qpc, &to, pkt, want);
	if (err) {
		comp_not_placed(qpc, pkt->psn, err);
		return;
	}
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		cairn_comp_take_credits(&qpc->req, pkt);
	comp_response_done(qpc, pkt->psn, now);
}

static void comp_rx_atomic(struct cairn_qpc *qpc,
			   const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr =
		comp_find_awaited(qpc, pkt, CAIRN_WOP_READS | CAIRN_WOP_ATOMIC,
				  now);
	struct cairn_span to = {
		.sge = (void *)(req->ext->wqe.bytes + CAIRN_WQE_ATOMIC_SGE_OFFSET),
		.num_sge = 1,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};
	int err;

	if (!swr)
		return;
	if (!cairn_req_load(qpc, swr, NULL)) {
		comp_response_failed(qpc, pkt->psn, CAIRN_CQE_LOC_QP_OP_ERR,
				     EINVAL);
		return;
	}
	err = cairn_env_place_bytes(qpc, &to, &pkt->orig, sizeof(pkt->orig));
	if (err) {
		comp_not_placed(qpc, pkt->psn, err);
		return;
	}
	cairn_comp_take_credits(&qpc->req, pkt);
	comp_response_done(qpc, pkt->psn, now);
}

static void comp_rx_aeth(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			 u64 now)
{
	switch (pkt->syndrome & CAIRN_AETH_TYPE_MASK) {
	case CAIRN_AETH_ACK:
		comp_rx_ack(qpc, pkt, now);
		break;
	case CAIRN_AETH_RNR_NAK:
		comp_rx_rnr_nak(qpc, pkt, now);
		break;
	case CAIRN_AETH_NAK:
		comp_rx_nak(qpc, pkt, now);
		break;
	default:
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
	}
}

/* A CNP is valid in every state in which the QP may send, responses included. */
static void comp_rx_cnp(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	u8 state = cairn_state(qpc);

	if (qpc->transport == CAIRN_TRANSPORT_UD || state < CAIRN_QP_RTR ||
	    state == CAIRN_QP_ERR)
		cairn_env_count(qpc, CAIRN_CTR_RX_WRONG_QP, 1);
	else if (!cairn_qp_pkey_fits(qpc, pkt->pkey))
		cairn_env_count(qpc, CAIRN_CTR_RX_PKEY_ERRORS, 1);
	else
		cairn_congestion_notified(qpc, now);
}

/* A peer that received a forged packet ahead of all packets sent reports a gap where
 * none is (engine/hold.c), or has no receive for it. Its NAK acknowledges all packets.
 */
bool cairn_comp_is_nak_of_next(const struct cairn_requester *req,
			       const struct cairn_pkt *pkt)
{
	bool nak = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) ==
		   CAIRN_AETH_RNR_NAK ||
		   pkt->syndrome == (CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);

	return pkt->op->kind == CAIRN_KIND_ACK && nak &&
	       pkt->psn == req->sent && req->una != req->sent;
}

static bool comp_is_fatal_nak(const struct cairn_pkt *pkt)
{
	u8 code = pkt->syndrome & CAIRN_AETH_VALUE_MASK;

	return pkt->op->kind == CAIRN_KIND_ACK &&
	       (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_NAK &&
	       code != CAIRN_NAK_PSN_SEQ && code <= CAIRN_NAK_INVALID_RD_REQUEST;
}

/* Handle an answer to a packet that is not outstanding. */
static void comp_rx_stale(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (comp_is_fatal_nak(pkt) && comp_refuses_reads(qpc, pkt->psn)) {
		cairn_env_count(qpc, CAIRN_CTR_FATAL_NAKS_RECEIVED, 1);
		comp_refused(qpc, pkt->syndrome);
	} else if (!cairn_persist_alive(qpc, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_STALE_RESPONSES, 1);
	}
}

void cairn_comp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u8 state = cairn_state(qpc);

	cairn_env_assert_held(qpc, CAIRN_REQ);
	if (!cairn_qp_sender_fits(qpc, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_SPOOFED, 1);
		return;
	}
	if (pkt->op->kind == CAIRN_KIND_CNP) {
		comp_rx_cnp(qpc, pkt, now);
		return;
	}
	if (pkt->op->transport != qpc->transport || !cairn_qp_reliable(qpc) ||
	    (state != CAIRN_QP_RTS && state != CAIRN_QP_SQD)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_WRONG_QP, 1);
		return;
	}
	if (!cairn_qp_pkey_fits(qpc, pkt->pkey)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_PKEY_ERRORS, 1);
		return;
	}
	if (!cairn_peer_port_fits(qpc, pkt, now)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_OTHER_PORT, 1);
		return;
	}
	if (pkt->ce)
		cairn_congestion_marked(qpc, CAIRN_REQ, now);
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK) {
		cairn_persist_ack(qpc, pkt, now);
		return;
	}
	if (cairn_comp_is_nak_of_next(req, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_ACKS_RECEIVED, 1);
		cairn_comp_ack_before(qpc, pkt->psn, now);
		cairn_gap_answer(qpc, false, now);
		return;
	}
	if (cairn_psn_diff(pkt->psn, req->una) < 0 ||
	    cairn_psn_diff(pkt->psn, req->sent) >= 0) {
		comp_rx_stale(qpc, pkt);
		return;
	}
	switch (pkt->op->kind) {
	case CAIRN_KIND_ACK:
		comp_rx_aeth(qpc, pkt, now);
		break;
	case CAIRN_KIND_READ_RESP:
		comp_rx_read(qpc, pkt, now);
		break;
	case CAIRN_KIND_ATOMIC_ACK:
		comp_rx_atomic(qpc, pkt, now);
		break;
	}
}
