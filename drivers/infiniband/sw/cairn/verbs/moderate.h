/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Delayed completion events. Moderation: a CQ delays an event until a number of entries
 * has been added, or until a time after the first of them. Events for errors and
 * solicited completions are not delayed. Arming: the event for entries that are unpolled
 * already is delayed in any case. Lazy lanes: a process posts without doorbells on a crowded
 * CPU (lane/watch.h). Then the event of a user's CQ that is not moderated waits for the lazy
 * thread, for 64 entries or for 1 ms. It does not wait if few entries came in such a time.
 */
#ifndef CAIRN_VERBS_MODERATE_H
#define CAIRN_VERBS_MODERATE_H

#include "verbs/verbs.h"

void cairn_moderate_init(struct cairn_cq *cq);

/* Nothing raises an event from here on. No entry is added any more. Sleeps. */
void cairn_moderate_stop(struct cairn_cq *cq);

/* The CQ was armed while it has unpolled entries: raise an event in a moment if the
 * consumer has not polled them by then. Under the CQ's lock.
 */
void cairn_moderate_late(struct cairn_cq *cq);

/* Is the event for @cqe of a QP of @lane to be delayed? Under the CQ's lock. */
bool cairn_moderate_holds(struct cairn_cq *cq, const struct cairn_cqe *cqe,
			  struct cairn_lane *lane);

#endif
