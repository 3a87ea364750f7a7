/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings and their queue info (rdma/cairn-abi.h).
 *
 * Barrier pairs:
 *   cairn_queue_host_index() acquires what the host's store-release of its
 *   write (or read) pointer published: units before it are complete (free).
 *   cairn_queue_publish() releases the device's pointer: the host, which loads
 *   it with acquire, sees every store to the ring before it.
 */
#ifndef CAIRN_QUEUE_QUEUE_H
#define CAIRN_QUEUE_QUEUE_H

#include <linux/bits.h>
#include <linux/string.h>
#include <rdma/cairn-abi.h>
#include "queue/context.h"
#include "queue/qicache.h"

struct cairn_next_ring;

/*
 * One ring with its queue info (cairn-abi.h), user-mapped or kernel-only. This
 * is space 2: ring, depth and next change through queue/next_ring.h only.
 */
struct cairn_queue {
	void *ring;
	u32 depth;			/* units, power of two */
	u32 stride;			/* units of a receive WQE */
	u32 index;			/* device's own pointer, see qinfo_dev */
	u32 qid;
	struct cairn_qinfo_dev *dev;	/* space 1 */
	struct cairn_qinfo_host *host;	/* space 3 */
	/* queue/host_index.h */
	struct cairn_qicache *cache;
	u32 key;			/* there */
	u32 seen;			/* send queue: the host's, by the last look */
	atomic64_t rung;		/* by a doorbell, not yet looked at */
	struct rdma_user_mmap_entry *entry;	/* NULL: kernel queue */
	struct cairn_next_ring *next;	/* prepared; its owner's mutex */
};

/* The largest ring: 128 MiB. */
#define CAIRN_QUEUE_MAX_UNITS	BIT(21)

/**
 * cairn_queue_init_user() - a ring shared with a process
 * @uc: the owner; outlives the queue
 * @queue: zeroed
 * @depth: units, a power of two up to CAIRN_QUEUE_MAX_UNITS
 * @stride: units of a receive WQE, 1 for a CQ, 0 for a send queue
 * @writable: the host may map the ring for writing (not a CQ)
 * @desc: filled in, for the response
 *
 * Takes a qid, sets both pointers to 0 and the state to READY. Returns 0,
 * -EINVAL (depth), -ENOMEM or -ENOSPC (no qid left). Process context.
 */
int cairn_queue_init_user(struct cairn_ucontext *uc, struct cairn_queue *queue,
			  u32 depth, u32 stride, bool writable,
			  struct cairn_ring_desc *desc);

/* The same for a kernel consumer, with queue info of its own. */
int cairn_queue_init_kernel(struct cairn_queue *queue, u32 depth, u32 stride);

/**
 * cairn_queue_free() - undo either init
 * @queue: the queue
 *
 * Nobody uses the queue any more. The process may still have it mapped; the
 * pages live until it unmaps them. Harmless on a zeroed queue. Process
 * context.
 */
void cairn_queue_free(struct cairn_queue *queue);

/* For the response to the process: where @queue and its queue info lie. */
void cairn_queue_describe(const struct cairn_queue *queue,
			  struct cairn_ring_desc *desc);

/* A ring by itself, to replace that of a queue. */
struct cairn_ring {
	void *mem;
	struct rdma_user_mmap_entry *entry;	/* NULL: kernel ring */
};

/* @uc NULL: a kernel ring. 0 or -ENOMEM. Process context. */
int cairn_ring_alloc(struct cairn_ring *ring, struct cairn_ucontext *uc,
		     u32 depth, bool writable);
void cairn_ring_free(struct cairn_ring *ring);

/* Give @queue the ring @ring of @depth units; @ring becomes the old one. The caller has
 * moved what is in it and excludes every user of the queue.
 */
void cairn_queue_swap_ring(struct cairn_queue *queue, struct cairn_ring *ring,
			   u32 depth);

static inline void *cairn_queue_unit(const struct cairn_queue *queue, u32 idx)
{
	return (u8 *)queue->ring +
	       (size_t)(idx & (queue->depth - 1)) * CAIRN_UNIT_SIZE;
}

/* The host's pointer, read once; not to be trusted. */
static inline u32 cairn_queue_host_index(const struct cairn_queue *queue)
{
	/* Pairs with the host's release of its pointer. */
	return smp_load_acquire(&queue->host->index);
}

/* Tell the host the device's pointer, q->index. */
static inline void cairn_queue_publish(const struct cairn_queue *queue)
{
	/* Pairs with the host's acquire of the device's pointer. */
	smp_store_release(&queue->dev->index, queue->index);
}

static inline void cairn_queue_set_state(const struct cairn_queue *queue,
					 enum cairn_queue_state state)
{
	WRITE_ONCE(queue->dev->state, state);
}

/* Copy @units (at most the depth) units from @idx on, around the ring's end. */
void cairn_queue_copy(const struct cairn_queue *queue, u32 idx, u32 units,
		      void *to);

#endif
