/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * QPs that wait for room in a completion queue. The consumer polls without a system
 * call, so a flag in space 1 of the queue asks it to call CAIRN_METHOD_LOOK_CQ.
 */
#ifndef CAIRN_VERBS_CQ_WAIT_H
#define CAIRN_VERBS_CQ_WAIT_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

void cairn_cq_waits_init(struct cairn_qp *qp);

/* Add @wait to the waiters of @cq, for one turn of its QP. The caller then executes a
 * full barrier and checks for room again. Under the CQ's lock; any context.
 */
void cairn_cq_wait_begin(struct cairn_cq *cq, struct cairn_cq_wait *wait);

/* Remove @wait from the waiters. Under the CQ's lock. */
void cairn_cq_wait_end(struct cairn_cq *cq, struct cairn_cq_wait *wait);

/* Remove @qp from all waiters. It does not wait again. Without its side locks. */
void cairn_cq_waits_cancel(struct cairn_qp *qp);

/* Give each waiting QP a turn, as there may be room. Any context, without the CQ's
 * lock.
 */
void cairn_cq_resume(struct cairn_cq *cq);

extern const struct uapi_definition cairn_cq_wait_defs[];

#endif
