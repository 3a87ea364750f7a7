/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory windows (IBTA 10.6.7): keys for a part of a region, which queue pairs
 * bind and invalidate without a system call.
 *
 * Type 1 can be bound repeatedly. Each binding has a new key and ends the old
 * one. Peers of all queue pairs of its PD may use it. Type 2 is bound once,
 * until the queue pair that bound it invalidates it. Only the peer of that queue
 * pair may use or invalidate it (2B: the PD is checked too).
 *
 * A region counts the windows that are bound to it. While there are any, it is
 * neither deregistered nor changed. During deregistration and changes no window
 * can be bound.
 */
#ifndef CAIRN_MEM_MW_H
#define CAIRN_MEM_MW_H

#include "verbs/verbs.h"

/* Refuse bindings, as @mr ends or changes. False: it has windows. Any context.
 */
static inline bool cairn_mw_close(struct cairn_mr *mr)
{
	/* A full barrier when it takes the last count. Pairs with mw_put_region(). */
	return atomic_cmpxchg(&mr->windows, 0, -1) <= 0;
}

/**
 * cairn_mw_close_last() - refuse bindings, as @mr is deregistered
 * @mr: any region
 *
 * ib_uverbs also deregisters a region whose reply it could not copy, and that must not
 * fail (mw_region_registered()).
 *
 * Context: process, sleeps.
 * Return: false: it has windows.
 */
bool cairn_mw_close_last(struct cairn_mr *mr);

/* Allow bindings to @mr again. */
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
 * Return: 0; -EINPROGRESS while runs may use the old key (cairn_inval_over());
 * -EINVAL if the binding is not allowed, and nothing has changed.
 */
int cairn_mw_bind(struct cairn_qp *qp, const struct cairn_send_wqe *wqe);

/* End the binding of @mw for cairn_mr_invalidate(), which has checked the PD. -EINVAL:
 * another key, type 1, or the binding of another queue pair.
 */
int cairn_mw_invalidate(struct cairn_qp *qp, struct cairn_mw *mw, u32 key,
			bool remote);

#endif
