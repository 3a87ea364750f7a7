/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * LOCAL_INV and SEND with invalidate. The key is refused at once, but the
 * operation completes only when no run uses the memory any more. The engine
 * cannot wait, so it is notified then.
 */
#ifndef CAIRN_MEM_INVAL_H
#define CAIRN_MEM_INVAL_H

#include "verbs/verbs.h"

void cairn_invals_init(struct cairn_qp *qp);

/* Cancel notifications. The QP has no runs any more. Process context. */
void cairn_invals_cancel(struct cairn_qp *qp);

/**
 * cairn_inval_wait() - wait for runs that may use unreachable memory
 * @qp: the QP that made it unreachable
 * @side: side of @qp; it waits for one operation at a time
 *
 * Context: in a run of that side.
 * Return: 0 if no other run may use it; else -EINPROGRESS, and the side gets a
 * turn when those runs have ended (cairn_inval_over()).
 */
int cairn_inval_wait(struct cairn_qp *qp, enum cairn_side_id side);

/**
 * cairn_inval_begin() - end a fast registration or the binding of a window
 * @qp: the QP that asks
 * @side: side of @qp; it waits for one operation at a time
 * @key: the whole key
 *
 * Context: in a run of that side.
 * Return: 0 if it is complete; -EINPROGRESS if not, and the side gets a turn
 * when it is (cairn_inval_over()); -EINVAL if the QP may not end this key.
 */
int cairn_inval_begin(struct cairn_qp *qp, enum cairn_side_id side, u32 key);

/* Is the last operation that was in progress complete? In a run of that side.
 */
bool cairn_inval_over(struct cairn_qp *qp, enum cairn_side_id side);

#endif
