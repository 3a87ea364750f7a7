// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters of single QPs (`rdma statistic qp`). Events of a QP that is bound to a
 * counter are counted there and not in the device's counters; ib_core adds both when it
 * shows the device. net/ always counts for the device, because a train may have packets
 * of several QPs.
 */
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include "compat/ops.h"
#include "verbs/ops.h"
#include "verbs/stats.h"
#include "verbs/verbs.h"

/* The values of @counter; NULL before the first QP is bound. */
static struct cairn_stats __percpu *
qp_counter_stats(const struct rdma_counter *counter)
{
	struct cairn_dev *dev = to_cairn_dev(counter->device);

	return cairn_stats_of_entry(counter->id ?
				    xa_load(&dev->counters, counter->id) : NULL);
}

/* ib_device_ops.counter_alloc_stats: the same list as that of the device, as ib_core adds
 * both.
 */
static struct rdma_hw_stats *counter_alloc_stats(struct rdma_counter *counter)
{
	return cairn_stats_alloc_port(counter->device, counter->port);
}

/* Allocate a number and values for @counter. */
static int qp_counter_open(struct rdma_counter *counter)
{
	struct cairn_dev *dev = to_cairn_dev(counter->device);
	struct cairn_stats __percpu *stats;
	u32 id;
	int err;

	lockdep_assert_held(&counter->lock);
	stats = alloc_percpu_gfp(struct cairn_stats, GFP_KERNEL_ACCOUNT);
	if (!stats)
		return -ENOMEM;
	err = xa_alloc(&dev->counters, &id, cairn_stats_entry(stats),
		       xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (err)
		free_percpu(stats);
	else
		counter->id = id;
	return err;
}

static void qp_counter_set(struct ib_qp *ibqp, struct rdma_counter *counter,
			   struct cairn_stats __percpu *stats)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);

	cairn_exec_lock(&qp->exec);
	qp->stats = stats;
	cairn_exec_unlock(&qp->exec);
	ibqp->counter = counter;
}

/**
 * cairn_counter_bind_qp() - ib_device_ops.counter_bind_qp
 * @counter: gets a number if it has none; the caller holds its lock
 * @ibqp: not bound to a counter
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int cairn_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	int err = counter->id ? 0 : qp_counter_open(counter);

	if (!err)
		qp_counter_set(ibqp, counter, qp_counter_stats(counter));
	return err;
}

/* ib_device_ops.counter_unbind_qp: the counter does not change after it. */
int cairn_counter_unbind_qp(struct ib_qp *ibqp)
{
	qp_counter_set(ibqp, NULL, NULL);
	return 0;
}

/* ib_device_ops.counter_dealloc: no QP is bound to it any more. */
static int counter_dealloc(struct rdma_counter *counter)
{
	struct cairn_dev *dev = to_cairn_dev(counter->device);
	struct cairn_stats __percpu *stats;
	unsigned int i;

	if (!counter->id)
		return 0;
	xa_lock(&dev->counters);
	stats = cairn_stats_of_entry(__xa_erase(&dev->counters, counter->id));
	for (i = 0; i < CAIRN_CTR_COUNT; i++)
		dev->counted[i] += cairn_stats_sum(stats, i);
	/* Netlink may still find the counter, when its number belongs to another one. */
	counter->id = 0;
	xa_unlock(&dev->counters);
	free_percpu(stats);
	return 0;
}

/* ib_device_ops.counter_update_stats */
static int counter_update_stats(struct rdma_counter *counter)
{
	struct cairn_dev *dev = to_cairn_dev(counter->device);
	struct cairn_stats __percpu *stats;
	unsigned int i;

	/* The lock keeps counter_dealloc() from freeing the values. */
	xa_lock(&dev->counters);
	stats = qp_counter_stats(counter);
	for (i = 0; i < CAIRN_CTR_COUNT; i++)
		counter->stats->value[i] = stats ? cairn_stats_sum(stats, i) : 0;
	xa_unlock(&dev->counters);
	return 0;
}

const struct ib_device_ops cairn_qp_counter_ops = {
	.counter_alloc_stats = counter_alloc_stats,
	.counter_bind_qp = compat_counter_bind_qp,
	.counter_unbind_qp = compat_counter_unbind_qp,
	.counter_dealloc = counter_dealloc,
	.counter_update_stats = counter_update_stats,
};
