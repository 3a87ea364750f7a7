/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * LOCAL_INV and SEND with invalidate: the key is refused at once, but the
 * operation is over only when nobody still works with the memory, and the
 * engine, which cannot wait, is told then.
 */
#ifndef CAIRN_VERBS_INVAL_H
#define CAIRN_VERBS_INVAL_H

#include "verbs/verbs.h"

void cairn_invals_init(struct cairn_qp *qp);

/* Nobody runs the QP any more. Process context. */
void cairn_invals_cancel(struct cairn_qp *qp);

/**
 * cairn_inval_begin() - end a fast registration
 * @qp: the QP that asks
 * @side: which side of it, one at a time
 * @key: the whole key
 *
 * Context: in a run of that side.
 * Return: 0 it is over; -EINPROGRESS not yet, then the side gets a turn when it
 * is (cairn_inval_over()); -EINVAL not the key of a fast registration in the
 * QP's domain.
 */
int cairn_inval_begin(struct cairn_qp *qp, enum cairn_side_id side, u32 key);

/* Is the last one that was in progress over? In a run of that side. */
bool cairn_inval_over(struct cairn_qp *qp, enum cairn_side_id side);

#endif
