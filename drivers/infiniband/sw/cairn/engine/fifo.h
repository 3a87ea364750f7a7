/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queues that a lane's scheduler has selected and the lane has not served yet, in
 * order. While the lane serves some queues, it prefetches the contexts of those behind
 * them. Their WQEs are in another FIFO (engine/ahead.h).
 *
 * Dropping an entry loses nothing, as the queue stays marked in the scheduler until its
 * turn begins.
 *
 * Not atomic: the owner holds its lock.
 */
#ifndef CAIRN_ENGINE_FIFO_H
#define CAIRN_ENGINE_FIFO_H

#include <linux/types.h>

#define CAIRN_FIFO_SIZE		16	/* entries, a power of two */

struct cairn_fifo {
	u32 head;		/* oldest; both free-running */
	u32 tail;
	u32 queue[CAIRN_FIFO_SIZE];	/* scheduler slots */
};

static inline u32 cairn_fifo_len(const struct cairn_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

static inline bool cairn_fifo_full(const struct cairn_fifo *fifo)
{
	return cairn_fifo_len(fifo) == CAIRN_FIFO_SIZE;
}

/* Append. Return: false when full. */
bool cairn_fifo_push(struct cairn_fifo *fifo, u32 queue);

/* Take the oldest. Return: false when empty. */
bool cairn_fifo_pop(struct cairn_fifo *fifo, u32 *queue);

/* Entry @n from the oldest, 0..len - 1. */
static inline u32 cairn_fifo_peek(const struct cairn_fifo *fifo, u32 n)
{
	return fifo->queue[(fifo->head + n) % CAIRN_FIFO_SIZE];
}

/**
 * cairn_fifo_purge() - drop all entries of one queue
 * @fifo: the FIFO
 * @queue: the queue
 *
 * The other entries keep their order.
 *
 * Return: number of dropped entries.
 */
u32 cairn_fifo_purge(struct cairn_fifo *fifo, u32 queue);

#endif
