// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
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

/* Raise the delayed event, or the one for entries that are unpolled. @late: its time is
 * over. Return: whether to call cairn_cq_notify().
 */
static bool moderate_raise(struct cairn_cq *cq, bool late)
{
	u32 arm = READ_ONCE(cq->queue.host->arm);
	bool notify = false;

	lockdep_assert_held(&cq->lock);
	if (cairn_event_end(&cq->delay, ktime_get_ns(), late) || cairn_cq_holds_asked(cq, arm))
		cairn_cq_answer(cq, arm, &notify);
	return notify;
}

/* The time is over. In a soft interrupt. */
static enum hrtimer_restart moderate_expire(struct hrtimer *timer)
{
	struct cairn_cq *cq = container_of(timer, struct cairn_cq, delay_timer);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	notify = moderate_raise(cq, true);
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
	if (cairn_event_is_lazy(&cq->delay)) {
		/* If the timer function runs now, it finds the arm word answered. */
		hrtimer_try_to_cancel(&cq->delay_timer);
		notify = moderate_raise(cq, false);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cairn_cq_notify(cq);
}

void cairn_moderate_init(struct cairn_cq *cq)
{
	hrtimer_setup(&cq->delay_timer, moderate_expire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cairn_lazy_event_init(&cq->lazy, moderate_raise_lazy);
}

void cairn_moderate_stop(struct cairn_cq *cq)
{
	cairn_lazy_cancel(&cq->lazy);
	hrtimer_cancel(&cq->delay_timer);
}

void cairn_moderate_late(struct cairn_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	/* A timer that runs already raises an event for these entries, too. */
	if (!hrtimer_is_queued(&cq->delay_timer))
		hrtimer_start(&cq->delay_timer, ns_to_ktime(MODERATE_LATE_NS),
			      HRTIMER_MODE_REL_SOFT);
}

/* How many entries an event may wait for the lazy thread of @lane. With few entries there are
 * few receives, which the process has to post again.
 */
static u32 moderate_lazy(const struct cairn_cq *cq, const struct cairn_lane *lane)
{
	if (!cq->is_user || !cairn_lazy_may_defer(lane))
		return 0;
	return cq->ibcq.cqe / 4;
}

static void moderate_start(struct cairn_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	hrtimer_start(&cq->delay_timer, ns_to_ktime(cairn_event_delay_ns(&cq->delay)),
		      HRTIMER_MODE_REL_SOFT);
}

bool cairn_moderate_delays(struct cairn_cq *cq, const struct cairn_cqe *cqe,
			   struct cairn_lane *lane)
{
	u32 lazy = cq->delay.us ? 0 : moderate_lazy(cq, lane);
	bool was_held = cq->delay.held;
	enum cairn_event_verdict verdict;

	lockdep_assert_held(&cq->lock);
	verdict = cairn_event_entry(&cq->delay, lazy && !was_held ? ktime_get_ns() : 0,
				    cairn_cqe_is_solicited(cqe), lazy);
	/* If the timer function runs, it finds the arm word answered. */
	if (verdict == CAIRN_EVENT_NOW && was_held)
		hrtimer_try_to_cancel(&cq->delay_timer);
	if (verdict == CAIRN_EVENT_BEGINS) {
		moderate_start(cq);
		if (lazy)
			cairn_lazy_defer(lane, &cq->lazy);
	}
	return verdict != CAIRN_EVENT_NOW;
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
	if (cairn_event_set(&cq->delay, count, period))
		moderate_start(cq);
	spin_unlock_irq(&cq->lock);
	return 0;
}

const struct ib_device_ops cairn_moderate_ops = {
	.modify_cq = moderate_cq,
};
