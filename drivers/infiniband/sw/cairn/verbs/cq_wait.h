/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs that wait for room in a completion queue. The consumer polls without a
 * system call, so a flag in space 1 of the queue asks it for CAIRN_METHOD_LOOK_CQ.
 */
#ifndef CAIRN_VERBS_CQ_WAIT_H
#define CAIRN_VERBS_CQ_WAIT_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

void cairn_cq_waits_init(struct cairn_qp *qp);

/* Add @wait to those of @cq, for one turn. cq->lock held; any context. The caller
 * looks for room once more after a full barrier.
 */
void cairn_cq_wait_begin(struct cairn_cq *cq, struct cairn_cq_wait *wait);

/* @wait needs no turn any more. cq->lock held. */
void cairn_cq_wait_end(struct cairn_cq *cq, struct cairn_cq_wait *wait);

/* @qp will not wait again, nor is it given a turn. Its side locks are free. */
void cairn_cq_waits_cancel(struct cairn_qp *qp);

/* There may be room: each QP that waits gets a turn. Any context, without cq->lock. */
void cairn_cq_resume(struct cairn_cq *cq);

extern const struct uapi_definition cairn_cq_wait_defs[];

#endif
