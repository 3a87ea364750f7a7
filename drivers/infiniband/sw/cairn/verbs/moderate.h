/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Delayed completion events: the CQ's timer and arming. Moderation, and events that wait for
 * a lazy thread while a process posts without doorbells on a crowded CPU (lane/watch.h): the
 * rules are in verbs/event_delay.h. Arming: the event for entries that are unpolled already
 * is delayed in any case.
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
bool cairn_moderate_delays(struct cairn_cq *cq, const struct cairn_cqe *cqe,
			   struct cairn_lane *lane);

#endif
