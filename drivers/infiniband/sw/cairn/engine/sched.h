/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which queue is next: a bitmap of the queues that have work, with summaries
 * above it (a bit for each word of the level below), so that finding the next
 * one costs the same however many queues exist. Round-robin, fair in bytes.
 *
 * Marking is for any context; looking and clearing is for one owner at a time.
 * A marker sets level 0 first and then the levels above, each with a full
 * barrier; the owner clears a summary bit first and looks at the word below
 * afterwards, again with a full barrier between. So one of the two sees the
 * other, and a mark that is complete is found. A summary bit may be left over
 * without a bit below it; the owner clears it when it gets there.
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
	u32 cursor;		/* where the search goes on */
};

/* Bytes of memory for @slots slots, 1..2^24. */
size_t cairn_sched_bytes(u32 slots);

/* @mem: that many bytes, zeroed; used until the end. */
void cairn_sched_init(struct cairn_sched *sched, u32 slots, void *mem);

/**
 * cairn_sched_mark() - queues have work
 * @sched: the bitmap
 * @word: slots @word * 64 and up
 * @mask: bit per slot of the word, not 0
 *
 * A full barrier: what the caller stored before is seen by the turn that the
 * mark causes. Any context.
 */
void cairn_sched_mark(struct cairn_sched *sched, u32 word, u64 mask);

static inline void cairn_sched_set(struct cairn_sched *sched, u32 slot)
{
	cairn_sched_mark(sched, slot / 64, 1ULL << slot % 64);
}

/* The queue gets its turn now. A full barrier. Owner. */
void cairn_sched_clear(struct cairn_sched *sched, u32 slot);

/* The next marked slot in cyclic order, or CAIRN_SCHED_NONE. It stays marked;
 * the next call starts behind it. Owner.
 */
u32 cairn_sched_next(struct cairn_sched *sched);

/* Is any slot marked? May say so wrongly once after the last was cleared. */
static inline bool cairn_sched_any(const struct cairn_sched *sched)
{
	return atomic64_read(sched->level[sched->levels - 1]);
}

/*
 * Shares in bytes (deficit round robin). In each round a queue with work may
 * send a quantum. It ends its turn with the train that uses the quantum up; what
 * it sent beyond is a debt, and it sits out rounds until quanta have paid it.
 */
#define CAIRN_QUANTUM		65536

/* What the queue may send in this turn, in bytes; not positive: it sits out.
 * @debt: of the queue, kept between turns, not positive.
 */
static inline s32 cairn_sched_share_begin(s32 *debt)
{
	s32 bytes = *debt + CAIRN_QUANTUM;

	*debt = min(bytes, 0);
	return bytes;
}

/* After a turn that left @left of what it was given, negative: beyond. An
 * unused rest is not kept: who has nothing to send saves nothing up.
 */
static inline void cairn_sched_share_end(s32 *debt, s32 left)
{
	*debt = min(left, 0);
}

#endif
