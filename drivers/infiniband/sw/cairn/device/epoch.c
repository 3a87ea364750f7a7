// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Advances of the epoch.
 *
 * The caller that begins an advance holds the mutex until the old epoch has drained.
 * So there is one advance at a time, and two sets of counters are enough. A caller that
 * waited for the mutex often finds that the advance it needs is complete (origins.rst,
 * E5).
 *
 * A run does not wake the caller when it ends, because that would cost each run a
 * barrier and a shared cache line. The caller polls instead: first in a short loop,
 * as a run takes microseconds, then with sleeps that grow with the time spent. So an
 * advance takes at most twice as long as its runs.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "device/epoch.h"
#include "device/nic.h"

#define CAIRN_EPOCH_SPIN	(20 * NSEC_PER_USEC)
#define CAIRN_EPOCH_MAX_SLEEP	(10 * USEC_PER_MSEC)
/* Notes that are called in one piece, with interrupts off. */
#define CAIRN_EPOCH_NOTES	64
/* An advance that takes longer is reported, once. */
#define CAIRN_EPOCH_STUCK	NSEC_PER_SEC

static struct workqueue_struct *epoch_wq;

static u32 epoch_inflight(struct cairn_epoch *epoch, u32 number)
{
	return cairn_epoch_inflight(epoch->cpu, epoch->cpus, number);
}

u32 cairn_epoch_busy(struct cairn_epoch *epoch)
{
	return epoch_inflight(epoch, 0) + epoch_inflight(epoch, 1);
}

bool cairn_epoch_alone(struct cairn_epoch *epoch)
{
	return cairn_epoch_busy(epoch) == 1;
}

/* Report the runs that keep epoch @number from draining, by CPU and QP. */
static void epoch_report(struct cairn_epoch *epoch, u32 number)
{
	struct net_device *ndev = epoch->nic->ndev;
	u32 k, i = number & 1;

	cairn_nic_count(epoch->nic, CAIRN_CTR_EPOCH_STUCK, 1);
	netdev_warn(ndev, "cairn: memory stays pinned: epoch %u is not over after a second\n",
		    number);
	for (k = 0; k < epoch->cpus; k++) {
		const struct cairn_epoch_cpu *counts = epoch->cpu[k];

		if (READ_ONCE(counts->in[i]) != READ_ONCE(counts->out[i]))
			netdev_warn(ndev, "cairn: a run of QP %u holds it\n",
				    READ_ONCE(counts->qpn));
	}
}

/* The state of a caller that waits for an epoch to drain. */
struct epoch_waiter {
	struct cairn_epoch *of;
	u32 number;		/* epoch that has to drain */
	u64 start;		/* when the wait began, ns; 0: it has not */
};

/* With one CPU no run can end while this task spins. */
static bool epoch_may_spin(u64 spent)
{
	return num_online_cpus() > 1 && !need_resched() &&
	       spent <= CAIRN_EPOCH_SPIN;
}

/* Give the runs of @number time to end. */
static void epoch_pause(void *arg, u32 number)
{
	struct epoch_waiter *waiter = arg;
	u64 now = ktime_get_ns(), spent;
	u32 us;

	if (!waiter->start || waiter->number != number) {
		waiter->start = now;
		waiter->number = number;
		WRITE_ONCE(waiter->of->stuck, false);
	}
	spent = now - waiter->start;
	if (epoch_may_spin(spent)) {
		cpu_relax();
		return;
	}
	if (spent > CAIRN_EPOCH_STUCK && !waiter->of->stuck) {
		WRITE_ONCE(waiter->of->stuck, true);
		epoch_report(waiter->of, number);
	}
	us = clamp_t(u64, spent / NSEC_PER_USEC, 10, CAIRN_EPOCH_MAX_SLEEP);
	usleep_range(us / 2, us);
}

