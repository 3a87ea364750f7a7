/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A lane: one thread that serves its QPs round-robin, and one timer for the
 * deadlines of their sides. Lanes belong to the module, not to a device.
 *
 * The lane's lock is the innermost one: it is taken below side locks, with any
 * context's interrupts off, and nothing but the timer's and the scheduler's
 * locks is taken below it.
 */
#ifndef CAIRN_LANE_LANE_H
#define CAIRN_LANE_LANE_H

#include <linux/hrtimer.h>
#include <linux/timerqueue.h>
#include <linux/wait.h>
#include "lane/exec.h"

struct cairn_lane {
	spinlock_t lock;		/* irqsave */
	struct list_head ready;		/* struct cairn_exec, first in first out */
	struct timerqueue_head timers;	/* struct cairn_exec_side.timer */
	struct hrtimer timer;		/* for the first of timers */
	wait_queue_head_t wake;		/* the thread: ready is not empty */
	wait_queue_head_t idle;		/* cairn_lane_leave(): running is 0 */
	struct task_struct *task;
};

/* A lane for a new QP: each in turn. Any context. */
struct cairn_lane *cairn_lane_pick(void);

/* Queue @x for a turn of @side, unless it was stopped. Any context. */
void cairn_lane_ready(struct cairn_exec *x, enum cairn_side_id side);

/**
 * cairn_lane_arm() - have a side run at @deadline or before
 * @x: the QP
 * @side: the caller holds its lock
 * @deadline: CLOCK_MONOTONIC, ns; 0: no need
 *
 * Lazy: a timer that would expire too early stays, because a deadline moves
 * with each packet and the timer only needs to look once per timeout.
 *
 * Context: any.
 */
void cairn_lane_arm(struct cairn_exec *x, enum cairn_side_id side,
		    u64 deadline);

/* Take @x off the lane for good and wait until it is not run. Sleeps. */
void cairn_lane_leave(struct cairn_exec *x);

/* exec.c: run a side that is due, up to @packets received and as many sent.
 * BH off.
 */
void cairn_exec_serve(struct cairn_exec *x, enum cairn_side_id side,
		      u32 packets);

/* exec.c: read and check the packet of @len bytes, BTH to ICRC, at @offset of an
 * skb of @side. False: counted, to be dropped.
 */
bool cairn_exec_parse(struct cairn_exec *x, enum cairn_side_id side,
		      struct sk_buff *skb, u32 offset, u32 len,
		      struct cairn_pkt *pkt);

/* exec.c: before an skb may wait, let go of all in it that belongs to others. */
void cairn_exec_disown(struct sk_buff *skb);

/* exec.c: run a side if it has events, as its binding to this CPU ends. BH off. */
void cairn_exec_resume(struct cairn_exec *x, enum cairn_side_id side);

#endif
