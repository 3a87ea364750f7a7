// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include "queue/qicache.h"

/* A word: queue + 1 (0: free), the used mark, and the pointer. */
#define QUEUE_SHIFT	33
#define USED		BIT_ULL(32)

u32 cairn_qicache_sets(u32 entries)
{
	u32 sets = 1;

	entries = min_t(u32, entries, CAIRN_QI_MAX_ENTRIES);
	while (sets * CAIRN_QI_WAYS < entries)
		sets *= 2;
	return entries ? sets : 0;
}

void cairn_qicache_init(struct cairn_qicache *cache, u32 sets, atomic64_t *mem)
{
	cache->word = mem;
	cache->sets = sets;
}

static atomic64_t *qicache_set(const struct cairn_qicache *cache, u32 key)
{
	/* Keys are dense, so neighbours are in different sets. */
	return &cache->word[(key & (cache->sets - 1)) * CAIRN_QI_WAYS];
}

static bool qicache_is_of(u64 word, u32 key)
{
	return word >> QUEUE_SHIFT == (u64)key + 1;
}

/* The word of @key and what it holds, or NULL. */
static atomic64_t *qicache_find(const struct cairn_qicache *cache, u32 key,
				u64 *word)
{
	atomic64_t *set;
	u32 i;

	if (!cache->sets)
		return NULL;
	set = qicache_set(cache, key);
	for (i = 0; i < CAIRN_QI_WAYS; i++) {
		*word = atomic64_read(&set[i]);
		if (qicache_is_of(*word, key))
			return &set[i];
	}
	return NULL;
}

static bool qicache_change(atomic64_t *slot, u64 from, u64 to)
{
	return atomic64_cmpxchg(slot, from, to) == (s64)from;
}

void cairn_qicache_drop(struct cairn_qicache *cache, u32 key)
{
	atomic64_t *slot;
	u64 word;

	/* The exchange fails, and is repeated, while qicache_victim() clears marks. */
	while ((slot = qicache_find(cache, key, &word)) &&
	       !qicache_change(slot, word, 0))
		;
}

/* The way that a new entry takes; *@word is its present content. */
static atomic64_t *qicache_victim(atomic64_t *set, u64 *word)
{
	u32 i;

	for (i = 0; i < CAIRN_QI_WAYS; i++) {
		*word = atomic64_read(&set[i]);
		if (!*word)
			return &set[i];
	}
	for (i = 0; i < CAIRN_QI_WAYS; i++) {
		*word = atomic64_read(&set[i]);
		if (!(*word & USED))
			return &set[i];
	}
	for (i = 0; i < CAIRN_QI_WAYS; i++) {
		*word = atomic64_read(&set[i]);
		qicache_change(&set[i], *word, *word & ~USED);
	}
	*word = atomic64_read(&set[0]);
	return &set[0];
}

/* Return: queues that were evicted, 0 or 1. */
static int qicache_put(struct cairn_qicache *cache, u32 key, u32 ptr)
{
	u64 word, mine = (u64)(key + 1) << QUEUE_SHIFT | USED | ptr;
	atomic64_t *slot;

	if (!cache->sets)
		return 0;
	/* Replace an entry of this queue, so that no older one stays. */
	while ((slot = qicache_find(cache, key, &word)))
		if (word == mine || qicache_change(slot, word, mine))
			return 0;
	slot = qicache_victim(qicache_set(cache, key), &word);
	return qicache_change(slot, word, mine) && word;
}

static bool qicache_possible(const struct cairn_qi_range *range, u32 ptr)
{
	return ptr - range->read <= range->depth;
}

/* Is @a newer than @b? Both are in the range. */
static bool qicache_newer(const struct cairn_qi_range *range, u32 a, u32 b)
{
	return a - range->read > b - range->read;
}

bool cairn_qicache_seen(struct cairn_qicache *cache, u32 key,
			const struct cairn_qi_range *range, u32 *ptr)
{
	atomic64_t *slot;
	u64 word;

	slot = qicache_find(cache, key, &word);
	if (!slot || !qicache_possible(range, word) ||
	    !qicache_newer(range, word, range->known))
		return false;
	if (!(word & USED))
		qicache_change(slot, word, word | USED);
	*ptr = word;
	return true;
}

int cairn_qicache_newest(struct cairn_qicache *cache, u32 key,
			 const struct cairn_qi_range *range,
			 struct cairn_qi_told told, u32 *ptr)
{
	struct cairn_qi_rung rung = told.rung;
	u32 best = range->known;

	if (!qicache_possible(range, told.host))
		return -EINVAL;
	if (qicache_newer(range, told.host, best))
		best = told.host;
	if (rung.valid && qicache_possible(range, rung.ptr)) {
		if (qicache_newer(range, rung.ptr, best))
			best = rung.ptr;
	} else if (rung.valid && (s32)(rung.ptr - range->read) > 0) {
		return -EINVAL;
	}
	*ptr = best;
	return qicache_put(cache, key, best);
}
