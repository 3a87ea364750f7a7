/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Another ring for a queue in use (origins.rst, Q5).
 *
 * A new ring is allocated beside the old one, what is outstanding is copied
 * into it at the same indices, and with everyone held off for a moment it takes
 * the old one's place. Most of the copying is done before that moment: units
 * that are outstanding do not change.
 *
 * For a process the first step is a method of its own (PREPARE_RING, see
 * rdma/cairn-abi.h) and the standard command does the rest.
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
	u32 moved;		/* outstanding units before it are copied, if begun */
	bool begun;
	struct cairn_swr *swr;	/* send queue: max_wr engine records */
};

/* Attempts to hold everyone off while little is left to copy. */
#define CAIRN_NEXT_RING_TRIES	8
/* Units that may be copied in that moment: 256 KiB. */
#define CAIRN_NEXT_RING_LOCKED	4096

/* Units of the largest send WQE with that many entries or inline bytes. */
static inline u32 cairn_send_units(const struct ib_qp_cap *cap)
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
 * @queue: the queue, also names the owner who pays
 * @kind: what it is
 * @max_wr: what the ring is to hold, checked against the device's limit; 0
 *	counts as 1
 * @units: of the largest work request
 *
 * Returns NULL without memory. Process context.
 */
struct cairn_next_ring *
cairn_next_ring_alloc(struct cairn_queue *queue, enum cairn_queue_kind kind,
		      u32 max_wr, u32 units);

/* The ring that was not taken, or the old one. NULL is fine. May sleep. */
void cairn_next_ring_free(struct cairn_next_ring *n);

/* Take the prepared ring of @queue, or NULL. The owner's mutex held. */
struct cairn_next_ring *cairn_next_ring_take(struct cairn_queue *queue);

/**
 * cairn_next_ring_move() - copy what is outstanding and not yet copied
 * @queue: the queue
 * @kind: what it is
 * @n: its next ring
 * @limit: units to copy at most; U32_MAX: all, and no lock is held
 *
 * Once without a lock and without a limit, so that little is left; then with
 * everybody held off who changes a pointer of the queue, before
 * cairn_next_ring_swap().
 *
 * Returns 0, -EINVAL when more is outstanding than the new ring (or, with a
 * hostile pointer, the old one) holds, or -EAGAIN beyond the limit.
 */
int cairn_next_ring_move(const struct cairn_queue *queue,
			 enum cairn_queue_kind kind,
			 struct cairn_next_ring *n, u32 limit);

/* The new ring takes its place, @n gets the old one. Everything was moved in
 * the same critical section.
 */
static inline void cairn_next_ring_swap(struct cairn_queue *queue,
					struct cairn_next_ring *n)
{
	cairn_queue_swap_ring(queue, &n->ring, n->depth);
}

#endif
