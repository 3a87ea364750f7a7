/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion counters of a QP (ibv_qp_attach_comp_cntr(3)): they count finished work,
 * instead of a CQ or beside it.
 */
#ifndef CAIRN_ENGINE_TALLY_H
#define CAIRN_ENGINE_TALLY_H

#include <linux/compiler.h>
#include "engine/env.h"
#include "engine/qp.h"

/* Count what @cqe, which has been posted or is not signaled, reports. Cold part. */
void cairn_tally_completed(struct cairn_qpc *qpc, const struct cairn_cqe *cqe);
/* Count an RDMA operation of the peer that is done. Cold part. */
void cairn_tally_served(struct cairn_qpc *qpc, enum cairn_tally kind);

/* The same, with one branch if no counter is attached. The lock of the running side is
 * held.
 */
static inline void cairn_tally_cqe(struct cairn_qpc *qpc,
				   const struct cairn_cqe *cqe)
{
	if (unlikely(qpc->tallied))
		cairn_tally_completed(qpc, cqe);
}

/* Post a completion, and count it. Return: as cairn_env_complete(). */
static inline bool cairn_tally_post(struct cairn_qpc *qpc,
				    enum cairn_side_id side,
				    const struct cairn_cqe *cqe)
{
	if (!cairn_env_complete(qpc, side, cqe))
		return false;
	cairn_tally_cqe(qpc, cqe);
	return true;
}

static inline void cairn_tally_remote(struct cairn_qpc *qpc,
				      enum cairn_tally kind)
{
	if (unlikely(qpc->tallied & kind))
		cairn_tally_served(qpc, kind);
}

#endif
