// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "compat/hrtimer.h"
#include "queue/queue.h"
#include "verbs/cq.h"
#include "verbs/moderate.h"
#include "verbs/ops.h"

/* The time from arming to an event for entries that are unpolled already. Most programs
 * arm and then poll everything: they get no extra event.
 */
#define MODERATE_LATE_NS	(100 * NSEC_PER_USEC)

/* Bounds of an event that waits for a lazy thread. A train has as many messages. */
#define MODERATE_LAZY_COUNT	64
#define MODERATE_LAZY_NS	NSEC_PER_MSEC
/* If fewer entries came in that time, events do not wait for the same time, doubled each time
 * up to 128 ms: the process that posts may wait for the one that the event wakes up.
 */
#define MODERATE_LAZY_FEW	8
#define MODERATE_EAGER_SHIFT	7

static bool moderate_is_lazy(const struct cairn_cq *cq)
{
	return cq->held && !cq->hold_us;
}

/* A delay for a lazy thread ends. @late: by its time */
static void moderate_learn(struct cairn_cq *cq, bool late)
{
	lockdep_assert_held(&cq->lock);
	if (cq->held >= MODERATE_LAZY_FEW)
		cq->eager_shift = 0;
	if (!late || cq->held >= MODERATE_LAZY_FEW)
		return;
	cq->eager_until = ktime_get_ns() + (MODERATE_LAZY_NS << cq->eager_shift);
	cq->eager_shift = min(cq->eager_shift + 1, MODERATE_EAGER_SHIFT);
}

/* Raise the delayed event, or the one for entries that are unpolled. Under the lock.
 * Return: whether to call cairn_cq_notify().
 */
static bool moderate_raise(struct cairn_cq *cq)
{
	u32 arm = READ_ONCE(cq->queue.host->arm);
	bool notify = false;

	lockdep_assert_held(&cq->lock);
	if (cq->held || cairn_cq_holds_asked(cq, arm))
		cairn_cq_answer(cq, arm, &notify);
	cq->held = 0;
	return notify;
}

/* The time is over. In a soft interrupt. */
static enum hrtimer_restart moderate_expire(struct hrtimer *timer)
{
	struct cairn_cq *cq = container_of(timer, struct cairn_cq, hold_timer);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	if (moderate_is_lazy(cq))
		moderate_learn(cq, true);
	notify = moderate_raise(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cairn_cq_notify(cq);
	return HRTIMER_NORESTART;
}

/* The event may have been raised already, and another one be delayed for its own reason. */
static void moderate_raise_lazy(struct cairn_lazy_event *event)
{
	struct cairn_cq *cq = container_of(event, struct cairn_cq, lazy);
	bool notify = false;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (moderate_is_lazy(cq)) {
		/* If the timer function runs now, it finds the arm word answered. */
		hrtimer_try_to_cancel(&cq->hold_timer);
		moderate_learn(cq, false);
		notify = moderate_raise(cq);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cairn_cq_notify(cq);
}

void cairn_moderate_init(struct cairn_cq *cq)
{
	hrtimer_setup(&cq->hold_timer, moderate_expire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cairn_lazy_event_init(&cq->lazy, moderate_raise_lazy);
}

void cairn_moderate_stop(struct cairn_cq *cq)
{
	cairn_lazy_cancel(&cq->lazy);
	hrtimer_cancel(&cq->hold_timer);
}

void cairn_moderate_late(struct cairn_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	/* A timer that runs already raises an event for these entries, too. */
	if (!hrtimer_is_queued(&cq->hold_timer))
		hrtimer_start(&cq->hold_timer, ns_to_ktime(MODERATE_LATE_NS),
			      HRTIMER_MODE_REL_SOFT);
}

/* How many entries an event may be delayed for; below 2: it is not delayed. */
static u32 moderate_count(const struct cairn_cq *cq, const struct cairn_lane *lane)
{
	if (cq->hold_us)
		return cq->hold_count;
	if (!cq->is_user || !cairn_lazy_may_defer(lane) ||
	    ktime_get_ns() < cq->eager_until)
		return 0;
	/* With few entries there are few receives, which the process has to post again. */
	return min(MODERATE_LAZY_COUNT, cq->ibcq.cqe / 4);
}

static void moderate_begin(struct cairn_cq *cq, struct cairn_lane *lane)
{
	u64 ns = cq->hold_us ? cq->hold_us * NSEC_PER_USEC : MODERATE_LAZY_NS;

	lockdep_assert_held(&cq->lock);
	hrtimer_start(&cq->hold_timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
	if (!cq->hold_us)
		cairn_lazy_defer(lane, &cq->lazy);
}

/* The event is raised now. If the timer function runs, it finds the arm word answered. */
static void moderate_end(struct cairn_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (!cq->held)
		return;
	if (!cq->hold_us)
		moderate_learn(cq, false);
	cq->held = 0;
	hrtimer_try_to_cancel(&cq->hold_timer);
}

bool cairn_moderate_holds(struct cairn_cq *cq, const struct cairn_cqe *cqe,
			  struct cairn_lane *lane)
{
	u32 count = moderate_count(cq, lane);

	lockdep_assert_held(&cq->lock);
	if (cqe->status || cqe->flags & CAIRN_CQE_SOLICITED || cq->held + 1 >= count) {
		moderate_end(cq);
		return false;
	}
	if (!cq->held++)
		moderate_begin(cq, lane);
	return true;
}

/**
 * moderate_cq() - ib_device_ops.modify_cq
 * @ibcq: the queue, in use
 * @count: number of entries that an event waits for
 * @period: longest wait, microseconds
 *
 * Events are not delayed if @count is below 2 or @period is 0. An event that is delayed
 * already keeps its timer, but comes within 1 ms if events are not delayed any more.
 *
 * Context: process.
 * Return: 0.
 */
static int moderate_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);

	spin_lock_irq(&cq->lock);
	cq->hold_count = count;
	cq->hold_us = count > 1 ? period : 0;
	if (moderate_is_lazy(cq))
		hrtimer_start(&cq->hold_timer, ns_to_ktime(MODERATE_LAZY_NS),
			      HRTIMER_MODE_REL_SOFT);
	spin_unlock_irq(&cq->lock);
	return 0;
}

const struct ib_device_ops cairn_moderate_ops = {
	.modify_cq = moderate_cq,
};
