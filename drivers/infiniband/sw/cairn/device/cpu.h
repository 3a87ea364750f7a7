/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The per-CPU state of the data path: epoch counters, open trains (cairn_env_plug()),
 * sides that wait for their run or are bound to the CPU, MR caches, and the lane whose
 * turn runs. One task of the CPU at a time owns it, from cairn_cpu_lock() to
 * cairn_cpu_unlock().
 *
 * Without PREEMPT_RT it is enough that soft interrupts are off. With PREEMPT_RT,
 * local_bh_disable() keeps the task on its CPU, but from 6.18 on other tasks with BH
 * off may run there, too. Preemption must stay on, because the locks of the data path
 * are sleeping locks. So each CPU has a lock for its state. It nests, because a packet
 * that is sent may be received in the same task.
 *
 * Lock order: the CPU's lock is the outermost one of the data path. Its holder waits for
 * a side lock only on the control path (cairn_exec_lock()); the holder of that lock
 * already has the lock of its own CPU. The CPU's lock is not taken below a lock that
 * the IP stack or a consumer may take when cairn calls them.
 */
#ifndef CAIRN_DEVICE_CPU_H
#define CAIRN_DEVICE_CPU_H

#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/types.h>

/* May the task that has the state of its CPU be preempted? */
#define CAIRN_CPU_PREEMPTED	IS_ENABLED(CONFIG_PREEMPT_RT)

/* PREEMPT_RT only: take and release the lock of this CPU; calls nest. BH off. */
void cairn_cpu_take(void);
void cairn_cpu_put(void);
void cairn_cpu_assert_taken(void);

/* The same as cairn_cpu_lock(), for a soft interrupt, where BH are off. */
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
 * cairn_cpu_lock() - own the state of this CPU
 *
 * Calls nest. Context: process or softirq; returns with BH off.
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
