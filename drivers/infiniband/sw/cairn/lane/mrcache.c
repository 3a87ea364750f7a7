// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "lane/lane.h"
#include "lane/mrcache.h"

#define MAX_LINES	65536u

static unsigned int mr_cache;
module_param(mr_cache, uint, 0644);
MODULE_PARM_DESC(mr_cache, "memory regions that each lane and each CPU caches, of devices created from then on, 0..65536; 0: every look-up asks the table (default)");

DEFINE_PER_CPU(unsigned int, cairn_lane_here);

/* Sets of a cache; 0: off. */
static u32 sets(void)
{
	u32 lines = min(READ_ONCE(mr_cache), MAX_LINES);

	return lines ? roundup_pow_of_two(DIV_ROUND_UP(lines,
						       CAIRN_MRCACHE_WAYS)) : 0;
}

static int node_of(const struct cairn_mrcaches *m, unsigned int i)
{
	return i < m->lanes ? NUMA_NO_NODE : cpu_to_node(i - m->lanes);
}

static int alloc_sets(struct cairn_mrcaches *m, u32 n)
{
	unsigned int i;

	m->released = kvcalloc(n, sizeof(*m->released), GFP_KERNEL);
	if (!m->released)
		return -ENOMEM;
	for (i = 0; i < m->count; i++) {
		struct cairn_mrcache *c = &m->cache[i];

		if (i >= m->lanes && !cpu_possible(i - m->lanes))
			continue;
		c->set = kvzalloc_node(n * sizeof(*c->set), GFP_KERNEL,
				       node_of(m, i));
		if (!c->set)
			return -ENOMEM;
		c->released = m->released;
		c->mask = m->mask;
	}
	return 0;
}

struct cairn_mrcaches *cairn_mrcaches_create(struct cairn_nic *nic,
					     const struct xarray *table)
{
	unsigned int count = cairn_lanes() + nr_cpu_ids;
	struct cairn_mrcaches *m;
	u32 n = sets();

	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) &&
		     sizeof(struct cairn_mrcache_set) != 64);
	if (!n)
		return NULL;
	m = kvzalloc(struct_size(m, cache, count), GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->nic = nic;
	m->table = table;
	spin_lock_init(&m->lock);
	m->mask = n - 1;
	m->lanes = cairn_lanes();
	m->count = count;
	if (alloc_sets(m, n)) {
		cairn_mrcaches_destroy(m);
		return ERR_PTR(-ENOMEM);
	}
	return m;
}

void cairn_mrcaches_destroy(struct cairn_mrcaches *m)
{
	unsigned int i;

	if (!m)
		return;
	for (i = 0; i < m->count; i++)
		kvfree(m->cache[i].set);
	kvfree(m->released);
	kvfree(m);
}

static void *ask(struct cairn_mrcaches *m, struct cairn_mrcache *c, u32 index,
		 bool ahead)
{
	enum cairn_mrcache_asked asked = cairn_mrcache_ask(c, index, ahead);
	void *mr;

	if (asked == CAIRN_MRCACHE_NO_LINE && ahead)
		return NULL;
	mr = xa_load((struct xarray *)m->table, index);
	if (asked != CAIRN_MRCACHE_NO_LINE)
		cairn_mrcache_fill(c, index, mr);
	if (asked == CAIRN_MRCACHE_EVICTED)
		cairn_nic_count(m->nic, CAIRN_CTR_MR_CACHE_EVICTS, 1);
	return mr;
}

void *cairn_mrcaches_miss(struct cairn_mrcaches *m, struct cairn_mrcache *c,
			  u32 index)
{
	cairn_nic_count(m->nic, CAIRN_CTR_MR_CACHE_MISSES, 1);
	return ask(m, c, index, false);
}

/* The region may be gone before it is looked up: its address is fetched from,
 * not followed.
 */
void cairn_mrcaches_ahead(struct cairn_mrcaches *m, u32 key)
{
	struct cairn_mrcache *c = cairn_mrcaches_own(m);
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;
	void *mr;

	if (cairn_mrcache_has(c, index))
		return;
	mr = ask(m, c, index, true);
	if (mr)
		prefetch(mr);
}

void cairn_mrcaches_release(struct cairn_mrcaches *m, u32 index)
{
	spin_lock_bh(&m->lock);
	cairn_mrcache_release(m->released, m->mask, index);
	spin_unlock_bh(&m->lock);
}
