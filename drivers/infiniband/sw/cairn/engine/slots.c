// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/slots.h"

#define SLOTS_ALL	(~0ULL)

size_t cairn_slots_bytes(u32 words)
{
	return cairn_sched_bytes(words) + cairn_sched_bytes(words * 64);
}

void cairn_slots_init(struct cairn_slots *slots, u32 words, void *mem)
{
	u32 i;

	cairn_sched_init(&slots->whole, words, mem);
	cairn_sched_init(&slots->loose, words * 64,
			 (u8 *)mem + cairn_sched_bytes(words));
	for (i = 0; i < words; i++)
		cairn_sched_set(&slots->whole, i);
}

/* Take the lowest marked bit and clear it. The lowest keeps the number of words in use
 * small.
 */
static u32 slots_take_first(struct cairn_sched *sched)
{
	u32 i;

	sched->cursor = 0;
	i = cairn_sched_next(sched);
	if (i != CAIRN_SCHED_NONE)
		cairn_sched_clear(sched, i);
	return i;
}

u32 cairn_slots_take_word(struct cairn_slots *slots)
{
	return slots_take_first(&slots->whole);
}

void cairn_slots_put_word(struct cairn_slots *slots, u32 word)
{
	cairn_sched_set(&slots->whole, word);
}

u32 cairn_slots_take(struct cairn_slots *slots)
{
	u32 slot = slots_take_first(&slots->loose), word;

	if (slot != CAIRN_SCHED_NONE)
		return slot;
	word = cairn_slots_take_word(slots);
	if (word == CAIRN_SCHED_NONE)
		return CAIRN_SCHED_NONE;
	cairn_sched_mark(&slots->loose, word, SLOTS_ALL);
	return slots_take_first(&slots->loose);
}

bool cairn_slots_put(struct cairn_slots *slots, u32 slot)
{
	u32 word = slot / 64, i;

	cairn_sched_set(&slots->loose, slot);
	if ((u64)atomic64_read(&slots->loose.level[0][word]) != SLOTS_ALL)
		return false;
	for (i = 0; i < 64; i++)
		cairn_sched_clear(&slots->loose, word * 64 + i);
	cairn_slots_put_word(slots, word);
	return true;
}
