// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include "queue/qicache.h"

/* A word: queue + 1 (0: free), the mark, and the pointer. */
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

void cairn_qicache_init(struct cairn_qicache *c, u32 sets, atomic64_t *mem)
{
	c->word = mem;
	c->sets = sets;
}

static atomic64_t *find_set(const struct cairn_qicache *c, u32 key)
{
	/* Numbers are dense, so neighbours are in different sets. */
	return &c->word[(key & (c->sets - 1)) * CAIRN_QI_WAYS];
}

static bool is_of(u64 word, u32 key)
{
	return word >> QUEUE_SHIFT == (u64)key + 1;
}

/* The word of @key and what it holds, or NULL. */
static atomic64_t *find(const struct cairn_qicache *c, u32 key, u64 *word)
{
	atomic64_t *set;
	u32 i;

	if (!c->sets)
		return NULL;
	set = find_set(c, key);
	for (i = 0; i < CAIRN_QI_WAYS; i++) {
		*word = atomic64_read(&set[i]);
		if (is_of(*word, key))
			return &set[i];
	}
	return NULL;
}

static bool change(atomic64_t *w, u64 from, u64 to)
{
	return atomic64_cmpxchg(w, from, to) == (s64)from;
}

void cairn_qicache_drop(struct cairn_qicache *c, u32 key)
{
	atomic64_t *w;
	u64 word;

	/* Once more when the marks were just being removed. */
	while ((w = find(c, key, &word)) && !change(w, word, 0))
		;
}

/* The way that a new entry takes, and what is in it. */
static atomic64_t *victim(atomic64_t *set, u64 *word)
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
		change(&set[i], *word, *word & ~USED);
	}
	*word = atomic64_read(&set[0]);
	return &set[0];
}

/* Returns the queues that were evicted. */
static int put(struct cairn_qicache *c, u32 key, u32 ptr)
{
	u64 word, mine = (u64)(key + 1) << QUEUE_SHIFT | USED | ptr;
	atomic64_t *w;

	if (!c->sets)
		return 0;
	/* An entry of this queue must not fall behind. */
	while ((w = find(c, key, &word)))
		if (word == mine || change(w, word, mine))
			return 0;
	w = victim(find_set(c, key), &word);
	return change(w, word, mine) && word;
}

static bool possible(const struct cairn_qi_range *g, u32 ptr)
{
	return ptr - g->read <= g->depth;
}

/* Is @a, in the range, newer than @b, in the range? */
static bool newer(const struct cairn_qi_range *g, u32 a, u32 b)
{
	return a - g->read > b - g->read;
}

bool cairn_qi_cached(struct cairn_qicache *c, u32 key,
		     const struct cairn_qi_range *g, u32 *ptr)
{
	atomic64_t *w;
	u64 word;

	w = find(c, key, &word);
	if (!w || !possible(g, word) || !newer(g, word, g->known))
		return false;
	if (!(word & USED))
		change(w, word, word | USED);
	*ptr = word;
	return true;
}

int cairn_qi_newest(struct cairn_qicache *c, u32 key,
		    const struct cairn_qi_range *g, u32 host,
		    struct cairn_qi_rung rung, u32 *ptr)
{
	u32 best = g->known;

	if (!possible(g, host))
		return -EINVAL;
	if (newer(g, host, best))
		best = host;
	if (rung.valid && possible(g, rung.ptr)) {
		if (newer(g, rung.ptr, best))
			best = rung.ptr;
	} else if (rung.valid && (s32)(rung.ptr - g->read) > 0) {
		return -EINVAL;
	}
	*ptr = best;
	return put(c, key, best);
}