/* Complete advances up to @ticket. */
static void epoch_advance(struct cairn_epoch *epoch, u32 ticket)
{
	struct epoch_waiter waiter = { .of = epoch };
	const struct cairn_epoch_view view = {
		.advances = &epoch->advances,
		.drained = &epoch->drained,
		.cpu = epoch->cpu,
		.cpus = epoch->cpus,
		.pause = epoch_pause,
		.arg = &waiter,
	};
	u32 made;

	mutex_lock(&epoch->advancing);
	made = cairn_epoch_pass(&view, ticket);
	WRITE_ONCE(epoch->stuck, false);
	if (made)
		cairn_nic_count(epoch->nic, CAIRN_CTR_EPOCH_ADVANCES, made);
	else
		cairn_nic_count(epoch->nic, CAIRN_CTR_EPOCH_SHARED, 1);
	mutex_unlock(&epoch->advancing);
}

void cairn_epoch_wait(struct cairn_epoch *epoch)
{
	epoch_advance(epoch, cairn_epoch_ticket(&epoch->advances));
}

void cairn_epoch_notify(struct cairn_epoch *epoch,
			struct cairn_epoch_note *note)
{
	unsigned long flags;

	spin_lock_irqsave(&epoch->lock, flags);
	/* Under the lock, so that the list is in the order of tickets. */
	note->ticket = cairn_epoch_ticket(&epoch->advances);
	list_move_tail(&note->node, &epoch->notes);
	spin_unlock_irqrestore(&epoch->lock, flags);
	queue_work(epoch_wq, &epoch->work);
}

void cairn_epoch_cancel(struct cairn_epoch *epoch,
			struct cairn_epoch_note *note)
{
	unsigned long flags;

	spin_lock_irqsave(&epoch->lock, flags);
	list_del_init(&note->node);
	spin_unlock_irqrestore(&epoch->lock, flags);
}

/* Call the first notes, as far as their advances are complete. Return: false when none
 * is left; true: @ticket is that of the next one.
 */
static bool epoch_tell(struct cairn_epoch *epoch, u32 *ticket)
{
	struct cairn_epoch_note *note;
	u32 told = 0;

	spin_lock_irq(&epoch->lock);
	while ((note = list_first_entry_or_null(&epoch->notes,
						struct cairn_epoch_note,
						node))) {
		*ticket = note->ticket;
		if (!cairn_epoch_passed(&epoch->drained, *ticket) ||
		    told++ == CAIRN_EPOCH_NOTES)
			break;
		list_del_init(&note->node);
		note->func(note);
	}
	spin_unlock_irq(&epoch->lock);
	return note;
}

static void epoch_work(struct work_struct *work)
{
	struct cairn_epoch *epoch =
		container_of(work, struct cairn_epoch, work);
	u32 ticket;

	while (epoch_tell(epoch, &ticket)) {
		if (!cairn_epoch_passed(&epoch->drained, ticket))
			epoch_advance(epoch, ticket);
		cond_resched();
	}
}

int cairn_epoch_init(struct cairn_epoch *epoch, struct cairn_nic *nic)
{
	int cpu;

	epoch->cpu =
		kcalloc(num_possible_cpus(), sizeof(*epoch->cpu), GFP_KERNEL);
	if (!epoch->cpu)
		return -ENOMEM;
	epoch->pcpu = alloc_percpu_gfp(struct cairn_epoch_cpu,
				       GFP_KERNEL | __GFP_ZERO);
	if (!epoch->pcpu) {
		kfree(epoch->cpu);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu)
		epoch->cpu[epoch->cpus++] = per_cpu_ptr(epoch->pcpu, cpu);
	epoch->nic = nic;
	mutex_init(&epoch->advancing);
	spin_lock_init(&epoch->lock);
	INIT_LIST_HEAD(&epoch->notes);
	INIT_WORK(&epoch->work, epoch_work);
	return 0;
}

void cairn_epoch_exit(struct cairn_epoch *epoch)
{
	if (!epoch->pcpu)
		return;
	flush_work(&epoch->work);
	cairn_epoch_wait(epoch);
	mutex_destroy(&epoch->advancing);
	free_percpu(epoch->pcpu);
	kfree(epoch->cpu);
}

/* WQ_MEM_RECLAIM: memory reclaim may wait for a storage driver's LOCAL_INV. */
int cairn_epochs_start(void)
{
	epoch_wq = alloc_workqueue("cairn_epoch", WQ_UNBOUND | WQ_MEM_RECLAIM |
				   WQ_HIGHPRI, 0);
	return epoch_wq ? 0 : -ENOMEM;
}

void cairn_epochs_stop(void)
{
	destroy_workqueue(epoch_wq);
}
