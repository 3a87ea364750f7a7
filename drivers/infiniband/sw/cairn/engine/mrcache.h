/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * MR cache: memory regions by index in front of the table (origins.rst, S2), four
 * ways, the set chosen by the low bits of the index. Read-only: a line has the
 * table's answer, never a change.
 *
 * Each lane and each receiving CPU has a cache of its own, so its lines are
 * written by one owner at a time. All caches of a device share one array of
 * counters, one counter for each set: how many regions of that set were released.
 * A set remembers the counter that its lines were filled under, and is empty
 * when that has changed. So nobody writes to another CPU's cache, and a release
 * costs the other lines nothing but those of its own set.
 *
 * A release:	take the region out of the table, full barrier (G), count, then
 *		advance the epoch (engine/epoch.h, C and D or F)
 * A look-up:	read the counter with acquire (H), then the line; on a miss the
 *		table, and the line is filled under the counter that was read
 *		before the table
 *
 * A and C of engine/epoch.h: a run of the new epoch reads the new counter, so
 * what was filled under the old one is no hit after the advance. Runs of the old
 * epoch may hit, the release waits for them. G and H: what was filled under the
 * new counter was read from the table when the region was gone already. This
 * holds also for a line that is filled outside of a run, ahead of one.
 *
 * Line states
 *	VALID	the tag counts
 *	PENDING	the table is being asked; a look-up of this index misses, and all
 *		other lines, of this set too, answer meanwhile
 *	PRESENT	the table's answer is there
 *	LOCKED	fetched ahead of use and not used yet: not to be replaced
 *
 * A miss costs more than the table alone. So a cache that was asked for more
 * regions than it can hold rests for a while: its owner uses the table alone.
 */
#ifndef CAIRN_ENGINE_MRCACHE_H
#define CAIRN_ENGINE_MRCACHE_H

#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/types.h>
#include "engine/epoch.h"

#define CAIRN_MRCACHE_WAYS	4

enum cairn_mrcache_state {
	CAIRN_MRCACHE_VALID = 1 << 0,
	CAIRN_MRCACHE_PENDING = 1 << 1,
	CAIRN_MRCACHE_PRESENT = 1 << 2,
	CAIRN_MRCACHE_LOCKED = 1 << 3,
};

/* One cache line of the CPU (64 bit). */
struct cairn_mrcache_set {
	unsigned long released;		/* as the lines were filled */
	void *mr[CAIRN_MRCACHE_WAYS];
	u32 tag[CAIRN_MRCACHE_WAYS];	/* MR index */
	u8 state[CAIRN_MRCACHE_WAYS];	/* enum cairn_mrcache_state */
	u32 victim;			/* the way to replace next, or one behind */
} ____cacheline_aligned;

struct cairn_mrcache {
	struct cairn_mrcache_set *set;
	const unsigned long *released;	/* of the device, one for each set */
	u32 mask;			/* sets - 1, a power of two less one */
	u32 resting;			/* look-ups that are left to the table */
	u32 misses;			/* since it was judged last */
	u64 hits;
};

/* For so many look-ups. */
#define CAIRN_MRCACHE_REST	BIT(20)
/* What is found in the cache for each miss, at least, or it does not pay. */
#define CAIRN_MRCACHE_PAYS	3

/* What a miss found. */
enum cairn_mrcache_asked {
	CAIRN_MRCACHE_NO_LINE,	/* none may be replaced: use the table alone */
	CAIRN_MRCACHE_FREE,	/* pending, in a line that was empty */
	CAIRN_MRCACHE_EVICTED,	/* pending, in the line of another region */
};

/* The four lines were filled before a release of their set. */
void cairn_mrcache_renew(struct cairn_mrcache_set *set, unsigned long released);

/**
 * cairn_mrcache_find() - look for a region
 * @cache: the caller's own cache
 * @index: of the MR table
 *
 * A line that was fetched ahead is used now: it is not locked any more.
 *
 * Context: in a run.
 * Return: what the table said, or NULL: a miss.
 */
