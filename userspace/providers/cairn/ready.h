/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ready map tells the device of a post without a system call. All steps follow
 * the release of the write pointer (ring.h, barrier (a)).
 *
 * (g) cairn_ready_mark() begins with a full barrier: the write pointer is stored
 *     before the queue's bit is read. Pairs with the device, which takes the bit
 *     (an atomic exchange, a full barrier) before it reads the write pointer. So a
 *     bit that is seen set need not be set again: the device takes it after this
 *     read and then sees the pointer. An earlier post may have set the bit and not
 *     the summary yet, so the summary is read, too.
 *
 * (k) cairn_ready_set() loads sequentially consistent: the queue's bit is read or set
 *     before the summary is read. Pairs with the device, which takes the summary before
 *     the words (an atomic exchange, a full barrier). So a summary that is seen set
 *     need not be set again: the device takes it after this read and then the bit.
 *
 * (h) cairn_ready_state() has a full barrier between the mark and the
 *     wake-up flag. Pairs with the device, which raises the flag, full barrier,
 *     and looks at the map again before it sleeps. Either the device
 *     finds the mark, or this function sees the flag. Then the caller rings, or
 *     counts the post for a later doorbell.
 */
#ifndef CAIRN_READY_H
#define CAIRN_READY_H

#include "cairn.h"

/* The place of one send queue in the map. */
struct cairn_ready {
	uint64_t *word;
	uint64_t *summary;
	uint64_t word_bit;
	uint64_t summary_bit;
	const uint32_t *state;	/* enum cairn_lane_state */
};

/* Barrier (k). */
static inline void cairn_ready_set(uint64_t *word, uint64_t bit)
{
	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

/* Barrier (g). */
static inline void cairn_ready_mark(const struct cairn_ready *ready)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	cairn_ready_set(ready->word, ready->word_bit);
	cairn_ready_set(ready->summary, ready->summary_bit);
}

/* Barrier (h). Return: enum cairn_lane_state. */
static inline uint32_t cairn_ready_state(const struct cairn_ready *ready)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(ready->state, __ATOMIC_RELAXED);
}

/*
 * Maps the pages that @desc names, for a send queue. They stay mapped until the
 * context is freed, as the kernel keeps them, too. Return: 0 or errno.
 */
int cairn_ready_map(struct cairn_context *ctx, struct cairn_ready *ready,
		    const struct cairn_ring_desc *desc);
void cairn_ready_free_all(struct cairn_context *ctx);

#endif /* CAIRN_READY_H */
