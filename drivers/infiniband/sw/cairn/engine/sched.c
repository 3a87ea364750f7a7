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

void cairn_sched_init(struct cairn_sched *s, u32 slots, void *mem)
{
	atomic64_t *words = mem;
	u32 l = 0;

	s->cursor = 0;
	do {
		s->bits[l] = slots;
		s->level[l] = words;
		slots = DIV_ROUND_UP(slots, WORD);
		words += slots;
		l++;
	} while (slots > 1);
	s->levels = l;
}

void cairn_sched_mark(struct cairn_sched *s, u32 word, u64 mask)
{
	u32 l;

	atomic64_fetch_or(mask, &s->level[0][word]);
	/* To the top each time: whoever set a bit here first may not have come
	 * to the levels above yet.
	 */
	for (l = 1; l < s->levels; l++) {
		s64 bit = 1ULL << word % WORD;

		word /= WORD;
		if (!(atomic64_read(&s->level[l][word]) & bit))
			atomic64_fetch_or(bit, &s->level[l][word]);
	}
}

/* Clear bit @i of level @l, then those above that have nothing below. */
static void clear_up(struct cairn_sched *s, u32 l, u32 i)
{
	for (;; l++) {
		atomic64_t *word = &s->level[l][i / WORD];
		s64 bit = 1ULL << i % WORD;

		atomic64_fetch_andnot(bit, word);
		/* Marked below meanwhile? Pairs with cairn_sched_mark(). */
		if (l && atomic64_read(&s->level[l - 1][i])) {
			atomic64_fetch_or(bit, word);
			return;
		}
		if (l + 1 == s->levels || atomic64_read(word))
			return;
		i /= WORD;
	}
}

void cairn_sched_clear(struct cairn_sched *s, u32 slot)
{
	clear_up(s, 0, slot);
}

/* First bit of level @l from bit @i on that is set, within the word of @i. */
static bool first_in_word(const struct cairn_sched *s, u32 l, u32 i, u32 *found)
{
	u64 bits = atomic64_read(&s->level[l][i / WORD]) & ~0ULL << i % WORD;

	if (!bits)
		return false;
	*found = round_down(i, WORD) + __ffs64(bits);
	return true;
}

/* The level and the bit where something is marked at or after @slot. */
static bool climb(const struct cairn_sched *s, u32 slot, u32 *l, u32 *i)
{
	*i = slot;
	for (*l = 0; *l < s->levels; (*l)++) {
		if (*i >= s->bits[*l])
			return false;
		if (first_in_word(s, *l, *i, i))
			return true;
		*i = *i / WORD + 1;
	}
	return false;
}

static u32 find(struct cairn_sched *s, u32 from)
{
	u32 l, i;

again:
	if (!climb(s, from, &l, &i))
		return CAIRN_SCHED_NONE;
	while (l) {
		if (!first_in_word(s, l - 1, i * WORD, &i)) {
			clear_up(s, l, i);	/* left over */
			goto again;
		}
		l--;
	}
	return i;
}

u32 cairn_sched_next(struct cairn_sched *s)
{
	u32 slot = find(s, s->cursor);

	if (slot == CAIRN_SCHED_NONE && s->cursor)
		slot = find(s, 0);
	if (slot != CAIRN_SCHED_NONE)
		s->cursor = slot + 1;
	return slot;
}
