// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The completer completes the send queue in posting order, fails and flushes it
 * (IBTA 9.9.2, 10.7.3.1).
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/completer.h"
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/persist_req.h"
#include "engine/req_record.h"
#include "engine/tally.h"

/* Post @cqe, or keep it until the CQ has room. A kept one must be posted first. The QP
 * then flushes or fails, so the private copy of a WQE is not needed any more.
 */
bool cairn_comp_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			 const struct cairn_cqe *cqe)
{
	struct cairn_requester *req = &qpc->req;

	if (likely(cairn_tally_post(qpc, side, cqe)))
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
	if (!cairn_tally_post(qpc, cqe->opcode == CAIRN_CQE_RECV_DURABLE ?
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

	if (swr->opcode < CAIRN_WQE_OPCODES)
		cqe.opcode = cairn_wqe_ops[swr->opcode].cqe_opcode;
	if (!status && !(swr->flags & CAIRN_WQE_SIGNALED) && !qpc->sq_sig_all) {
		cairn_tally_cqe(qpc, &cqe);
		return true;
	}
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

/* RTS or SQD becomes SQE. The responder may fail at the same time, on another CPU: then the
 * state is ERR and stays so.
 */
static void comp_stop_sends(struct cairn_qpc *qpc)
{
	if (cmpxchg(&qpc->state, CAIRN_QP_RTS, CAIRN_QP_SQE) != CAIRN_QP_RTS)
		cmpxchg(&qpc->state, CAIRN_QP_SQD, CAIRN_QP_SQE);
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
	else
		comp_stop_sends(qpc);
}

/* The oldest record that is not received, to which an answer for una belongs. Records
 * before it may wait for durability.
 */
u32 cairn_comp_awaited_rec(struct cairn_requester *req)
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
	cairn_comp_fail_at(qpc, cairn_comp_awaited_rec(&qpc->req), status, vendor_err);
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
		if (cairn_req_tail(qpc, &tail))
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
	/* It is possible that no run has seen the last posts. */
	qpc->req.look = true;
	return cairn_state(qpc) != CAIRN_QP_SQE ||
	       (cairn_comp_flush(qpc, NULL, budget) && !qpc->req.unreported);
}
