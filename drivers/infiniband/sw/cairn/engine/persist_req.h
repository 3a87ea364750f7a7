/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* WRITE_PERSIST at the requester, see engine/persist_req.c. */
#ifndef CAIRN_ENGINE_PERSIST_REQ_H
#define CAIRN_ENGINE_PERSIST_REQ_H

#include "engine/ahead.h"
#include "engine/qp.h"

/* The need of @swr: enum cairn_need; 0: every peer knows such a request. */
u8 cairn_persist_need(const struct cairn_swr *swr);
bool cairn_persist_unfinished(struct cairn_qpc *qpc);
bool cairn_persist_far(struct cairn_qpc *qpc);
/* The oldest PSN that an answer may have. */
u32 cairn_persist_first_psn(struct cairn_requester *req);
void cairn_persist_expire(struct cairn_qpc *qpc, u64 now);
void cairn_persist_run(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		       u64 now);
/* Before the QP fails: post the durable completions that are due. */
void cairn_persist_tell(struct cairn_qpc *qpc);
void cairn_persist_ack(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		       u64 now);
/* The kind that a report names: the weakest of all answers so far. */
static inline u8 cairn_persist_kind(const struct cairn_requester *req)
{
	return req->persist.durability <= CAIRN_DURABILITY_EMULATED ?
	       req->persist.durability : CAIRN_DURABILITY_UNKNOWN;
}

/* Does cairn_persist_run() have work? Without a WRITE_PERSIST each record is dropped
 * when it completes.
 */
static inline bool cairn_persist_active(const struct cairn_requester *req)
{
	return req->persist.outstanding || req->persist.probe_at ||
	       req->kept_rec != req->una_rec;
}

/* Does the PERSIST ACKNOWLEDGE @pkt acknowledge the newest WRITE_PERSIST, or fail the
 * oldest?
 */
bool cairn_persist_tells_most(struct cairn_requester *req,
			      const struct cairn_pkt *pkt);
/* Is @psn that of the probe? */
bool cairn_persist_probed(struct cairn_requester *req, u32 psn);
bool cairn_persist_alive(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

#endif
