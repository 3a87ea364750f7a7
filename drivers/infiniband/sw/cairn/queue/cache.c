// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm.h>
#include <linux/slab.h>
#include "lane/lane.h"
#include "queue/cache.h"

/* Queues in each cache: 8 KiB, so that it leaves room in the first-level cache. */
#define CAIRN_QUEUE_CACHE_QUEUES	1024

static struct cairn_qicache *cache_of_lane;

static int cache_alloc(struct cairn_qicache *cache)
{
	u32 sets = cairn_qicache_sets(CAIRN_QUEUE_CACHE_QUEUES);
	atomic64_t *words;

	words = kvcalloc(sets, CAIRN_QI_WAYS * sizeof(*words), GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	cairn_qicache_init(cache, sets, words);
	return 0;
}

int cairn_queue_caches_start(void)
{
	u32 i;

	cache_of_lane = kcalloc(cairn_lanes(), sizeof(*cache_of_lane),
				GFP_KERNEL);
	if (!cache_of_lane)
		return -ENOMEM;
	for (i = 0; i < cairn_lanes(); i++) {
		if (cache_alloc(&cache_of_lane[i])) {
			cairn_queue_caches_stop();
			return -ENOMEM;
		}
	}
	return 0;
}

void cairn_queue_caches_stop(void)
{
	u32 i;

	for (i = 0; i < cairn_lanes(); i++)
		kvfree(cache_of_lane[i].word);
	kfree(cache_of_lane);
}

struct cairn_qicache *cairn_queue_cache(u32 number)
{
	return &cache_of_lane[number % cairn_lanes()];
}
