/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The time of a vector of events. The first event of a vector reads the clock, and those
 * behind it use its time. A vector takes a few microseconds, and each run would read the
 * clock otherwise.
 */
#ifndef CAIRN_DEVICE_CLOCK_H
#define CAIRN_DEVICE_CLOCK_H

#include <linux/ktime.h>
#include <linux/percpu.h>
#include "device/cpu.h"

struct cairn_clock {
	u64 now;	/* ns; 0: not read yet */
	u32 left;	/* events that may use it */
};

DECLARE_PER_CPU(struct cairn_clock, cairn_clock);

/* The next @events runs of this CPU are a vector, 0..CAIRN_VECTOR. 0: a vector has
 * ended. Below cairn_cpu_lock().
 */
static inline void cairn_clock_begin_vector(u32 events)
{
	cairn_cpu_assert_locked();
	this_cpu_write(cairn_clock.now, 0);
	this_cpu_write(cairn_clock.left, events);
}

/* The time of a run: CLOCK_MONOTONIC, ns. Below cairn_cpu_lock(). */
static inline u64 cairn_clock_now(void)
{
	struct cairn_clock *clock = this_cpu_ptr(&cairn_clock);

	if (!clock->left)
		return ktime_get_ns();
	clock->left--;
	if (!clock->now)
		clock->now = ktime_get_ns();
	return clock->now;
}

#endif
