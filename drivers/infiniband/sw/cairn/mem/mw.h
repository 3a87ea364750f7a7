/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory windows (IBTA 10.6.7): keys for a part of a region, that queue pairs
 * give out and take back without a system call.
 *
 * Type 1 is bound again and again, each time with a new key; the old key ends
 * then. It is for peers of all queue pairs of its PD. Type 2 is bound once, for
 * peers of that queue pair (2B: and its PD), until it is invalidated.
 *
 * A region counts the windows that are bound to it. While there are any it is
 * neither deregistered nor changed; while it is, none can be bound.
 */
#ifndef CAIRN_MEM_MW_H
#define CAIRN_MEM_MW_H

#include "verbs/verbs.h"

/* @mr is to end or to change. False: windows are bound to it. Any context. */
static inline bool cairn_mw_close(struct cairn_mr *mr)
{
	return atomic_cmpxchg(&mr->windows, 0, -1) <= 0;
}

/* Windows may be bound to @mr again. */
static inline void cairn_mw_open(struct cairn_mr *mr)
{
	atomic_set_release(&mr->windows, 0);
}

/**
 * cairn_mw_bind() - perform a BIND_MW
 * @qp: the queue pair
 * @wqe: checked by the engine
 *
 * Context: in a run of the requester.
 * Return: 0; -EINPROGRESS when accesses by the key that ended are not over
 * (cairn_inval_over()); -EINVAL when it is not allowed: nothing has changed.
 */
int cairn_mw_bind(struct cairn_qp *qp, const struct cairn_send_wqe *wqe);

/* End the binding of @mw for cairn_mr_invalidate(), which has checked the PD. */
int cairn_mw_invalidate(struct cairn_qp *qp, struct cairn_mw *mw, u32 key,
			bool remote);

#endif
