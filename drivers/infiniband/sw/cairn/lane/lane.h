/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A lane: one thread that serves its QPs, and one timer for the deadlines of
 * their sides. Lanes belong to the module, not to a device.
 *
 * A QP has a slot in the lane's scheduler; whoever has work for the thread marks
 * it there (any context, no lock). The thread selects some QPs ahead into its
 * FIFO, so that their contexts and WQEs are fetched while others are served.
 *
 * The lane's lock is the innermost one: it is taken below side locks, with any
 * context's interrupts off, and nothing but the timer's and the scheduler's
 * locks is taken below it.
 */
#ifndef CAIRN_LANE_LANE_H
#define CAIRN_LANE_LANE_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/timerqueue.h>
#include <linux/wait.h>
#include "engine/fifo.h"
#include "engine/sched.h"
#include "engine/slots.h"
#include "lane/exec.h"
#include "lane/watch.h"

/* 64 slots of the scheduler, of one watch or shared. Under lane->lock. */
struct cairn_lane_word {
	u64 used;			/* bit per x that is not NULL */
	u64 posted;			/* found in the ready map, turn to come */
	struct cairn_exec *x[64];
};

struct cairn_lane {
	spinlock_t lock;		/* irqsave */
	struct cairn_sched sched;	/* the lock's holder is its owner */
	struct cairn_fifo fifo;
	struct cairn_lane_word **words;	/* by scheduler word; NULL: not in use */
	struct mutex slots_lock;	/* slots; making and dropping words */
	struct cairn_slots slots;
	struct list_head active;	/* watches that are polled, or are to be */
	u32 round;			/* of looking at them */
	struct timerqueue_head timers;	/* struct cairn_exec_side.timer */
	struct hrtimer timer;		/* for the first of timers */
	struct cairn_timer_share timer_share;	/* the timer's own */
	wait_queue_head_t wake;		/* the thread: lane_has_work() */
	wait_queue_head_t idle;		/* cairn_lane_leave(): running is 0 */
	struct cairn_watch *kernel;	/* kernel QPs of this lane */
	struct task_struct *task;
	void *sched_mem;
	void *slots_mem;
	unsigned int number;
};

/**
 * cairn_lanes_start() - create the threads, at module load
 *
 * Context: process.
 * Return: 0, -ENOMEM or the error of the thread's creation.
 */
int cairn_lanes_start(void);

/* End them. Every QP has been stopped. Process context. */
void cairn_lanes_stop(void);

/* Lanes of the module, 1..CAIRN_MAX_LANES. */
unsigned int cairn_lanes(void);

/* A lane for a new QP: each in turn. Any context. */
unsigned int cairn_lane_pick(void);

struct cairn_lane *cairn_lane(unsigned int number);

/* The QP of a slot, or NULL. lane->lock held. */
static inline struct cairn_exec *cairn_lane_qp(const struct cairn_lane *lane,
					       u32 slot)
{
	const struct cairn_lane_word *word = lane->words[slot / 64];

	return word ? word->x[slot % 64] : NULL;
}

/* Have the thread run, if it sleeps. After a full barrier behind what it is to
 * see. Any context, lane->lock not held.
 */
static inline void cairn_lane_wake(struct cairn_lane *lane)
{
	if (wq_has_sleeper(&lane->wake))
		wake_up(&lane->wake);
}

/* Have the thread give @side of @exec a turn. Any context. */
void cairn_lane_ready(struct cairn_exec *exec, enum cairn_side_id side);

/* For cairn_lane_arm(). */
void cairn_lane_set_timer(struct cairn_exec *exec, enum cairn_side_id side,
			  u64 deadline);

/**
 * cairn_lane_arm() - have a side run at @deadline or before
 * @exec: the QP
 * @side: the caller holds its lock
 * @deadline: CLOCK_MONOTONIC, ns; 0: no need any more
 *
 * Lazy: a timer that would expire too early stays, and looks at the alarm then
 * (engine/alarm.h): a deadline that moved or went costs no run.
 *
 * Context: any.
 */
static inline void cairn_lane_arm(struct cairn_exec *exec,
				  enum cairn_side_id side, u64 deadline)
{
	if (cairn_alarm_move(&exec->side[side].alarm, deadline))
		cairn_lane_set_timer(exec, side, deadline);
}

/**
 * cairn_lane_purge() - the flow-control mark of a QP went up (origins.rst, F2)
 * @exec: the QP; the caller holds the lock of the side that waits
 *
 * Drops its WQEs from the FIFO; those of others keep their order. Nothing is lost:
 * if something else wants the QP it is still marked in the scheduler.
 *
 * Context: any.
 */
void cairn_lane_purge(struct cairn_exec *exec);

/* Take @exec off the lane for good and wait until it is not run. Sleeps. */
void cairn_lane_leave(struct cairn_exec *exec);

#endif
