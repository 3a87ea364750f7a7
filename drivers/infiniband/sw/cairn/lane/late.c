// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include "compat/after_rx.h"
#include "device/cpu.h"
#include "lane/exec.h"
#include "lane/lane.h"
#include "lane/late.h"

/* The least time between questions, ns: each interrupts all CPUs that run queue pairs. */
#define LATE_PAUSE	500000U
/* A question that has no answer after this time is asked again, ns. */
#define LATE_GIVE_UP	64000000U
/* How often a CPU may receive what is left before it answers. */
#define LATE_PASSES	4

/* The question to one CPU. */
struct late_ask {
	call_single_data_t csd;
	struct cairn_after_rx after_rx;
	struct work_struct work;	/* PREEMPT_RT */
	u32 passes;
	bool waits;			/* for the answer */
};

static DEFINE_PER_CPU(struct late_ask, late_ask);
static atomic_t late_missing;	/* answers of CPUs; 1 more while they are being asked */
static u64 late_asked;		/* when they were asked, ns */
static u64 late_answered;	/* ... and all of them have answered */
static u64 late_ended;		/* ... and the lanes, too */

static void late_put_missing(void)
{
	u64 asked = READ_ONCE(late_asked);	/* before the CPUs can be asked again */

	if (!atomic_dec_and_test(&late_missing))
		return;
	/* pairs with cairn_late() */
	smp_store_release(&late_answered, asked);
}

static void late_answer(struct late_ask *ask)
{
	WRITE_ONCE(ask->waits, false);
	late_put_missing();
}

/* Behind the soft interrupt that receives. It stops early when it has received much. */
static void late_received(struct tasklet_struct *tasklet)
{
	struct late_ask *ask = container_of(tasklet, struct late_ask,
					    after_rx.tasklet);

	if (cairn_after_rx_pending() && ++ask->passes < LATE_PASSES)
		cairn_after_rx_again(&ask->after_rx);
	else
		late_answer(ask);
}

/* In the interrupt of the CPU that is asked. */
static void late_asked_here(void *info)
{
	struct late_ask *ask = info;

	ask->passes = 0;
	cairn_after_rx_schedule(&ask->after_rx);
}

/* With PREEMPT_RT, where an interrupt must not raise a soft interrupt. */
static void late_work(struct work_struct *work)
{
	/* after a run that has the CPU */
	cairn_cpu_lock();
	late_answer(container_of(work, struct late_ask, work));
	cairn_cpu_unlock();
}

static void late_ask_cpu(unsigned int cpu)
{
	struct late_ask *ask = per_cpu_ptr(&late_ask, cpu);

	if (!cairn_exec_ran_lately(cpu))
		return;
	WRITE_ONCE(ask->waits, true);
	atomic_inc(&late_missing);
	if (CAIRN_CPU_PREEMPTED)
		queue_work_on(cpu, system_highpri_wq, &ask->work);
	else if (smp_call_function_single_async(cpu, &ask->csd))
		late_answer(ask);	/* it went offline, and has nothing to do */
}

/* Await the end of the round that each lane is in, or that its thread waits for. */
static void late_ask_lanes(void)
{
	unsigned int i;

	for (i = 0; i < cairn_lanes(); i++) {
		struct cairn_lane *lane = cairn_lane(i);
		bool busy = cairn_lane_busy(lane);
		/* the rounds last: one that is over by now may have left work */
		u32 rounds = READ_ONCE(lane->rounds);

		if (rounds % 2)
			rounds++;
		else if (busy)
			rounds += 2;
		WRITE_ONCE(lane->awaited, rounds);
	}
}

static bool late_lanes(void)
{
	unsigned int i;

	for (i = 0; i < cairn_lanes(); i++) {
		const struct cairn_lane *lane = cairn_lane(i);

		/* Its work may have gone without a round. Pairs with lane_count_round(). */
		if ((s32)(smp_load_acquire(&lane->rounds) -
			  READ_ONCE(lane->awaited)) < 0 &&
		    cairn_lane_busy(lane))
			return true;
	}
	return false;
}

/* One question at a time: a new one would move what its lanes have to do. */
static void late_ask_all(u64 now)
{
	u64 asked = READ_ONCE(late_asked);
	unsigned int cpu;

	if (now < asked + LATE_PAUSE ||
	    (READ_ONCE(late_ended) != asked && now < asked + LATE_GIVE_UP) ||
	    atomic_cmpxchg(&late_missing, 0, 1))
		return;
	WRITE_ONCE(late_asked, now);
	late_ask_lanes();
	for_each_online_cpu(cpu)
		late_ask_cpu(cpu);
	late_put_missing();
}

bool cairn_late(u64 since, u64 now)
{
	/* pairs with late_put_missing() */
	u64 answered = smp_load_acquire(&late_answered);

	if (answered != READ_ONCE(late_ended) && !late_lanes())
		WRITE_ONCE(late_ended, answered);
	/* Deadlines that are due together share a question. */
	if (READ_ONCE(late_ended) + LATE_PAUSE > since)
		return false;
	late_ask_all(now);
	return true;
}

void cairn_late_start(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct late_ask *ask = per_cpu_ptr(&late_ask, cpu);

		INIT_CSD(&ask->csd, late_asked_here, ask);
		INIT_WORK(&ask->work, late_work);
		cairn_after_rx_init(&ask->after_rx, late_received);
	}
}

void cairn_late_stop(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct late_ask *ask = per_cpu_ptr(&late_ask, cpu);

		while (READ_ONCE(ask->waits))
			usleep_range(50, 100);
		cancel_work_sync(&ask->work);
		cairn_after_rx_stop(&ask->after_rx);
	}
}
