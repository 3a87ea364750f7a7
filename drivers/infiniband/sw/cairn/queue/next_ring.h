/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Replaces the ring of a queue in use (origins.rst, Q5).
 *
 * A new ring is allocated beside the old one. Outstanding units are copied into it
 * at the same indices. Then, with all users of the queue locked out, it replaces the
 * old ring. Outstanding units do not change, so most of them are copied before the
 * lock is taken.
 *
 * A process has a method for the first step (PREPARE_RING, see rdma/cairn-abi.h); the
 * standard command does the rest.
 */
#ifndef CAIRN_QUEUE_NEXT_RING_H
#define CAIRN_QUEUE_NEXT_RING_H

#include <linux/kernel.h>
#include "engine/qp.h"
#include "queue/queue.h"

struct cairn_next_ring {
	struct cairn_ring ring;
	u32 depth;		/* units */
	u32 max_wr;		/* work requests, or entries */
	u32 moved;		/* if begun: outstanding units before it are copied */
	bool begun;
	struct cairn_swr *swr;	/* send queue: max_wr engine records */
};

/* Attempts to copy the rest with all users locked out. */
#define CAIRN_NEXT_RING_TRIES	8
/* Units that may be copied under the lock: 256 KiB. */
#define CAIRN_NEXT_RING_LOCKED	4096

/* Units of the largest send WQE with @cap's entries or inline bytes. */
static inline u32 cairn_next_ring_send_units(const struct ib_qp_cap *cap)
{
	u32 data = max_t(u32, cap->max_send_sge * sizeof(struct cairn_sge),
			 cap->max_inline_data);

	return DIV_ROUND_UP(CAIRN_WQE_DATA_OFFSET + data, CAIRN_UNIT_SIZE);
}

enum cairn_queue_kind {
	CAIRN_QUEUE_SEND,
	CAIRN_QUEUE_RECV,
	CAIRN_QUEUE_COMP,
};

/**
 * cairn_next_ring_alloc() - a ring to replace that of a queue
 * @queue: the queue; the memory is charged to its owner
 * @kind: of the queue
 * @max_wr: work requests or entries that the ring holds, checked against the
 *	device's limit; 0 counts as 1
 * @units: of the largest work request
 *
 * Context: process.
 * Return: the ring, or NULL without memory.
 */
struct cairn_next_ring *
cairn_next_ring_alloc(struct cairn_queue *queue, enum cairn_queue_kind kind,
		      u32 max_wr, u32 units);

/* Free a ring that was not taken, or the old one. @n may be NULL. May sleep. */
void cairn_next_ring_free(struct cairn_next_ring *n);

/* Take the prepared ring of @queue, or NULL. The owner's mutex held. */
struct cairn_next_ring *cairn_next_ring_take(struct cairn_queue *queue);

/**
 * cairn_next_ring_move() - copy outstanding units that are not copied yet
 * @queue: the queue
 * @kind: of the queue
 * @n: its next ring
 * @limit: units to copy at most; U32_MAX: all, and no lock is held
 *
 * The first call has neither lock nor limit, so that few units are left. The last
 * call, before cairn_next_ring_swap(), locks out all users that change a pointer of
 * the queue.
 *
 * Return: 0; -EAGAIN: more units than @limit; -EINVAL: more units are outstanding
 * than the new ring holds, or, with a hostile pointer, the old one.
 */
int cairn_next_ring_move(const struct cairn_queue *queue,
			 enum cairn_queue_kind kind,
			 struct cairn_next_ring *n, u32 limit);

/* Give @queue the new ring; @n gets the old one. cairn_next_ring_move() returned 0
 * in the same critical section.
 */
static inline void cairn_next_ring_swap(struct cairn_queue *queue,
					struct cairn_next_ring *n)
{
	cairn_queue_swap_ring(queue, &n->ring, n->depth);
}

#endif
