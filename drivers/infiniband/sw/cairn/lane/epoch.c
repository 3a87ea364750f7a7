// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Turns of the epoch.
 *
 * One turn at a time, under the mutex, and the caller stays until the old epoch
 * has drained: so the two sets of counters are enough, and whoever waited for
 * the mutex meanwhile often finds that the turn he needs is over (E5).
 *
 * Runs do not wake anybody when they end: that would cost each of them a
 * barrier and a shared cache line. The one who turns looks again, first in a
 * short loop (a run is over in microseconds), then with sleeps that grow with
 * the time already spent, so that he is late by that time again at most.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "lane/epoch.h"
#include "nic.h"

#define CAIRN_EPOCH_SPIN	(20 * NSEC_PER_USEC)
#define CAIRN_EPOCH_MAX_SLEEP	(10 * USEC_PER_MSEC)
/* A turn that takes longer is reported, once. */
#define CAIRN_EPOCH_STUCK	NSEC_PER_SEC

/* Longer, and the kernel would complain of a CPU that does nothing else. */
#define CAIRN_TEST_MAX_DELAY	3000u

static struct workqueue_struct *turn_wq;

unsigned int cairn_test_delay_ms;
module_param_named(test_delay_ms, cairn_test_delay_ms, uint, 0600);
MODULE_PARM_DESC(test_delay_ms, "Test: milliseconds (3000 at most) for which one received packet is held in the pipeline; 0 again after that");

void cairn_epoch_delay_now(void)
{
	mdelay(min(xchg(&cairn_test_delay_ms, 0), CAIRN_TEST_MAX_DELAY));
}

static u32 inflight(struct cairn_epoch *e, u32 epoch)
{
	return cairn_epoch_inflight(e->cpu, e->cpus, epoch);
}

u32 cairn_epoch_busy(struct cairn_epoch *e)
{
	return inflight(e, 0) + inflight(e, 1);
}

bool cairn_epoch_alone(struct cairn_epoch *e)
{
	return cairn_epoch_busy(e) == 1;
}

/* What keeps @epoch: the runs, by CPU and QP. Once for a turn. */
static void report(struct cairn_epoch *e, u32 epoch)
{
	struct net_device *ndev = e->nic->ndev;
	u32 k, i = epoch & 1;

	cairn_nic_count(e->nic, CAIRN_CTR_EPOCH_STUCK, 1);
	netdev_warn(ndev, "cairn: memory stays pinned: epoch %u is not over after a second\n",
		    epoch);
	for (k = 0; k < e->cpus; k++) {
		const struct cairn_epoch_cpu *c = e->cpu[k];

		if (READ_ONCE(c->in[i]) != READ_ONCE(c->out[i]))
			netdev_warn(ndev, "cairn: a run of QP %u holds it\n",
				    READ_ONCE(c->who));
	}
}

/* Somebody who turns. */
struct waiter {
	struct cairn_epoch *e;
	u32 epoch;		/* that he waits for */
	u64 start;		/* since when; 0: for none yet */
};

/* On a machine with one CPU nobody else runs while we spin. */
static bool may_spin(u64 spent)
{
	return num_online_cpus() > 1 && !need_resched() &&
	       spent <= CAIRN_EPOCH_SPIN;
}

/* Give the runs of @epoch time to end. */
static void pause(void *arg, u32 epoch)
{
	struct waiter *w = arg;
	u64 now = ktime_get_ns(), spent;
	u32 us;

	if (!w->start || w->epoch != epoch) {
		w->start = now;
		w->epoch = epoch;
		WRITE_ONCE(w->e->stuck, false);
	}
	spent = now - w->start;
	if (may_spin(spent)) {
		cpu_relax();
		return;
	}
	if (spent > CAIRN_EPOCH_STUCK && !w->e->stuck) {
		WRITE_ONCE(w->e->stuck, true);
		report(w->e, epoch);
	}
	us = clamp_t(u64, spent / NSEC_PER_USEC, 10, CAIRN_EPOCH_MAX_SLEEP);
	usleep_range(us / 2, us);
}

