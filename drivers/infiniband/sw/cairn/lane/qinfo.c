// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include "lane/lane.h"
#include "lane/qinfo.h"

/* 8 KiB: room in the first-level cache beside everything else. */
static unsigned int qinfo_cache = 1024;
module_param(qinfo_cache, uint, 0444);
MODULE_PARM_DESC(qinfo_cache,
		 "queues whose pointers each lane caches, 0..65536; 0: none (default 1024)");

struct cairn_qicache *cairn_lane_qicache(const struct cairn_exec *x)
{
	return &x->lane->qicache;
}

struct cairn_qicache *cairn_lane_qicache_nth(u32 n)
{
	return &cairn_lane(n % cairn_lanes())->qicache;
}

int cairn_qicache_alloc(struct cairn_qicache *c)
{
	u32 sets = cairn_qicache_sets(qinfo_cache);
	atomic64_t *mem = NULL;

	if (sets) {
		mem = kvcalloc(sets, CAIRN_QI_WAYS * sizeof(*mem), GFP_KERNEL);
		if (!mem)
			return -ENOMEM;
	}
	cairn_qicache_init(c, sets, mem);
	return 0;
}

void cairn_qicache_free(struct cairn_qicache *c)
{
	kvfree(c->word);
}
