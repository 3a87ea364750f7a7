/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Posts of lazy watches (lane/watch.h): the process rings for all of them at once, or the
 * lane's lazy thread finds them. The thread has the policy SCHED_BATCH: when it wakes up, it
 * does not preempt the process that posts. It has the CPU when that process sleeps, or when
 * the time slice of that process ends.
 *
 * While a watch is lazy, completion events may wait for the thread, too. A task that an event
 * wakes up may preempt the process that posts, for each message again.
 */
#ifndef CAIRN_LANE_LAZY_H
#define CAIRN_LANE_LAZY_H

#include <linux/list.h>
#include <linux/types.h>

struct cairn_lane;
struct cairn_watch;

/* An event that may wait for a lazy thread. The owner serialises cairn_lazy_defer(). */
struct cairn_lazy_event {
	struct list_head list;		/* in lane->lazy_events; empty: it does not wait */
	struct cairn_lane *lane;	/* whose thread it waited for last, or NULL */
	void (*raise)(struct cairn_lazy_event *event);	/* in the thread; does not sleep */
};

void cairn_lazy_event_init(struct cairn_lazy_event *event,
			   void (*raise)(struct cairn_lazy_event *event));

/**
 * cairn_lazy_may_defer() - does the lazy thread raise events on this CPU now?
 * @lane: the lane of the QP that has the event
 *
 * Not while the CPU is idle: then nothing runs that an event would preempt.
 *
 * Context: any.
 */
bool cairn_lazy_may_defer(const struct cairn_lane *lane);

/* Let the lazy thread raise @event once. Below the owner's lock. */
void cairn_lazy_defer(struct cairn_lane *lane, struct cairn_lazy_event *event);

/* The thread does not raise @event from here on. No caller defers it any more. Process
 * context.
 */
void cairn_lazy_cancel(struct cairn_lazy_event *event);

/**
 * cairn_lazy_start() - create the lazy thread of a lane
 * @lane: initialised
 * @node: the memory node of its CPU
 *
 * Context: process.
 * Return: 0 or the error of the thread's creation.
 */
int cairn_lazy_start(struct cairn_lane *lane, int node);

/* End the thread. The lane has no watches of processes any more. */
void cairn_lazy_stop(struct cairn_lane *lane);

/**
 * cairn_lazy_serve() - serve the posts that a process has marked in its ready map
 * @watch: one of the process's own; lazy or not
 *
 * Runs requesters in the caller's context, as doorbells do. Packets of several QPs to a peer
 * may leave in one train. Bytes beyond those of a round are left to the lane. The work of a
 * call is bounded, whatever the process writes to its ready map.
 *
 * Context: process. It may reschedule.
 */
void cairn_lazy_serve(struct cairn_watch *watch);

#endif
