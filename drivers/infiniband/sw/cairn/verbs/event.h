/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A budget for events of a whole device. ib_uverbs keeps such an event once for each open
 * context, until the process has read it, and charges none to a memcg. The administrator
 * of a network namespace can cause them without end. So two events are as many
 * milliseconds apart as the device has contexts; EVENT_ROW may follow each other faster.
 */
#ifndef CAIRN_VERBS_EVENT_H
#define CAIRN_VERBS_EVENT_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct cairn_events {
	atomic_t contexts;	/* that are open */
	spinlock_t lock;	/* process context */
	u64 paid;		/* ns; when the cost of all events so far is over */
};

void cairn_event_init(struct cairn_events *events);

/**
 * cairn_event_wait() - take an event from the budget
 * @events: of the device
 *
 * Context: process.
 * Return: 0, and the event is to be raised; or the ns until one may be.
 */
u64 cairn_event_wait(struct cairn_events *events);

#endif
