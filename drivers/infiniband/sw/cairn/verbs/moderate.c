// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hrtimer.h>
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

/* The time is over: raise the delayed event. In a soft interrupt. */
static enum hrtimer_restart moderate_expire(struct hrtimer *timer)
{
	struct cairn_cq *cq = container_of(timer, struct cairn_cq, hold_timer);
	bool notify = false;
	unsigned long flags;
	u32 arm;

	spin_lock_irqsave(&cq->lock, flags);
	arm = READ_ONCE(cq->queue.host->arm);
	if (cq->held || cairn_cq_holds_asked(cq, arm))
		cairn_cq_answer(cq, arm, &notify);
	cq->held = 0;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cairn_cq_notify(cq);
	return HRTIMER_NORESTART;
}

void cairn_moderate_init(struct cairn_cq *cq)
{
	hrtimer_setup(&cq->hold_timer, moderate_expire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

void cairn_moderate_stop(struct cairn_cq *cq)
{
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

bool cairn_moderate_holds(struct cairn_cq *cq, const struct cairn_cqe *cqe)
{
	u64 ns = (u64)cq->hold_us * NSEC_PER_USEC;

	lockdep_assert_held(&cq->lock);
	if (cqe->status || cqe->flags & CAIRN_CQE_SOLICITED ||
	    ++cq->held >= cq->hold_count) {
		/* If the timer function runs now, it finds the arm word answered. */
		cq->held = 0;
		hrtimer_try_to_cancel(&cq->hold_timer);
		return false;
	}
	if (cq->held == 1)
		hrtimer_start(&cq->hold_timer, ns_to_ktime(ns),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

/**
 * moderate_cq() - ib_device_ops.modify_cq
 * @ibcq: the queue, in use
 * @count: number of entries that an event waits for
 * @period: longest wait, microseconds
 *
 * Events are not delayed if @count is below 2 or @period is 0. An event that is delayed
 * already keeps its timer.
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
	spin_unlock_irq(&cq->lock);
	return 0;
}

const struct ib_device_ops cairn_moderate_ops = {
	.modify_cq = moderate_cq,
};
