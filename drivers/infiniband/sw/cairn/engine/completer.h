/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The completer, see engine/completer.c. */
#ifndef CAIRN_ENGINE_COMPLETER_H
#define CAIRN_ENGINE_COMPLETER_H

#include "engine/ahead.h"
#include "engine/qp.h"
#include "engine/wqe.h"

/* Handle a response packet. Requester lock held. The caller runs cairn_req_run() after
 * the last packet of a batch.
 */
void cairn_comp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now);

/* Before SQE becomes RTS: flush all work requests posted so far, even those that no
 * run has started. Both side locks held. Return: false if more may be left, or the CQ
 * has no room (req.unreported).
 */
bool cairn_comp_flush_sqe(struct cairn_qpc *qpc, struct cairn_budget *budget);

/* For the other files of the requester. */

/* Post a completion to the CQ of @side. Return: false if it is full. The completion is
 * then kept (req.unreported) and flushed later; the caller fails the QP.
 */
bool cairn_comp_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			 const struct cairn_cqe *cqe);

/* Complete finished work requests, at most CAIRN_MAX_REAPS in one run. @ahead: the batch
 * of this run; NULL outside of a run.
 */
void cairn_comp_reap(struct cairn_qpc *qpc, struct cairn_ahead *ahead);
void cairn_comp_fail(struct cairn_qpc *qpc, u8 status, u32 vendor_err);
/* Flush work requests that have not completed, one for each packet of the budget.
 * @ahead: as above. Return: false if more may be left for another run.
 */
bool cairn_comp_flush(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		      struct cairn_budget *budget);
/* Fail an unanswered WRITE_PERSIST, as the peer does not support it. Requester lock
 * held. The caller runs cairn_req_run() afterwards.
 */
void cairn_comp_peer_unable(struct cairn_qpc *qpc);
void cairn_comp_expire(struct cairn_qpc *qpc, u64 now);
/* Continue if the missing memory has been faulted in. Responses that had been dropped for
 * it are requested again.
 */
void cairn_comp_faulted_in(struct cairn_qpc *qpc);
/* Fail record @n; the records before it are flushed. */
void cairn_comp_fail_at(struct cairn_qpc *qpc, u32 n, u8 status, u32 vendor_err);
/* The peer has no receive for a message: wait as the RNR NAK @pkt says. */
void cairn_comp_wait_for_receive(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt, u64 now);
/* Is @pkt a NAK of the next packet to be sent? */
bool cairn_comp_is_nak_of_next(const struct cairn_requester *req,
			       const struct cairn_pkt *pkt);

/* The record's flags CAIRN_WOP_READS and CAIRN_WOP_ATOMIC: the kind of its responses. */
static inline u8 cairn_comp_responses(const struct cairn_swr *swr)
{
	return cairn_wqe_ops[swr->opcode].flags &
	       (CAIRN_WOP_READS | CAIRN_WOP_ATOMIC);
}

/* Take the end-to-end credits of an AETH. The limit never decreases. */
void cairn_comp_take_credits(struct cairn_requester *req,
			     const struct cairn_pkt *pkt);
/* A response acknowledges all packets before @psn. Return: true if no response before
 * @psn is missing and the QP is not in ERR.
 */
bool cairn_comp_ack_before(struct cairn_qpc *qpc, u32 psn, u64 now);
/* Move the send cursor forward to the first packet that is not acknowledged. */
void cairn_comp_clip(struct cairn_requester *req);

#endif
