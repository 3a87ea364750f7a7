// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/wait_bit.h>
#include "lane/drain.h"
#include "lane/lane.h"

/* Reception may end early with packets left, to come again at once: then wait
 * for it, but not for ever when others keep it busy.
 */
#define CAIRN_DRAIN_PASSES	4

/* Of one CPU; used with BH off on that CPU only, so it needs no lock. */
struct drain {
	struct list_head sides;
	struct tasklet_struct tasklet;
	unsigned int passes;
};

static DEFINE_PER_CPU(struct drain, drains);

void cairn_drain_begin(struct cairn_exec *x, enum cairn_side_id side)
{
	struct cairn_exec_side *s = &x->side[side];
	struct drain *d = this_cpu_ptr(&drains);

	if (cairn_draining(s))
		return;
	atomic_inc(&x->draining);
	WRITE_ONCE(s->drain_cpu, smp_processor_id());
	if (list_empty(&d->sides)) {
		d->passes = 0;
		tasklet_schedule(&d->tasklet);
	}
	list_add_tail(&s->drain, &d->sides);
}

static void finish(struct cairn_exec_side *s)
{
	struct cairn_exec *x = s->exec;
	enum cairn_side_id side = s - x->side;
	bool to_lane = s->to_lane;

	s->to_lane = false;
	list_del_init(&s->drain);
	/* Release: the list entry is free. Pairs with the lock of who binds. */
	smp_store_release(&s->drain_cpu, CAIRN_NOT_DRAINING);
	smp_mb();	/* before events; with the one in serve() */
	if (to_lane)
		cairn_lane_ready(x, side);
	else
		cairn_exec_resume(x, side);
	/* The QP may be freed now; the waker needs but the address. */
	if (atomic_dec_and_test(&x->draining))
		wake_up_var(&x->draining);
}

static void drained(struct tasklet_struct *t)
{
	struct drain *d = container_of(t, struct drain, tasklet);
	struct cairn_exec_side *s, *next;
	LIST_HEAD(sides);

	if (local_softirq_pending() & BIT(NET_RX_SOFTIRQ) &&
	    ++d->passes < CAIRN_DRAIN_PASSES) {
		tasklet_schedule(t);
		return;
	}
	/* Sides that send again from here on wait for the next time. */
	list_splice_init(&d->sides, &sides);
	list_for_each_entry_safe(s, next, &sides, drain)
		finish(s);
}

void cairn_drain_start(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct drain *d = per_cpu_ptr(&drains, cpu);

		INIT_LIST_HEAD(&d->sides);
		tasklet_setup(&d->tasklet, drained);
	}
}

void cairn_drain_stop(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&drains, cpu)->tasklet);
}
