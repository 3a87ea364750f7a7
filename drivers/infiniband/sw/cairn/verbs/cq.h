/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the data path asks of completion queues. */
#ifndef CAIRN_VERBS_CQ_H
#define CAIRN_VERBS_CQ_H

#include "verbs/verbs.h"

/* Add a completion; calls the completion handler outside of the CQ's lock. Any
 * context.
 */
void cairn_cq_post(struct cairn_cq *cq, const struct cairn_cqe *cqe);

/* An event for the arm word @arm is due, unless it was raised already: @notify says
 * whether to call the handler, without the lock. cq->lock held.
 */
void cairn_cq_answer(struct cairn_cq *cq, u32 arm, bool *notify);

#endif
