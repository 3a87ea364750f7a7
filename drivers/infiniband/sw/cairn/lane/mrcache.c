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
static u32 mrcache_sets(void)
{
	u32 lines = min(READ_ONCE(mr_cache), MAX_LINES);

	return lines ? roundup_pow_of_two(DIV_ROUND_UP(lines,
						       CAIRN_MRCACHE_WAYS)) : 0;
}

static int mrcache_node(const struct cairn_mrcaches *caches, unsigned int i)
{
	return i < caches->lanes ? NUMA_NO_NODE :
				   cpu_to_node(i - caches->lanes);
}

static int mrcache_alloc_sets(struct cairn_mrcaches *caches, u32 n)
{
	unsigned int i;

	caches->released = kvcalloc(n, sizeof(*caches->released), GFP_KERNEL);
	if (!caches->released)
		return -ENOMEM;
	for (i = 0; i < caches->count; i++) {
		struct cairn_mrcache *cache = &caches->cache[i];

		if (i >= caches->lanes && !cpu_possible(i - caches->lanes))
			continue;
		cache->set = kvzalloc_node(n * sizeof(*cache->set), GFP_KERNEL,
					   mrcache_node(caches, i));
		if (!cache->set)
			return -ENOMEM;
		cache->released = caches->released;
		cache->mask = caches->mask;
	}
	return 0;
}

struct cairn_mrcaches *cairn_mrcaches_create(struct cairn_nic *nic,
					     const struct xarray *table)
{
	unsigned int count = cairn_lanes() + nr_cpu_ids;
	struct cairn_mrcaches *caches;
	u32 n = mrcache_sets();

	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) &&
		     sizeof(struct cairn_mrcache_set) != 64);
	if (!n)
		return NULL;
	caches = kvzalloc(struct_size(caches, cache, count), GFP_KERNEL);
	if (!caches)
		return ERR_PTR(-ENOMEM);
	caches->nic = nic;
	caches->table = table;
	spin_lock_init(&caches->lock);
	caches->mask = n - 1;
	caches->lanes = cairn_lanes();
	caches->count = count;
	if (mrcache_alloc_sets(caches, n)) {
		cairn_mrcaches_destroy(caches);
		return ERR_PTR(-ENOMEM);
	}
	return caches;
}

void cairn_mrcaches_destroy(struct cairn_mrcaches *caches)
{
	unsigned int i;

	if (!caches)
		return;
	for (i = 0; i < caches->count; i++)
		kvfree(caches->cache[i].set);
	kvfree(caches->released);
	kvfree(caches);
}

static void *mrcache_ask(struct cairn_mrcaches *caches,
			 struct cairn_mrcache *cache, u32 index, bool ahead)
{
	enum cairn_mrcache_asked asked = cairn_mrcache_ask(cache, index, ahead);
	void *mr;

	if (asked == CAIRN_MRCACHE_NO_LINE && ahead)
		return NULL;
	mr = xa_load((struct xarray *)caches->table, index);
	if (asked != CAIRN_MRCACHE_NO_LINE)
		cairn_mrcache_fill(cache, index, mr);
	if (asked == CAIRN_MRCACHE_EVICTED)
		cairn_nic_count(caches->nic, CAIRN_CTR_MR_CACHE_EVICTS, 1);
	return mr;
}

void *cairn_mrcaches_miss(struct cairn_mrcaches *caches,
			  struct cairn_mrcache *cache, u32 index)
{
	cairn_nic_count(caches->nic, CAIRN_CTR_MR_CACHE_MISSES, 1);
	return mrcache_ask(caches, cache, index, false);
}

/* The region may be gone before it is looked up: its address is fetched from,
 * not followed.
 */
void cairn_mrcaches_ahead(struct cairn_mrcaches *caches, u32 key)
{
	struct cairn_mrcache *cache = cairn_mrcaches_own(caches);
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;
	void *mr;

	if (cairn_mrcache_has(cache, index))
		return;
	mr = mrcache_ask(caches, cache, index, true);
	if (mr)
		prefetch(mr);
}

void cairn_mrcaches_release(struct cairn_mrcaches *caches, u32 index)
{
	spin_lock_bh(&caches->lock);
	cairn_mrcache_release(caches->released, caches->mask, index);
	spin_unlock_bh(&caches->lock);
}
