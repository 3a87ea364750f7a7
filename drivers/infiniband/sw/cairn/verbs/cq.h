/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the data path asks of completion queues. */
#ifndef CAIRN_VERBS_CQ_H
#define CAIRN_VERBS_CQ_H

#include "verbs/verbs.h"

/* Add a completion; calls the completion handler outside of the CQ's lock. Any
 * context.
 */
void cairn_cq_post(struct cairn_cq *cq, const struct cairn_cqe *cqe);

#endif
