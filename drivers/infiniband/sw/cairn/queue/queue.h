/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings and their queue info (rdma/cairn-abi.h).
 *
 * Barrier pairs:
 *   cairn_queue_host_index() pairs with the host's store-release of its write (or
 *   read) pointer: units before the pointer are complete (free).
 *   cairn_queue_publish() pairs with the host's load-acquire of the device's
 *   pointer: the host sees every store to the ring before it.
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
 * struct is space 2. Only queue/next_ring.h changes ring, depth and next.
 */
struct cairn_queue {
	/* One cache line for a send queue. */
	void *ring;
	u32 depth;			/* units, power of two */
	u32 key;			/* in the cache */
	u32 index;			/* device's own pointer, see qinfo_dev */
	struct cairn_qinfo_dev *dev;	/* space 1 */
	struct cairn_qinfo_host *host;	/* space 3 */
	struct cairn_qicache *cache;	/* for queue/host_index.h, as key and rung */
	atomic64_t rung;		/* pointer of a doorbell, not handled yet */
	struct rdma_user_mmap_entry *entry;	/* NULL: kernel queue */
	/* The rest. */
	u32 stride;			/* units of a receive WQE */
	u32 qid;
	struct cairn_next_ring *next;	/* prepared; the owner's mutex protects it */
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
 *
 * Takes a qid, sets both pointers to 0 and the state to READY. cairn_queue_describe()
 * tells the process where the ring is.
 *
 * Context: process.
 * Return: 0, -EINVAL (depth), -ENOMEM or -ENOSPC (no qid left).
 */
int cairn_queue_init_user(struct cairn_ucontext *uc, struct cairn_queue *queue,
			  u32 depth, u32 stride, bool writable);

/* The same for a kernel consumer; the queue info is private. */
int cairn_queue_init_kernel(struct cairn_queue *queue, u32 depth, u32 stride);

/**
 * cairn_queue_free() - free the ring and the queue info
 * @queue: the queue
 *
 * The queue is not in use any more. The process may still have it mapped; the
 * pages live until it unmaps them. Does nothing to a zeroed queue.
 *
 * Context: process.
 */
void cairn_queue_free(struct cairn_queue *queue);

/* Fill in the response to the process: mmap offsets of @queue and its queue info. */
void cairn_queue_describe(const struct cairn_queue *queue,
			  struct cairn_ring_desc *desc);

/* A ring without a queue, to replace that of a queue. */
struct cairn_ring {
	void *mem;
	struct rdma_user_mmap_entry *entry;	/* NULL: kernel ring */
};

/* @uc NULL: a kernel ring. Process context. Return: 0 or -ENOMEM. */
int cairn_ring_alloc(struct cairn_ring *ring, struct cairn_ucontext *uc,
		     u32 depth, bool writable);
void cairn_ring_free(struct cairn_ring *ring);

/* Give @queue the ring @ring of @depth units; @ring gets the old one. The caller has
 * moved the outstanding units and excludes every user of the queue.
 */
void cairn_queue_swap_ring(struct cairn_queue *queue, struct cairn_ring *ring,
			   u32 depth);

static inline void *cairn_queue_unit(const struct cairn_queue *queue, u32 idx)
{
	return (u8 *)queue->ring +
	       (size_t)(idx & (queue->depth - 1)) * CAIRN_UNIT_SIZE;
}

/* The host's pointer, read once; not validated. */
static inline u32 cairn_queue_host_index(const struct cairn_queue *queue)
{
	/* Pairs with the host's release of its pointer. */
	return smp_load_acquire(&queue->host->index);
}

/* Publish the device's pointer, queue->index, to the host. */
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

/* Copy @units (at most the depth) units from @idx on; wraps at the ring's end. */
void cairn_queue_copy(const struct cairn_queue *queue, u32 idx, u32 units,
		      void *to);

#endif
