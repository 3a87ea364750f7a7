// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The counters of engine/counters.h as `rdma statistic` shows them. */
#include <linux/percpu.h>
#include "compat/stat_desc.h"
#include "verbs/ops.h"
#include "verbs/stats.h"
#include "verbs/verbs.h"

static const struct rdma_stat_desc stats_descs[] = {
#define X(id, counter, doc) { .name = #counter },
	CAIRN_COUNTERS(X)
#undef X
};

struct rdma_hw_stats *cairn_stats_alloc_port(struct ib_device *ibdev,
					     u32 port_num)
{
	return compat_alloc_hw_stats(stats_descs, ARRAY_SIZE(stats_descs));
}

u64 cairn_stats_sum(const struct cairn_stats __percpu *stats,
		    enum cairn_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->value[counter]);
	return sum;
}

u64 cairn_stats_nic_sum(const struct cairn_nic *nic, enum cairn_counter counter)
{
	return cairn_stats_sum(nic->stats, counter);
}

u64 cairn_stats_dev_sum(struct cairn_dev *dev, enum cairn_counter counter)
{
	unsigned long id;
	void *entry;
	u64 sum;

	xa_lock(&dev->counters);
	sum = cairn_stats_nic_sum(&dev->nic, counter) + dev->counted[counter];
	xa_for_each(&dev->counters, id, entry)
		sum += cairn_stats_sum(cairn_stats_of_entry(entry), counter);
	xa_unlock(&dev->counters);
	return sum;
}

/* ib_device_ops.get_hw_stats: fills in all counters, whatever @index is. */
static int stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port_num, int index)
{
	const struct cairn_nic *nic = &to_cairn_dev(ibdev)->nic;
	int counter;

	if (!port_num)
		return -EINVAL;
	for (counter = 0; counter < CAIRN_CTR_COUNT; counter++)
		stats->value[counter] = cairn_stats_nic_sum(nic, counter);
	return CAIRN_CTR_COUNT;
}

const struct ib_device_ops cairn_stats_ops = {
	.alloc_hw_port_stats = cairn_stats_alloc_port,
	.get_hw_stats = stats_get,
};
