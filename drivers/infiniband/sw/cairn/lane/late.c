// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include "lane/exec.h"
#include "lane/lane.h"
#include "lane/late.h"

/* The least time between questions, ns: each interrupts all CPUs that run queue pairs. */
#define LATE_PAUSE	500000U

/* The question to one CPU. */
struct late_ask {
	call_single_data_t csd;
	struct tasklet_struct tasklet;
	bool waits;			/* for the answer */
};

static DEFINE_PER_CPU(struct late_ask, late_ask);
static DEFINE_RAW_SPINLOCK(late_lock);		/* irqsave; serializes questions */
static atomic_t late_missing;			/* answers; 1 more while CPUs are being asked */
static u64 late_asked;				/* when the CPUs were asked, ns */
static u64 late_answered;			/* ... and all of them have answered */

static void late_put_missing(void)
{
	u64 asked = READ_ONCE(late_asked);	/* before the CPUs can be asked again */

	if (atomic_dec_and_test(&late_missing))
		WRITE_ONCE(late_answered, asked);
}

static void late_answer(struct tasklet_struct *tasklet)
{
	struct late_ask *ask = container_of(tasklet, struct late_ask, tasklet);

	WRITE_ONCE(ask->waits, false);
	late_put_missing();
}

/* In the interrupt of the CPU that is asked. */
static void late_asked_here(void *info)
{
	struct late_ask *ask = info;

	tasklet_schedule(&ask->tasklet);
}

static void late_ask_cpu(unsigned int cpu)
{
	struct late_ask *ask = per_cpu_ptr(&late_ask, cpu);

	lockdep_assert_held(&late_lock);
	if (!cairn_exec_ran_lately(cpu))
		return;
	WRITE_ONCE(ask->waits, true);
	atomic_inc(&late_missing);
	if (smp_call_function_single_async(cpu, &ask->csd)) {
		/* it went offline, and has nothing to do */
		WRITE_ONCE(ask->waits, false);
		late_put_missing();
	}
}

/* Await the end of the round that each lane is in, or that its thread waits for. */
static void late_ask_lanes(void)
{
	unsigned int i;

	lockdep_assert_held(&late_lock);
	for (i = 0; i < cairn_lanes(); i++) {
		struct cairn_lane *lane = cairn_lane(i);
		u32 rounds = READ_ONCE(lane->rounds);

		if (rounds % 2)
			rounds++;
		else if (READ_ONCE(lane->waits))
			rounds += 2;
		WRITE_ONCE(lane->awaited, rounds);
	}
}

static void late_ask_all(u64 now)
{
	unsigned long flags;
	unsigned int cpu;

	if (now < READ_ONCE(late_asked) + LATE_PAUSE ||
	    atomic_read(&late_missing) ||
	    !raw_spin_trylock_irqsave(&late_lock, flags))
		return;
	if (!atomic_read(&late_missing)) {
		WRITE_ONCE(late_asked, now);
		atomic_set(&late_missing, 1);
		late_ask_lanes();
		for_each_online_cpu(cpu)
			late_ask_cpu(cpu);
		late_put_missing();
	}
	raw_spin_unlock_irqrestore(&late_lock, flags);
}

static bool late_lanes(void)
{
	unsigned int i;

	for (i = 0; i < cairn_lanes(); i++) {
		const struct cairn_lane *lane = cairn_lane(i);

		if ((s32)(READ_ONCE(lane->rounds) - READ_ONCE(lane->awaited)) < 0)
			return true;
	}
	return false;
}

bool cairn_late(u64 since, u64 now)
{
	if (READ_ONCE(late_answered) >= since)
		return late_lanes();
	late_ask_all(now);
	return true;
}

void cairn_late_start(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct late_ask *ask = per_cpu_ptr(&late_ask, cpu);

		INIT_CSD(&ask->csd, late_asked_here, ask);
		tasklet_setup(&ask->tasklet, late_answer);
	}
}

void cairn_late_stop(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct late_ask *ask = per_cpu_ptr(&late_ask, cpu);

		while (READ_ONCE(ask->waits))
			usleep_range(50, 100);
		tasklet_kill(&ask->tasklet);
	}
}
