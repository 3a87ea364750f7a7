/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A lane: one thread that serves its QPs, and one timer for the deadlines of
 * their sides. Lanes belong to the module, not to a device.
 *
 * A QP has a slot in the lane's scheduler. Any context marks the slot, without a
 * lock, when the thread has to run the QP. The thread takes a vector of turns at a time
 * and selects the QPs of the next ones. If one of the QPs is limited, it copies the WQEs of
 * all turns into its FIFO before it serves any. Stage by stage it prefetches what runs
 * need while it serves others (lane_select() and those behind it).
 *
 * The lane's lock is the innermost one: it is taken below side locks, with interrupts
 * off. Below it only locks of the kernel are taken: those of hrtimers and of wake-ups.
 */
#ifndef CAIRN_LANE_LANE_H
#define CAIRN_LANE_LANE_H

#include <linux/hrtimer.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include "device/share.h"
#include "device/vector.h"
#include "engine/ahead.h"
#include "engine/fifo.h"
#include "engine/sched.h"
#include "engine/slots.h"
#include "engine/window.h"
#include "lane/exec.h"
#include "lane/watch.h"
#include "lane/wheel.h"

/* One turn of a QP, in packets of each direction. */
#define CAIRN_LANE_BUDGET	64
/* Bytes that are sent while soft interrupts are off: those of one train, less room for the
 * packet that exceeds the limit.
 */
#define CAIRN_ROUND_BYTES	(CAIRN_TRAIN_BYTES - 2048)

/* 64 slots of the scheduler: of one watch, or shared by several. Under lane->lock. */
struct cairn_lane_word {
	u64 used;			/* a bit for each exec that is not NULL */
	u64 posted;			/* ready bits taken; the turn has not begun */
	u64 queued;			/* in lane->selected */
	struct cairn_exec *exec[64];
};

struct cairn_lane_turn {
	struct cairn_exec *exec;	/* counted in its running */
	unsigned long sides;		/* those that want the turn */
	bool fetched;			/* the requester's WQEs are in wqes */
};

/* Turns that are taken together, and the FIFO of their WQEs: those of a turn are together,
 * in the order of the turns (engine/ahead.h).
 */
struct cairn_lane_vector {
	struct cairn_lane_turn turn[CAIRN_VECTOR];
	struct cairn_ahead wqes[CAIRN_VECTOR];
	u32 num;
	u32 next;			/* the first that has not been served */
};

struct cairn_lane {
	spinlock_t lock;		/* irqsave */
	struct cairn_sched sched;	/* its owner is the lock's holder */
	struct cairn_fifo selected;	/* QPs of the next turns */
	struct cairn_lane_vector vector;	/* for the thread */
	struct cairn_lane_word **words;	/* by scheduler word; NULL: not in use */
	struct mutex slots_lock;	/* slots; adding and removing words */
	struct cairn_slots slots;
	struct list_head active;	/* active watches (lane/watch.h) */
	struct list_head lazy;		/* lazy watches */
	struct list_head lazy_events;	/* struct cairn_lazy_event */
	bool lazy_due;			/* the lazy thread has to look at lazy; read without lock */
	u32 round;			/* number of the round that polls them */
	struct cairn_wheel wheel;	/* struct cairn_exec_side.timer */
	u64 timer_at;			/* when the timer expires; U64_MAX: it is not set */
	struct hrtimer timer;		/* looks at the wheel */
	struct cairn_timer_share timer_share;	/* used by the timer only */
	wait_queue_head_t wake;		/* the thread waits for lane_has_work() */
	wait_queue_head_t idle;		/* cairn_lane_leave() waits for running == 0 */
	struct cairn_watch *kernel;	/* kernel QPs of this lane */
	struct task_struct *task;
	wait_queue_head_t lazy_wake;	/* lazy_task waits for lazy watches */
	struct task_struct *lazy_task;	/* lane/lazy.c */
	u32 rounds;			/* begun and ended: odd in a round */
	u32 awaited;			/* value of rounds that lane/late.c waits for */
	void *sched_mem;
	void *slots_mem;
	struct cairn_shares shares;	/* of the users in words */
	u32 num_words;
	unsigned int number;
};

/**
 * cairn_lanes_start() - create the threads, at module load
 *
 * Context: process.
 * Return: 0, -ENOMEM or the error of the thread's creation.
 */
int cairn_lanes_start(void);

/* End the threads. Every QP has been stopped. Process context. */
void cairn_lanes_stop(void);

/* Number of lanes, 1..CAIRN_MAX_LANES. */
unsigned int cairn_lanes(void);

/* Number of a lane for a new QP, round-robin. Any context. */
unsigned int cairn_lane_pick(void);

struct cairn_lane *cairn_lane(unsigned int number);

/* The QP of a slot, or NULL. */
static inline struct cairn_exec *cairn_lane_qp(struct cairn_lane *lane, u32 slot)
{
	const struct cairn_lane_word *word = lane->words[slot / 64];

	lockdep_assert_held(&lane->lock);
	return word ? word->exec[slot % 64] : NULL;
}

/* Undo exec->running++: a run has ended. Under lane->lock. */
void cairn_lane_put_running(struct cairn_lane *lane, struct cairn_exec *exec);

/* Wake the thread if it sleeps. The caller has executed a full barrier after the store
 * that lane_has_work() checks. Any context, without lane->lock.
 */
static inline void cairn_lane_wake(struct cairn_lane *lane)
{
	if (wq_has_sleeper(&lane->wake))
		wake_up(&lane->wake);
}

/* The same for the lazy thread, after lane->lazy_due or lazy_events has changed. */
static inline void cairn_lane_wake_lazy(struct cairn_lane *lane)
{
	if (wq_has_sleeper(&lane->lazy_wake))
		wake_up(&lane->lazy_wake);
}

/* Has the thread work, or is it in a round? Any context; it may be out of date at once. */
bool cairn_lane_busy(const struct cairn_lane *lane);

/* Mark @exec so that the thread gives @side a turn, and wake the thread. Any context. */
void cairn_lane_ready(struct cairn_exec *exec, enum cairn_side_id side);

/* The part of cairn_lane_arm() that takes lane->lock. */
void cairn_lane_set_timer(struct cairn_exec *exec, enum cairn_side_id side,
			  u64 deadline);

/**
 * cairn_lane_arm() - set the deadline of a side
 * @exec: the QP
 * @side: the caller holds its lock
 * @deadline: when the side has to run, CLOCK_MONOTONIC, ns; 0: never
 *
 * A timer entry that expires before @deadline stays, and the alarm is checked then
 * (engine/alarm.h). So a deadline that moves or is cancelled costs no run.
 *
 * Context: any.
 */
static inline void cairn_lane_arm(struct cairn_exec *exec,
				  enum cairn_side_id side, u64 deadline)
{
	if (cairn_alarm_move(&exec->side[side].alarm, deadline))
		cairn_lane_set_timer(exec, side, deadline);
}

/* Remove @exec from the lane and wait until thread and timer do not run it. Sleeps. */
void cairn_lane_leave(struct cairn_exec *exec);

#endif
