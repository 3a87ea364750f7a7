// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/idr.h>
#include "lane/lane.h"
#include "queue/cache.h"
#include "queue/host_index.h"
#include "queue/queue.h"

#define RUNG	BIT_ULL(32)	/* in rung: the low half is a pointer */

/* One key for each queue of all devices. */
static DEFINE_IDA(keys);

int cairn_host_index_init(struct cairn_queue *queue)
{
	int key = ida_alloc_max(&keys, CAIRN_QI_MAX_KEY, GFP_KERNEL);

	if (key < 0)
		return key;
	queue->key = key;
	queue->cache = cairn_queue_cache(key);
	atomic64_set(&queue->rung, 0);
	return 0;
}

void cairn_host_index_free(struct cairn_queue *queue)
{
	cairn_qicache_drop(queue->cache, queue->key);
	ida_free(&keys, queue->key);
}

void cairn_host_index_join(struct cairn_queue *queue,
			   const struct cairn_exec *exec)
{
	queue->cache = cairn_queue_cache(exec->lane->number);
}

void cairn_host_index_reset(struct cairn_queue *queue)
{
	atomic64_set(&queue->rung, 0);
	cairn_qicache_drop(queue->cache, queue->key);
}

void cairn_host_index_rung(struct cairn_queue *queue, u32 ptr)
{
	/* Orders the host's stores before the doorbell. Pairs with
	 * host_index_take_rung().
	 */
	atomic64_set_release(&queue->rung, RUNG | ptr);
}

static struct cairn_qi_rung host_index_take_rung(struct cairn_queue *queue)
{
	u64 rung = 0;

	/* atomic64_xchg() is a full barrier, so that space 3 is read afterwards. A
	 * host that writes space 3 before its doorbell is then seen whole.
	 */
	if (atomic64_read(&queue->rung))
		rung = atomic64_xchg(&queue->rung, 0);
	return (struct cairn_qi_rung){ .ptr = rung, .valid = rung };
}

static int host_index_look(struct cairn_queue *queue, struct cairn_nic *nic,
			   const struct cairn_qi_range *range, u32 *ptr)
{
	struct cairn_qi_told told;
	int ret;

	told.rung = host_index_take_rung(queue);
	told.host = cairn_queue_host_index(queue);
	cairn_nic_count(nic, CAIRN_CTR_QINFO_MISSES, 1);
	ret = cairn_qicache_newest(queue->cache, queue->key, range, told, ptr);
	return min(ret, 0);
}

/* A kernel queue has no mapped space 3: its pointer is read without the cache. */
static int host_index_kernel(const struct cairn_queue *queue, u32 read,
			     u32 known, u32 *ptr)
{
	u32 host = cairn_queue_host_index(queue);

	if (host - read > queue->depth)
		return -EINVAL;
	*ptr = host - read > known - read ? host : known;
	return 0;
}

int cairn_host_index_fresh(struct cairn_queue *queue, struct cairn_nic *nic,
			   u32 read, u32 known, u32 *ptr)
{
	struct cairn_qi_range range = {
		.read = read, .depth = queue->depth, .known = known,
	};

	if (!queue->entry)
		return host_index_kernel(queue, read, known, ptr);
	return host_index_look(queue, nic, &range, ptr);
}

int cairn_host_index_newest(struct cairn_queue *queue, struct cairn_nic *nic,
			    u32 read, u32 known, u32 *ptr)
{
	struct cairn_qi_range range = {
		.read = read, .depth = queue->depth, .known = known,
	};

	if (!queue->entry)
		return host_index_kernel(queue, read, known, ptr);
	if (!cairn_qicache_seen(queue->cache, queue->key, &range, ptr))
		return host_index_look(queue, nic, &range, ptr);
	cairn_nic_count(nic, CAIRN_CTR_QINFO_HITS, 1);
	return 0;
}
