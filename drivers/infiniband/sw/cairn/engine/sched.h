/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Chooses the next queue, round-robin, fair in bytes. A bitmap has the queues with
 * work. Summaries above it have a bit for each word of the level below, so that the
 * search costs the same for any number of queues.
 *
 * Any context may mark; one owner at a time searches and clears. A marker sets level
 * 0 first and then the levels above, each with a full barrier. The owner clears a
 * summary bit first and reads the word below afterwards, with a full barrier in
 * between. So one of the two sees the other, and a complete mark is found. A stale
 * summary bit may have no bit below it; the owner clears it when it finds it.
 */
#ifndef CAIRN_ENGINE_SCHED_H
#define CAIRN_ENGINE_SCHED_H

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define CAIRN_SCHED_LEVELS	4	/* up to 64^4 slots */
#define CAIRN_SCHED_NONE	0xffffffffu

struct cairn_sched {
	atomic64_t *level[CAIRN_SCHED_LEVELS];	/* 0: a bit for each queue */
	u32 bits[CAIRN_SCHED_LEVELS];
	u32 levels;
	u32 cursor;		/* where the next search starts */
};

/* Bytes of memory for @slots slots, 1..2^24. */
size_t cairn_sched_bytes(u32 slots);

/* @mem: that many bytes, zeroed, in use for the lifetime of @sched. */
void cairn_sched_init(struct cairn_sched *sched, u32 slots, void *mem);

/**
 * cairn_sched_mark() - mark queues that have work
 * @sched: the bitmap
 * @word: slots @word * 64 and up
 * @mask: bit per slot of the word, not 0
 *
 * A full barrier: the turn that the mark causes sees the caller's earlier stores.
 *
 * Context: any.
 */
void cairn_sched_mark(struct cairn_sched *sched, u32 word, u64 mask);

static inline void cairn_sched_set(struct cairn_sched *sched, u32 slot)
{
	cairn_sched_mark(sched, slot / 64, 1ULL << slot % 64);
}

/* Clear the mark at the start of the queue's turn. A full barrier. Owner only. */
void cairn_sched_clear(struct cairn_sched *sched, u32 slot);

/* The next marked slot in cyclic order, or CAIRN_SCHED_NONE. It stays marked; the next
 * call starts behind it. Owner only.
 */
u32 cairn_sched_next(struct cairn_sched *sched);

/* Is any slot marked? May be wrong once after the last was cleared. */
static inline bool cairn_sched_any(const struct cairn_sched *sched)
{
	return atomic64_read(sched->level[sched->levels - 1]);
}

/*
 * Shares in bytes (deficit round robin). In each round a queue with work may send a
 * quantum. Its turn ends with the train that uses the quantum up. Bytes beyond the
 * quantum are a debt; the queue skips rounds until quanta have paid it.
 */
#define CAIRN_QUANTUM		65536

/* Bytes that the queue may send in this turn; not positive: it skips the turn.
 * @debt: of the queue, kept between turns, not positive.
 */
static inline s32 cairn_sched_share_begin(s32 *debt)
{
	s32 bytes = *debt + CAIRN_QUANTUM;

	*debt = min(bytes, 0);
	return bytes;
}

/* Account for a turn that left @left bytes unused; negative: sent beyond the quantum.
 * Unused bytes expire, so that an idle queue accumulates no credit.
 */
static inline void cairn_sched_share_end(s32 *debt, s32 left)
{
	*debt = min(left, 0);
}

#endif
