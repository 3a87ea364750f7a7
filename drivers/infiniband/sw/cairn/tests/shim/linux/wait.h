/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_WAIT_H
#define CAIRN_SHIM_LINUX_WAIT_H

#include <linux/atomic.h>
#include <linux/types.h>

/* No thread waits on the host: the test sets whether one does, and sees wake-ups. */
typedef struct {
	bool sleeper;
	u32 woken;
} wait_queue_head_t;

static inline bool wq_has_sleeper(wait_queue_head_t *wait)
{
	smp_mb();
	return READ_ONCE(wait->sleeper);
}

static inline void wake_up(wait_queue_head_t *wait)
{
	__atomic_add_fetch(&wait->woken, 1, __ATOMIC_SEQ_CST);
}

/* The test defines what a wait does. */
int shim_wait(bool condition, s64 timeout);
#define wait_event_interruptible_hrtimeout(wait, condition, timeout) \
	((void)(wait), shim_wait(condition, timeout))

#endif
