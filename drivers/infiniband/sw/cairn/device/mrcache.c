// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "device/mrcache.h"
#include "lane/lane.h"

DEFINE_PER_CPU(unsigned int, cairn_lane_here);

static int mrcache_node(const struct cairn_mrcaches *caches, unsigned int i)
{
	return i < caches->lanes ? NUMA_NO_NODE :
				   cpu_to_node(i - caches->lanes);
}

static int mrcache_alloc_sets(struct cairn_mrcaches *caches)
{
	const u32 n = CAIRN_MRCACHE_SETS;
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

static void mrcache_free(struct cairn_mrcaches *caches)
{
	unsigned int i;

	for (i = 0; i < caches->count; i++)
		kvfree(caches->cache[i].set);
	kvfree(caches->released);
	kvfree(caches);
}

static struct cairn_mrcaches *mrcache_create(struct cairn_nic *nic,
					     const struct cairn_table *table)
{
	unsigned int count = cairn_lanes() + nr_cpu_ids;
	struct cairn_mrcaches *caches;

	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) &&
		     sizeof(struct cairn_mrcache_set) != 64);
	caches = kvzalloc(struct_size(caches, cache, count), GFP_KERNEL);
	if (!caches)
		return NULL;
	caches->nic = nic;
	caches->table = table;
	spin_lock_init(&caches->lock);
	caches->mask = CAIRN_MRCACHE_SETS - 1;
	caches->lanes = cairn_lanes();
	caches->count = count;
	if (mrcache_alloc_sets(caches)) {
		mrcache_free(caches);
		return NULL;
	}
	return caches;
}

void cairn_mrcaches_start(struct cairn_nic *nic,
			  const struct cairn_table *table)
{
	struct cairn_mrcaches *caches;

	if (atomic_xchg(&nic->mrcaches_begun, 1))
		return;
	caches = mrcache_create(nic, table);
	if (!caches)
		return;
	/* Pairs with the dependent loads of cairn_mrcaches_release(). */
	smp_store_release(&nic->mrcaches_counted, caches);
	/* A release that has not counted removed its region from the table before the
	 * grace period ends. So no cache reads that region from the table.
	 */
	synchronize_rcu();
	/* Pairs with the dependent loads of the look-ups. */
	smp_store_release(&nic->mrcaches, caches);
}

void cairn_mrcaches_stop(struct cairn_nic *nic)
{
	if (nic->mrcaches_counted)
		mrcache_free(nic->mrcaches_counted);
}

static void *mrcache_ask(struct cairn_mrcaches *caches,
			 struct cairn_mrcache *cache, u32 index, bool ahead)
{
	enum cairn_mrcache_asked asked = cairn_mrcache_ask(cache, index, ahead);
	void *mr;

	cairn_mrcache_missed(cache);
	if (asked == CAIRN_MRCACHE_NO_LINE && ahead)
		return NULL;
	mr = cairn_table_find(caches->table, index);
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

/* The region may be released before it is looked up, so its memory is prefetched, but
 * not read.
 */
void cairn_mrcaches_ahead(struct cairn_mrcaches *caches, u32 key)
{
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;
	struct cairn_mrcache *cache;
	void *mr;

	cache = cairn_mrcaches_own(caches);
	if (!cache->resting && cairn_mrcache_has(cache, index))
		return;
	mr = cairn_table_find(caches->table, index);
	/* A key without a region uses no line. */
	if (mr && !cache->resting)
		mr = mrcache_ask(caches, cache, index, true);
	if (mr)
		prefetch(mr);
}

void cairn_mrcaches_release(struct cairn_nic *nic, u32 index)
{
	struct cairn_mrcaches *caches = READ_ONCE(nic->mrcaches_counted);

	if (!caches)
		return;
	spin_lock_bh(&caches->lock);
	cairn_mrcache_release(caches->released, caches->mask, index);
	spin_unlock_bh(&caches->lock);
}
