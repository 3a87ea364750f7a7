// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/idr.h>
#include "lane/lane.h"
#include "queue/cache.h"
#include "queue/host_index.h"
#include "queue/queue.h"

#define RUNG	BIT_ULL(32)	/* in rung: the low half is a pointer */

/* Of all queues of all devices. */
static DEFINE_IDA(keys);

int cairn_host_index_init(struct cairn_queue *q)
{
	int key = ida_alloc_max(&keys, CAIRN_QI_MAX_KEY, GFP_KERNEL);

	if (key < 0)
		return key;
	q->key = key;
	q->cache = cairn_queue_cache(key);
	atomic64_set(&q->rung, 0);
	return 0;
}

void cairn_host_index_free(struct cairn_queue *q)
{
	cairn_qicache_drop(q->cache, q->key);
	ida_free(&keys, q->key);
}

void cairn_host_index_join(struct cairn_queue *q, const struct cairn_exec *x)
{
	q->cache = cairn_queue_cache(x->lane->number);
}

void cairn_host_index_reset(struct cairn_queue *q)
{
	atomic64_set(&q->rung, 0);
	cairn_qicache_drop(q->cache, q->key);
}

void cairn_host_index_rung(struct cairn_queue *q, u32 ptr)
{
	/* After what the host stored before it rang; pairs with take_rung(). */
	atomic64_set_release(&q->rung, RUNG | ptr);
}

static struct cairn_qi_rung take_rung(struct cairn_queue *q)
{
	u64 v = 0;

	/* A full barrier: space 3 is read afterwards, so it is not older than
	 * the doorbell of a host that writes it first.
	 */
	if (atomic64_read(&q->rung))
		v = atomic64_xchg(&q->rung, 0);
	return (struct cairn_qi_rung){ .ptr = v, .valid = v };
}

static int look(struct cairn_queue *q, struct cairn_nic *nic,
		const struct cairn_qi_range *g, u32 *ptr)
{
	struct cairn_qi_rung rung = take_rung(q);
	int ret;

	cairn_nic_count(nic, CAIRN_CTR_QINFO_MISSES, 1);
	ret = cairn_qi_newest(q->cache, q->key, g, cairn_queue_host_index(q),
			      rung, ptr);
	if (ret > 0)
		cairn_nic_count(nic, CAIRN_CTR_QINFO_EVICTIONS, ret);
	return min(ret, 0);
}

int cairn_host_index_fresh(struct cairn_queue *q, struct cairn_nic *nic,
			   u32 read, u32 known, u32 *ptr)
{
	struct cairn_qi_range g = {
		.read = read, .depth = q->depth, .known = known,
	};

	return look(q, nic, &g, ptr);
}

int cairn_host_index_newest(struct cairn_queue *q, struct cairn_nic *nic,
			    u32 read, u32 known, u32 *ptr)
{
	struct cairn_qi_range g = {
		.read = read, .depth = q->depth, .known = known,
	};

	if (!cairn_qi_cached(q->cache, q->key, &g, ptr))
		return look(q, nic, &g, ptr);
	cairn_nic_count(nic, CAIRN_CTR_QINFO_HITS, 1);
	return 0;
}
