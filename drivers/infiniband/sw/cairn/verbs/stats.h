/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_VERBS_STATS_H
#define CAIRN_VERBS_STATS_H

#include "device/nic.h"

struct cairn_dev;

/* Sum of a counter over all CPUs. Any context. */
u64 cairn_stats_sum(const struct cairn_stats __percpu *stats,
		    enum cairn_counter counter);
u64 cairn_stats_nic_sum(const struct cairn_nic *nic, enum cairn_counter counter);

/* ib_device_ops.alloc_hw_port_stats: all counters of the device. */
struct rdma_hw_stats *cairn_stats_alloc_port(struct ib_device *ibdev,
					     u32 port_num);

/* The same, with the values of QP counters added (verbs/qp_counter.c). Process context. */
u64 cairn_stats_dev_sum(struct cairn_dev *dev, enum cairn_counter counter);

/* Convert to and from an entry of cairn_dev.counters. Per-CPU memory may be another
 * address space for the compiler, so the cast goes through a number.
 */
static inline void *cairn_stats_entry(struct cairn_stats __percpu *stats)
{
	return (void *)(__force unsigned long)stats;
}

static inline struct cairn_stats __percpu *cairn_stats_of_entry(void *entry)
{
	return (struct cairn_stats __percpu *)(__force unsigned long)entry;
}

#endif