static inline void *cairn_mrcache_find(struct cairn_mrcache *cache, u32 index)
{
	u32 slot = index & cache->mask, way;
	struct cairn_mrcache_set *set = &cache->set[slot];
	unsigned long released = cairn_epoch_acquire(&cache->released[slot]);	/* H */

	if (unlikely(set->released != released)) {
		cairn_mrcache_renew(set, released);
		return NULL;
	}
	for (way = 0; way < CAIRN_MRCACHE_WAYS; way++) {
		if (set->tag[way] != index ||
		    !(set->state[way] & CAIRN_MRCACHE_PRESENT))
			continue;
		if (set->state[way] & CAIRN_MRCACHE_LOCKED)
			set->state[way] &= ~CAIRN_MRCACHE_LOCKED;
		cache->hits++;
		return set->mr[way];
	}
	return NULL;
}

/**
 * cairn_mrcache_rests() - is this look-up the table's alone?
 * @cache: the caller's own cache
 *
 * Asked before each cairn_mrcache_find().
 */
static inline bool cairn_mrcache_rests(struct cairn_mrcache *cache)
{
	if (likely(!cache->resting))
		return false;
	cache->resting--;
	return true;
}

/**
 * cairn_mrcache_missed() - a region was not there, when it was looked up or
 * fetched ahead
 * @cache: the caller's own cache
 *
 * Judged after twice as many misses as there are lines: the first use of each
 * region says nothing.
 *
 * Return: true when the cache begins to rest.
 */
static inline bool cairn_mrcache_missed(struct cairn_mrcache *cache)
{
	u32 lines = (cache->mask + 1) * CAIRN_MRCACHE_WAYS;
	bool pays;

	if (++cache->misses < 2 * lines)
		return false;
	pays = cache->hits >= (u64)CAIRN_MRCACHE_PAYS * cache->misses;
	cache->hits = 0;
	cache->misses = 0;
	if (!pays)
		cache->resting = CAIRN_MRCACHE_REST;
	return !pays;
}

/**
 * cairn_mrcache_has() - is it there already, or pending?
 * @cache: the caller's own cache
 * @index: of the MR table
 *
 * Context: also outside of a run; nothing is used by this.
 */
bool cairn_mrcache_has(struct cairn_mrcache *cache, u32 index);

/**
 * cairn_mrcache_ask() - begin to fill a line
 * @cache: the caller's own cache
 * @index: just missed, or not there
 * @ahead: the region is to be used soon, not now: the line is locked
 *
 * Next the caller asks the table, and tells cairn_mrcache_fill() if the result is
 * one of the last two. An empty line is taken first, else the ways of a set in
 * turn, locked and pending ones passed over. A set full of them lets its locks
 * go (what was fetched ahead was not needed), unless @ahead, and takes nothing.
 */
enum cairn_mrcache_asked cairn_mrcache_ask(struct cairn_mrcache *cache,
					   u32 index, bool ahead);

/**
 * cairn_mrcache_fill() - the table has answered
 * @cache: the caller's own cache
 * @index: of cairn_mrcache_ask()
 * @mr: what the table said; NULL: nothing, the line is empty again
 *
 * Nothing happens when the set was renewed meanwhile.
 */
void cairn_mrcache_fill(struct cairn_mrcache *cache, u32 index, void *mr);

/**
 * cairn_mrcache_release() - a region left the table
 * @released: the device's counters
 * @mask: of its caches
 * @index: of the region; counters of a set are written by one at a time
 *
 * After this, the advance of the epoch.
 */
static inline void cairn_mrcache_release(unsigned long *released, u32 mask,
					 u32 index)
{
	unsigned long *count = &released[index & mask];

	cairn_epoch_mb();		/* G */
	cairn_epoch_write(count, cairn_epoch_read(count) + 1);
}

#endif
