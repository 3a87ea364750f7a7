/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * LOCAL_INV and SEND with invalidate: the key is refused at once, but the
 * operation is over only when nobody still works with the memory, and the
 * engine, which cannot wait, is told then.
 */
#ifndef CAIRN_MEM_INVAL_H
#define CAIRN_MEM_INVAL_H

#include "verbs/verbs.h"

void cairn_invals_init(struct cairn_qp *qp);

/* Nobody runs the QP any more. Process context. */
void cairn_invals_cancel(struct cairn_qp *qp);

/**
 * cairn_inval_wait() - what was reachable is no longer: who still works with it?
 * @qp: the QP that took it away
 * @side: which side of it, one at a time
 *
 * Context: in a run of that side.
 * Return: 0 nobody; -EINPROGRESS perhaps somebody, then the side gets a turn when
 * it is over (cairn_inval_over()).
 */
int cairn_inval_wait(struct cairn_qp *qp, enum cairn_side_id side);

/**
 * cairn_inval_begin() - end a fast registration or the binding of a window
 * @qp: the QP that asks
 * @side: which side of it, one at a time
 * @key: the whole key
 *
 * Context: in a run of that side.
 * Return: 0 it is over; -EINPROGRESS not yet, then the side gets a turn when it
 * is (cairn_inval_over()); -EINVAL not a key that the QP may end.
 */
int cairn_inval_begin(struct cairn_qp *qp, enum cairn_side_id side, u32 key);

/* Is the last one that was in progress over? In a run of that side. */
bool cairn_inval_over(struct cairn_qp *qp, enum cairn_side_id side);

#endif
