// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The next ring of a queue: allocation, and moving units into it. */
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "queue/next_ring.h"

struct cairn_next_ring *
cairn_next_ring_alloc(struct cairn_queue *queue, enum cairn_queue_kind kind,
		      u32 max_wr, u32 units)
{
	struct cairn_next_ring *n = kzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);
	struct cairn_ucontext *uc = NULL;

	if (!n)
		return NULL;
	if (queue->entry)
		uc = to_cairn_ucontext(queue->entry->ucontext);
	n->max_wr = roundup_pow_of_two(max(max_wr, 1U));
	n->depth = roundup_pow_of_two(n->max_wr * units);
	if (kind == CAIRN_QUEUE_SEND) {
		n->swr = kvcalloc(n->max_wr, sizeof(*n->swr),
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!n->swr)
			goto err_free;
	}
	if (cairn_ring_alloc(&n->ring, uc, n->depth, kind != CAIRN_QUEUE_COMP))
		goto err_swr;
	return n;

err_swr:
	kvfree(n->swr);
err_free:
	kfree(n);
	return NULL;
}

void cairn_next_ring_free(struct cairn_next_ring *n)
{
	if (!n)
		return;
	cairn_ring_free(&n->ring);
	kvfree(n->swr);
	kfree(n);
}

struct cairn_next_ring *cairn_next_ring_take(struct cairn_queue *queue)
{
	struct cairn_next_ring *n = queue->next;

	queue->next = NULL;
	return n;
}

/* Outstanding units: from the consumer's pointer to the producer's. */
static void next_ring_outstanding(const struct cairn_queue *queue,
				  enum cairn_queue_kind kind, u32 *first,
				  u32 *end)
{
	/* Pairs with cairn_queue_publish(): entries before it are written. */
	u32 dev = smp_load_acquire(&queue->dev->index);
	u32 host = cairn_queue_host_index(queue);

	*first = kind == CAIRN_QUEUE_COMP ? host : dev;
	*end = kind == CAIRN_QUEUE_COMP ? dev : host;
}

/* Units from @idx to the end of a ring of @depth units. */
static u32 next_ring_contiguous(u32 idx, u32 depth)
{
	return depth - (idx & (depth - 1));
}

int cairn_next_ring_move(const struct cairn_queue *queue,
			 enum cairn_queue_kind kind,
			 struct cairn_next_ring *n, u32 limit)
{
	u32 first, end;

	next_ring_outstanding(queue, kind, &first, &end);
	/* A kernel consumer keeps running: without a lock the two pointers may have
	 * been read at different times.
	 */
	if (end - first > min(queue->depth, n->depth))
		return limit == U32_MAX && !queue->entry ? 0 : -EINVAL;
	if (!n->begun || end - n->moved > end - first)
		n->moved = first;
	n->begun = true;
	if (end - n->moved > limit)
		return -EAGAIN;
	while (n->moved != end) {
		u32 units = min3(end - n->moved,
				 next_ring_contiguous(n->moved, queue->depth),
				 next_ring_contiguous(n->moved, n->depth));

		units = min_t(u32, units, CAIRN_NEXT_RING_LOCKED);
		memcpy(n->ring.mem + (size_t)(n->moved & (n->depth - 1)) *
		       CAIRN_UNIT_SIZE, cairn_queue_unit(queue, n->moved),
		       units * CAIRN_UNIT_SIZE);
		n->moved += units;
		if (limit == U32_MAX)
			cond_resched();
	}
	return 0;
}
