/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The completer, see engine/completer.c. */
#ifndef CAIRN_ENGINE_COMPLETER_H
#define CAIRN_ENGINE_COMPLETER_H

#include "engine/ahead.h"
#include "engine/qp.h"
#include "engine/wqe.h"

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
/* Fail record @n; the records before it are flushed. */
void cairn_comp_fail_at(struct cairn_qpc *qpc, u32 n, u8 status, u32 vendor_err);

/* The record of the oldest PSN that is not acknowledged. */
u32 cairn_comp_awaited_rec(struct cairn_requester *req);

#endif
