/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moderation: a completion queue that is asked for an event raises it when so many
 * entries have come, or so long after the first of them. Errors and solicited
 * completions do not wait.
 */
#ifndef CAIRN_VERBS_MODERATE_H
#define CAIRN_VERBS_MODERATE_H

#include "verbs/verbs.h"

void cairn_moderate_init(struct cairn_cq *cq);

/* No event is raised any more. Nobody posts entries. Sleeps. */
void cairn_moderate_stop(struct cairn_cq *cq);

/* Is the event that @cqe asks for held back? cq->lock held. */
bool cairn_moderate_holds(struct cairn_cq *cq, const struct cairn_cqe *cqe);

#endif
