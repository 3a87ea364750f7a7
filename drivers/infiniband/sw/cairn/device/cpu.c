// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "device/cpu.h"

#ifdef CONFIG_PREEMPT_RT
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

struct cpu_owner {
	spinlock_t lock;	/* held by the task that owns the CPU's state */
	struct task_struct *task;	/* holder of the lock */
	unsigned int depth;	/* nested calls of the holder */
};

static DEFINE_PER_CPU(struct cpu_owner, cpu_owners) = {
	.lock = __SPIN_LOCK_UNLOCKED(cpu_owners.lock),
};

void cairn_cpu_take(void)
{
	struct cpu_owner *owner;

	migrate_disable();
	owner = this_cpu_ptr(&cpu_owners);
	/* Another task may change it meanwhile, but never to or from current. */
	if (READ_ONCE(owner->task) != current) {
		spin_lock(&owner->lock);
		WRITE_ONCE(owner->task, current);
	}
	owner->depth++;
}

void cairn_cpu_put(void)
{
	struct cpu_owner *owner = this_cpu_ptr(&cpu_owners);

	if (!--owner->depth) {
		WRITE_ONCE(owner->task, NULL);
		spin_unlock(&owner->lock);
	}
	migrate_enable();
}

void cairn_cpu_assert_taken(void)
{
	lockdep_assert_held(this_cpu_ptr(&cpu_owners.lock));
}
#endif
