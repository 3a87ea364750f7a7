/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A call on this CPU after its packets that wait have been received.
 *
 * No interface of the kernel says that. A tasklet does it, because soft interrupts have an
 * order in which packet reception comes before tasklets. A work of system_bh_wq (6.9)
 * runs in the same soft interrupt, at a higher cost, and a NAPI instance of our own
 * takes turns with the others. Whether reception ended early, with packets left, is
 * asked of what is pending.
 *
 * Where packets of virtual netdevs are received by a thread (PREEMPT_RT from 6.10 on,
 * or thread_backlog_napi), no soft interrupt is behind them: a timer gives that
 * thread its CPU meanwhile.
 */
#ifndef CAIRN_COMPAT_AFTER_RX_H
#define CAIRN_COMPAT_AFTER_RX_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include "compat/hrtimer.h"

#define CAIRN_AFTER_RX_WAIT	(20 * NSEC_PER_USEC)

struct cairn_after_rx {
	struct tasklet_struct tasklet;
	struct hrtimer timer;		/* schedules the tasklet */
};

static inline enum hrtimer_restart after_rx_expired(struct hrtimer *timer)
{
	struct cairn_after_rx *after =
		container_of(timer, struct cairn_after_rx, timer);

	tasklet_schedule(&after->tasklet);
	return HRTIMER_NORESTART;
}

/* Does the thread of this CPU have packets to receive? */
static inline bool after_rx_in_thread(void)
{
	const unsigned long busy = NAPIF_STATE_SCHED | NAPIF_STATE_THREADED;

	return (this_cpu_read(softnet_data.backlog.state) & busy) == busy;
}

/* Are there packets to receive on this CPU? BH off. */
static inline bool cairn_after_rx_pending(void)
{
	return local_softirq_pending() & BIT(NET_RX_SOFTIRQ) ||
	       after_rx_in_thread();
}

/* BH off. One call for several of these. */
static inline void cairn_after_rx_schedule(struct cairn_after_rx *after)
{
	tasklet_schedule(&after->tasklet);
}

/* In the call, which found that packets are left. */
static inline void cairn_after_rx_again(struct cairn_after_rx *after)
{
	if (after_rx_in_thread())
		hrtimer_start(&after->timer, ns_to_ktime(CAIRN_AFTER_RX_WAIT),
			      HRTIMER_MODE_REL_PINNED_SOFT);
	else
		tasklet_schedule(&after->tasklet);
}

/* @func: has the member tasklet as argument, in a soft interrupt. */
static inline void cairn_after_rx_init(struct cairn_after_rx *after,
				       void (*func)(struct tasklet_struct *))
{
	tasklet_setup(&after->tasklet, func);
	hrtimer_setup(&after->timer, after_rx_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_SOFT);
}

/* No call is made from here on, except for what is scheduled afterwards. Sleeps. */
static inline void cairn_after_rx_stop(struct cairn_after_rx *after)
{
	hrtimer_cancel(&after->timer);
	tasklet_kill(&after->tasklet);
}

#endif
