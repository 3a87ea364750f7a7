// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bitops.h>
#include <linux/math.h>
#include "engine/sched.h"

#define WORD	64

size_t cairn_sched_bytes(u32 slots)
{
	size_t words = 0;

	do {
		slots = DIV_ROUND_UP(slots, WORD);
		words += slots;
	} while (slots > 1);
	return words * sizeof(atomic64_t);
}

void cairn_sched_init(struct cairn_sched *sched, u32 slots, void *mem)
{
	atomic64_t *words = mem;
	u32 level = 0;

	sched->cursor = 0;
	do {
		sched->bits[level] = slots;
		sched->level[level] = words;
		slots = DIV_ROUND_UP(slots, WORD);
		words += slots;
		level++;
	} while (slots > 1);
	sched->levels = level;
}

void cairn_sched_mark(struct cairn_sched *sched, u32 word, u64 mask)
{
	u32 level;

	atomic64_fetch_or(mask, &sched->level[0][word]);
	/* Always go to the top: another CPU may have set this bit, but not those of
	 * the levels above yet.
	 */
	for (level = 1; level < sched->levels; level++) {
		s64 bit = 1ULL << word % WORD;

		word /= WORD;
		/* Acquire: the levels are read upwards, also those that another CPU sets.
		 * Pairs with sched_clear_up(), which clears them upwards.
		 */
		if (!(atomic64_read_acquire(&sched->level[level][word]) & bit))
			atomic64_fetch_or(bit, &sched->level[level][word]);
	}
}

/* Clear bit @i of level @level, then the bits above that have no bit below. */
static void sched_clear_up(struct cairn_sched *sched, u32 level, u32 i)
{
	for (;; level++) {
		atomic64_t *word = &sched->level[level][i / WORD];
		s64 bit = 1ULL << i % WORD;

		atomic64_fetch_andnot(bit, word);
		/* A full barrier. Set it again if the word below was marked meanwhile. Pairs
		 * with cairn_sched_mark().
		 */
		if (level && atomic64_read(&sched->level[level - 1][i])) {
			atomic64_fetch_or(bit, word);
			return;
		}
		if (level + 1 == sched->levels || atomic64_read(word))
			return;
		i /= WORD;
	}
}

void cairn_sched_clear(struct cairn_sched *sched, u32 slot)
{
	sched_clear_up(sched, 0, slot);
}

/* Find the first set bit of level @level from bit @i on, within the word of @i. */
static bool sched_first_in_word(const struct cairn_sched *sched, u32 level,
				u32 i, u32 *found)
{
	u64 bits = atomic64_read(&sched->level[level][i / WORD]) &
		   ~0ULL << i % WORD;

	if (!bits)
		return false;
	*found = round_down(i, WORD) + __ffs64(bits);
	return true;
}

/* Find the lowest level with a set bit at or after @slot. */
static bool sched_climb(const struct cairn_sched *sched, u32 slot, u32 *level,
			u32 *i)
{
	*i = slot;
	for (*level = 0; *level < sched->levels; (*level)++) {
		if (*i >= sched->bits[*level])
			return false;
		if (sched_first_in_word(sched, *level, *i, i))
			return true;
		*i = *i / WORD + 1;
	}
	return false;
}

static u32 sched_find(struct cairn_sched *sched, u32 from)
{
	u32 level, i;

again:
	if (!sched_climb(sched, from, &level, &i))
		return CAIRN_SCHED_NONE;
	while (level) {
		if (!sched_first_in_word(sched, level - 1, i * WORD, &i)) {
			sched_clear_up(sched, level, i);	/* stale */
			goto again;
		}
		level--;
	}
	return i;
}

u32 cairn_sched_next(struct cairn_sched *sched)
{
	u32 slot = sched_find(sched, sched->cursor);

	if (slot == CAIRN_SCHED_NONE && sched->cursor)
		slot = sched_find(sched, 0);
	if (slot != CAIRN_SCHED_NONE)
		sched->cursor = slot + 1;
	return slot;
}