/* Complete turns up to @ticket. */
static void pass(struct cairn_epoch *e, u32 ticket)
{
	struct waiter w = { .e = e };
	u32 made;

	mutex_lock(&e->turning);
	made = cairn_epoch_pass(&e->turns, &e->drained, e->cpu, e->cpus, ticket,
				pause, &w);
	WRITE_ONCE(e->stuck, false);
	if (made)
		cairn_nic_count(e->nic, CAIRN_CTR_EPOCH_TURNS, made);
	else
		cairn_nic_count(e->nic, CAIRN_CTR_EPOCH_SHARED, 1);
	mutex_unlock(&e->turning);
}

void cairn_epoch_wait(struct cairn_epoch *e)
{
	pass(e, cairn_epoch_ticket(&e->turns));
}

void cairn_epoch_notify(struct cairn_epoch *e, struct cairn_epoch_note *note)
{
	unsigned long flags;

	spin_lock_irqsave(&e->lock, flags);
	/* Below the lock, so that the list is in the order of tickets. */
	note->ticket = cairn_epoch_ticket(&e->turns);
	list_move_tail(&note->node, &e->notes);
	spin_unlock_irqrestore(&e->lock, flags);
	queue_work(turn_wq, &e->work);
}

void cairn_epoch_cancel(struct cairn_epoch *e, struct cairn_epoch_note *note)
{
	unsigned long flags;

	spin_lock_irqsave(&e->lock, flags);
	list_del_init(&note->node);
	spin_unlock_irqrestore(&e->lock, flags);
}

/* Tell those whose turn is over. Returns false when nobody is left, else the
 * ticket that the first of them waits for.
 */
static bool tell(struct cairn_epoch *e, u32 *ticket)
{
	struct cairn_epoch_note *note;
	bool left;

	spin_lock_irq(&e->lock);
	while ((note = list_first_entry_or_null(&e->notes,
						struct cairn_epoch_note,
						node))) {
		*ticket = note->ticket;
		if (!cairn_epoch_passed(&e->drained, *ticket))
			break;
		list_del_init(&note->node);
		note->func(note);
	}
	left = note;
	spin_unlock_irq(&e->lock);
	return left;
}

static void turn_work(struct work_struct *work)
{
	struct cairn_epoch *e = container_of(work, struct cairn_epoch, work);
	u32 ticket;

	while (tell(e, &ticket))
		pass(e, ticket);
}

int cairn_epoch_init(struct cairn_epoch *e, struct cairn_nic *nic)
{
	int cpu;

	e->cpu = kcalloc(num_possible_cpus(), sizeof(*e->cpu), GFP_KERNEL);
	if (!e->cpu)
		return -ENOMEM;
	e->pcpu = alloc_percpu_gfp(struct cairn_epoch_cpu,
				   GFP_KERNEL | __GFP_ZERO);
	if (!e->pcpu) {
		kfree(e->cpu);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu)
		e->cpu[e->cpus++] = per_cpu_ptr(e->pcpu, cpu);
	e->nic = nic;
	mutex_init(&e->turning);
	spin_lock_init(&e->lock);
	INIT_LIST_HEAD(&e->notes);
	INIT_WORK(&e->work, turn_work);
	return 0;
}

void cairn_epoch_exit(struct cairn_epoch *e)
{
	if (!e->pcpu)
		return;
	flush_work(&e->work);
	cairn_epoch_wait(e);
	mutex_destroy(&e->turning);
	free_percpu(e->pcpu);
	kfree(e->cpu);
}

/* Memory reclaim may wait for a storage driver's LOCAL_INV. */
int cairn_epochs_start(void)
{
	turn_wq = alloc_workqueue("cairn_epoch", WQ_UNBOUND | WQ_MEM_RECLAIM |
				  WQ_HIGHPRI, 0);
	return turn_wq ? 0 : -ENOMEM;
}

void cairn_epochs_stop(void)
{
	destroy_workqueue(turn_wq);
}
