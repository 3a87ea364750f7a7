/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * MR cache: memory regions by index, in front of the table (origins.rst, S2). It has
 * four ways; the low bits of the index choose the set. It is read-only: a line holds
 * the table's answer, never a change.
 *
 * Each lane and each receiving CPU has its own cache, so that one owner at a time
 * writes a line. All caches of a device share one array of counters, one for each set:
 * the number of released regions of that set. A set remembers the counter under which
 * its lines were filled, and is empty when the counter has changed. So no CPU writes
 * to another CPU's cache, and a release empties only the lines of its own set.
 *
 * A release:	take the region out of the table, full barrier (G), count, then
 *		advance the epoch (engine/epoch.h, C and D or F)
 * A look-up:	read the counter with acquire (H), then the line; on a miss read
 *		the table, and fill the line under the counter that was read
 *		before the table
 *
 * A and C of engine/epoch.h: a run of the new epoch reads the new counter, so a line
 * that was filled under the old one is no hit after the advance. Runs of the old epoch
 * may hit; the release waits for them. G and H: a line that was filled under the new
 * counter was read from the table after the region had been removed. This also holds
 * for a line that is filled ahead of a run.
 *
 * Line states
 *	VALID	the tag is valid
 *	PENDING	the table is being read; a look-up of this index misses, and all
 *		other lines, even of this set, answer meanwhile.
 *	PRESENT	the line holds the table's answer.
 *	LOCKED	fetched ahead and not used yet: may not be replaced.
 *
 * A miss costs more than reading the table alone. So a cache that is asked for more
 * regions than it can hold rests for a while: its owner reads the table directly.
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
	unsigned long released;		/* counter when the lines were filled */
	void *mr[CAIRN_MRCACHE_WAYS];
	u32 tag[CAIRN_MRCACHE_WAYS];	/* MR index */
	u8 state[CAIRN_MRCACHE_WAYS];	/* enum cairn_mrcache_state */
	u32 victim;			/* next way to try to replace */
} ____cacheline_aligned;

struct cairn_mrcache {
	struct cairn_mrcache_set *set;
	const unsigned long *released;	/* of the device, one for each set */
	u32 mask;			/* sets - 1, a power of two less one */
	u32 resting;			/* look-ups until the rest ends */
	u32 misses;			/* since the cache was judged last */
	u64 hits;
};

/* Length of a rest, look-ups. */
#define CAIRN_MRCACHE_REST	BIT(20)
/* Hits for each miss that make the cache worthwhile. */
#define CAIRN_MRCACHE_PAYS	3

/* The place that cairn_mrcache_ask() found for a region. */
enum cairn_mrcache_asked {
	CAIRN_MRCACHE_NO_LINE,	/* no line may be replaced: use the table alone */
	CAIRN_MRCACHE_FREE,	/* a line that was empty; now pending */
	CAIRN_MRCACHE_EVICTED,	/* the line of another region; now pending */
};

/* Empty a set whose lines were filled before a release. */
void cairn_mrcache_renew(struct cairn_mrcache_set *set, unsigned long released);

/**
 * cairn_mrcache_find() - look for a region
 * @cache: the caller's own cache
 * @index: of the MR table
 *
 * A line that was fetched ahead is unlocked.
 *
 * Context: in a run.
 * Return: the table's answer; NULL: a miss.
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
 * cairn_mrcache_rests() - does the cache rest for this look-up?
 * @cache: the caller's own cache
 *
 * Called before each cairn_mrcache_find().
 */
static inline bool cairn_mrcache_rests(struct cairn_mrcache *cache)
{
	if (likely(!cache->resting))
		return false;
	cache->resting--;
	return true;
}

/**
 * cairn_mrcache_missed() - count a miss of a look-up or of a fetch ahead
 * @cache: the caller's own cache
 *
 * The cache is judged after twice as many misses as it has lines, since the first
 * use of a region always misses.
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
 * cairn_mrcache_has() - is a region present or pending?
 * @cache: the caller's own cache
 * @index: of the MR table
 *
 * Context: any, also outside of a run, as the line is not used.
 */
bool cairn_mrcache_has(struct cairn_mrcache *cache, u32 index);

/**
 * cairn_mrcache_ask() - begin to fill a line
 * @cache: the caller's own cache
 * @index: of a region that is not in the cache
 * @ahead: the region will be used later: the line is locked
 *
 * If the result is one of the last two, the caller then reads the table and calls
 * cairn_mrcache_fill(). An empty line is taken first, else the ways of the set in
 * turn; locked and pending ones are skipped. If all four are locked or pending, no
 * line is taken and, unless @ahead, all are unlocked, as the lines that were fetched
 * ahead were not needed.
 */
enum cairn_mrcache_asked cairn_mrcache_ask(struct cairn_mrcache *cache,
					   u32 index, bool ahead);

/**
 * cairn_mrcache_fill() - fill a line with the table's answer
 * @cache: the caller's own cache
 * @index: of cairn_mrcache_ask()
 * @mr: the table's answer; NULL: no region, the line becomes empty
 *
 * Does nothing if the set was renewed meanwhile.
 */
void cairn_mrcache_fill(struct cairn_mrcache *cache, u32 index, void *mr);

/**
 * cairn_mrcache_release() - count a region that was removed from the table
 * @released: the device's counters
 * @mask: of its caches
 * @index: of the region; the caller serialises releases
 *
 * The advance of the epoch follows.
 */
static inline void cairn_mrcache_release(unsigned long *released, u32 mask,
					 u32 index)
{
	unsigned long *count = &released[index & mask];

	cairn_epoch_mb();		/* G */
	cairn_epoch_write(count, cairn_epoch_read(count) + 1);
}

#endif
