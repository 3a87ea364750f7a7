// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/wait_bit.h>
#include "compat/after_rx.h"
#include "device/cpu.h"
#include "lane/drain.h"
#include "lane/lane.h"

/* The network stack may stop receiving with packets left, and continue soon. The call
 * after reception then waits, but only this many times, because other traffic may
 * never let the queue become empty.
 */
#define CAIRN_DRAIN_PASSES	4
/* Bindings that one call ends; each side may run (cairn_exec_resume()). */
#define CAIRN_DRAIN_SIDES	64

/* The sides that are bound to a CPU. Used below the CPU's cairn_cpu_lock(), so it needs
 * no lock of its own. When the CPU goes offline, the call is made on another CPU, which
 * is then the only user.
 */
struct drain_queue {
	struct list_head sides;
	struct cairn_after_rx after_rx;
	unsigned int passes;		/* calls that found packets left */
	bool ending;			/* a call ends bindings now */
};

static DEFINE_PER_CPU(struct drain_queue, drain_queues);
static int drain_cpu_state;		/* CPU hotplug state */

void cairn_drain_begin(struct cairn_exec *exec, enum cairn_side_id side)
{
	struct cairn_exec_side *state = &exec->side[side];
	struct drain_queue *drain = this_cpu_ptr(&drain_queues);

	lockdep_assert_held(&exec->side[side].lock);
	cairn_cpu_assert_locked();
	if (!cairn_draining(state)) {
		atomic_inc(&exec->draining);
		WRITE_ONCE(state->drain_cpu, smp_processor_id());
	} else if (drain->ending) {
		/* The run of another side has run it: it leaves the list of the call. */
		list_del(&state->drain);
	} else {
		return;
	}
	if (list_empty(&drain->sides)) {
		drain->passes = 0;
		cairn_after_rx_schedule(&drain->after_rx);
	}
	list_add_tail(&state->drain, &drain->sides);
}

static void drain_finish(struct cairn_exec_side *state)
{
	struct cairn_exec *exec = state->exec;
	enum cairn_side_id side = state - exec->side;
	bool to_lane = state->to_lane;

	/* The run of another side may have run this one, and put its fence off. From here on
	 * another CPU may answer.
	 */
	cairn_env_settle();
	state->to_lane = false;
	list_del_init(&state->drain);
	/* Release, after the list entry was removed. Pairs with the read of drain_cpu
	 * in cairn_drain_begin(), which adds the entry again.
	 */
	smp_store_release(&state->drain_cpu, CAIRN_NOT_DRAINING);
	smp_mb();	/* before events are read; pairs with B in lane/exec.c */
	if (to_lane)
		cairn_lane_ready(exec, side);
	else
		cairn_exec_resume(exec, side);
	/* A full barrier; pairs with cairn_exec_stop(). The QP may be freed after this.
	 * wake_up_var() uses the address only.
	 */
	if (atomic_dec_return(&exec->draining) == CAIRN_DRAIN_AWAITED)
		wake_up_var(&exec->draining);
}

/* Move the first sides of @drain to @sides. Another call handles the rest, after other
 * soft interrupts.
 */
static void drain_take(struct drain_queue *drain, struct list_head *sides)
{
	u32 left = CAIRN_DRAIN_SIDES;
	struct list_head *last;

	list_for_each(last, &drain->sides)
		if (!--left)
			break;
	if (left || list_is_last(last, &drain->sides)) {
		list_splice_init(&drain->sides, sides);
		return;
	}
	list_cut_position(sides, &drain->sides, last);
	cairn_after_rx_schedule(&drain->after_rx);
}

static void drain_run(struct drain_queue *drain)
{
	struct cairn_exec_side *state;
	LIST_HEAD(sides);

	if (cairn_after_rx_pending() && ++drain->passes < CAIRN_DRAIN_PASSES) {
		cairn_after_rx_again(&drain->after_rx);
		return;
	}
	/* Sides that send again from here on are bound until the next call. */
	drain_take(drain, &sides);
	cairn_env_plug();
	drain->ending = true;
	while ((state = list_first_entry_or_null(&sides, struct cairn_exec_side,
						 drain)))
		drain_finish(state);
	drain->ending = false;
	cairn_env_unplug();
}

static void drain_after_rx(struct tasklet_struct *tasklet)
{
	cairn_cpu_enter();
	drain_run(container_of(tasklet, struct drain_queue, after_rx.tasklet));
	cairn_cpu_leave();
}

/* @cpu comes online. The call for sides that were bound to it may still be pending on
 * another CPU.
 */
static int drain_cpu_prepare(unsigned int cpu)
{
	struct drain_queue *drain = per_cpu_ptr(&drain_queues, cpu);

	while (!list_empty_careful(&drain->sides))
		usleep_range(50, 100);
	cairn_after_rx_stop(&drain->after_rx);
	return 0;
}

int cairn_drain_start(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct drain_queue *drain = per_cpu_ptr(&drain_queues, cpu);

		INIT_LIST_HEAD(&drain->sides);
		cairn_after_rx_init(&drain->after_rx, drain_after_rx);
	}
	drain_cpu_state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
						    "rdma/cairn:prepare",
						    drain_cpu_prepare, NULL);
	return min(drain_cpu_state, 0);
}

void cairn_drain_stop(void)
{
	int cpu;

	cpuhp_remove_state_nocalls(drain_cpu_state);
	for_each_possible_cpu(cpu)
		cairn_after_rx_stop(&per_cpu_ptr(&drain_queues, cpu)->after_rx);
}
