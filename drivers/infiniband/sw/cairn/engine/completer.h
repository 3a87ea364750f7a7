/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The completer, see engine/completer.c. */
#ifndef CAIRN_ENGINE_COMPLETER_H
#define CAIRN_ENGINE_COMPLETER_H

#include "engine/qp.h"

/* A response packet arrived. Requester lock held; run cairn_req_run() after
 * the last packet of a batch.
 */
void cairn_comp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now);

/* SQE is about to become RTS: what was posted before is flushed, also if no run
 * has come to it. False: there may be more, or the CQ has no room for it
 * (req.unreported). Both side locks held.
 */
bool cairn_comp_flush_sqe(struct cairn_qpc *qpc, struct cairn_budget *budget);

/* For the other files of the requester. */

/* Post a completion to the CQ of @side. False: it is full. The completion is kept
 * (req.unreported) and flushing goes on with it; the caller fails the QP.
 */
bool cairn_comp_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			 const struct cairn_cqe *cqe);

/* Complete what is done, CAIRN_MAX_REAPS from one run to the next. */
void cairn_comp_reap(struct cairn_qpc *qpc);
void cairn_comp_fail(struct cairn_qpc *qpc, u8 status, u32 vendor_err);
/* Flush what has not completed, as far as the budget goes: a work request counts
 * as a packet. False: there may be more, for another run.
 */
bool cairn_comp_flush(struct cairn_qpc *qpc, struct cairn_budget *budget);
/* The peer does not know WRITE_PERSIST: one that it has not answered fails.
 * Requester lock held; run cairn_req_run() afterwards.
 */
void cairn_comp_peer_unable(struct cairn_qpc *qpc);
void cairn_comp_expire(struct cairn_qpc *qpc, u64 now);
/* Memory was absent: if it is brought go on, and ask again for what had no place. */
void cairn_comp_brought(struct cairn_qpc *qpc);
/* Record @n fails, those before it are flushed. */
void cairn_comp_fail_at(struct cairn_qpc *qpc, u32 n, u8 status, u32 vendor_err);
/* How far the peer's receives reach, as an AETH says. Never less than before. */
void cairn_comp_take_credits(struct cairn_requester *req,
			     const struct cairn_pkt *pkt);
/* All before @psn is acknowledged. True: nothing is missing, the QP lives. */
bool cairn_comp_ack_before(struct cairn_qpc *qpc, u32 psn, u64 now);
/* Keep the send cursor at or after what is acknowledged. */
void cairn_comp_clip(struct cairn_requester *req);

#endif
