/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The per-CPU state of the data path: counts of the epoch, what is plugged, sides to
 * be run or bound to the CPU, MR caches, the lane whose turn runs. It belongs to one
 * task of the CPU at a time, from cairn_cpu_lock() to cairn_cpu_unlock().
 *
 * Soft interrupts that are off are enough for that, except with PREEMPT_RT. There they
 * are threads, local_bh_disable() keeps a task on its CPU but need not keep others
 * from running there (from 6.18 on it does not), and preemption must not be off: the
 * locks below are sleeping ones. So each CPU has a lock for its state, which
 * nests: what is sent may come back to us in the same task.
 *
 * Order: the lock of the CPU is the outermost of the data path. Its holder waits for a
 * side lock on the control path alone (cairn_exec_lock()), whose holder has its own
 * CPU's lock already. No lock that the stack or a consumer may want in a call of ours is
 * held where the CPU's is taken.
 */
#ifndef CAIRN_DEVICE_CPU_H
#define CAIRN_DEVICE_CPU_H

#include <linux/bottom_half.h>
#include <linux/lockdep.h>
#include <linux/types.h>

/* May the task that has the state of its CPU be preempted? */
#define CAIRN_CPU_PREEMPTED	IS_ENABLED(CONFIG_PREEMPT_RT)

/* With PREEMPT_RT only: the lock of this CPU, which nests. BH off. */
void cairn_cpu_take(void);
void cairn_cpu_put(void);
void cairn_cpu_assert_taken(void);

/* cairn_cpu_lock() in a soft interrupt. */
static inline void cairn_cpu_enter(void)
{
	if (CAIRN_CPU_PREEMPTED)
		cairn_cpu_take();
}

static inline void cairn_cpu_leave(void)
{
	if (CAIRN_CPU_PREEMPTED)
		cairn_cpu_put();
}

static inline void cairn_cpu_assert_locked(void)
{
	if (CAIRN_CPU_PREEMPTED)
		cairn_cpu_assert_taken();
	else
		lockdep_assert_in_softirq();
}

/**
 * cairn_cpu_lock() - the state of this CPU is the caller's
 *
 * Nests. Context: process or softirq; returns with BH off.
 */
static inline void cairn_cpu_lock(void)
{
	local_bh_disable();
	cairn_cpu_enter();
}

static inline void cairn_cpu_unlock(void)
{
	cairn_cpu_leave();
	local_bh_enable();
}

#endif
