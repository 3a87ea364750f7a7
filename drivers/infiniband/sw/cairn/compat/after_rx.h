/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Calls a function on this CPU after the CPU has received the packets that wait in its
 * queues.
 *
 * No interface of the kernel does this. A tasklet comes close: pending soft interrupts
 * run in a fixed order, with packet reception before tasklets. A work item of
 * system_bh_wq (6.9) runs in the same soft interrupt, but costs more, and a NAPI instance
 * of our own would take turns with the others. Reception may stop early with packets
 * left. It is pending again then, which cairn_after_rx_pending() checks.
 *
 * The packets of virtual netdevs may be received by a thread (PREEMPT_RT from 6.10 on,
 * or thread_backlog_napi). A tasklet would run before that thread. So a timer delays the
 * tasklet, and the thread gets the CPU.
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

/* Schedule the call; several requests become one. BH off. */
static inline void cairn_after_rx_schedule(struct cairn_after_rx *after)
{
	tasklet_schedule(&after->tasklet);
}

/* Schedule the call again, from the call itself, as packets are left. */
static inline void cairn_after_rx_again(struct cairn_after_rx *after)
{
	if (after_rx_in_thread())
		hrtimer_start(&after->timer, ns_to_ktime(CAIRN_AFTER_RX_WAIT),
			      HRTIMER_MODE_REL_PINNED_SOFT);
	else
		tasklet_schedule(&after->tasklet);
}

/* @func: the function, called in a soft interrupt; its argument is the member tasklet. */
static inline void cairn_after_rx_init(struct cairn_after_rx *after,
				       void (*func)(struct tasklet_struct *))
{
	tasklet_setup(&after->tasklet, func);
	hrtimer_setup(&after->timer, after_rx_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_SOFT);
}

/* Cancel a scheduled call, and wait for a running one. Sleeps. */
static inline void cairn_after_rx_stop(struct cairn_after_rx *after)
{
	hrtimer_cancel(&after->timer);
	tasklet_kill(&after->tasklet);
}

#endif
