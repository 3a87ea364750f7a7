// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Slots of a lane's scheduler: many small owners leave room for others. */
#include <stdlib.h>
#include "engine/slots.h"
#include "ktap.h"

#define WORDS	512
#define SLOTS	(WORDS * 64)

static struct cairn_slots slots;
static void *mem;
static u8 taken[SLOTS];

static void slots_begin(void)
{
	mem = calloc(1, cairn_slots_bytes(WORDS));
	ktap_ok(mem);
	cairn_slots_init(&slots, WORDS, mem);
	memset(taken, 0, sizeof(taken));
}

static u32 slots_take(void)
{
	u32 slot = cairn_slots_take(&slots);

	if (slot != CAIRN_SCHED_NONE) {
		ktap_ok(slot < SLOTS && !taken[slot]);
		taken[slot] = 1;
	}
	return slot;
}

static u32 take_word(void)
{
	u32 word = cairn_slots_take_word(&slots), i;

	for (i = 0; word != CAIRN_SCHED_NONE && i < 64; i++) {
		ktap_ok(!taken[word * 64 + i]);
		taken[word * 64 + i] = 1;
	}
	return word;
}

static bool slots_put(u32 slot)
{
	taken[slot] = 0;
	return cairn_slots_put(&slots, slot);
}

static void put_word(u32 word)
{
	memset(taken + 64 * word, 0, 64);
	cairn_slots_put_word(&slots, word);
}

/* An owner each: all slots can be had, and half of them leave half the words. */
static void small_owners(void)
{
	u32 n;

	slots_begin();
	for (n = 0; n < SLOTS / 2; n++)
		ktap_ok(slots_take() != CAIRN_SCHED_NONE);
	for (n = 0; take_word() != CAIRN_SCHED_NONE; n++)
		;
	ktap_eq(n, WORDS / 2);
	ktap_eq(slots_take(), CAIRN_SCHED_NONE);
	for (n = WORDS / 2; n < WORDS; n++)
		put_word(n);
	for (n = SLOTS / 2; n < SLOTS; n++)
		ktap_ok(slots_take() != CAIRN_SCHED_NONE);
	ktap_eq(slots_take(), CAIRN_SCHED_NONE);
	ktap_eq(take_word(), CAIRN_SCHED_NONE);
	free(mem);
}

/* A word whose slots have all been returned may go to any owner. */
static void words_come_back(void)
{
	u32 n, freed = 0;

	slots_begin();
	for (n = 0; n < SLOTS; n++)
		slots_take();
	for (n = 0; n < SLOTS; n += 2)
		freed += slots_put(n);
	ktap_eq(freed, 0);
	for (n = 1; n < SLOTS; n += 2)
		freed += slots_put(n);
	ktap_eq(freed, WORDS);
	for (n = 0; n < WORDS; n++)
		ktap_ok(take_word() != CAIRN_SCHED_NONE);
	ktap_eq(slots_take(), CAIRN_SCHED_NONE);
	free(mem);
}

/* In any order, nothing is given twice and nothing is lost. */
static void at_random(void)
{
	static u32 slot[SLOTS], word[WORDS];
	u32 num_slots = 0, num_words = 0, i, n;

	slots_begin();
	for (i = 0; i < 200000; i++) {
		switch (ktap_rand_below(num_slots > SLOTS / 3 ? 6 : 4)) {
		case 0:
			n = take_word();
			if (n != CAIRN_SCHED_NONE)
				word[num_words++] = n;
			break;
		case 1:
			if (!num_words)
				break;
			n = ktap_rand_below(num_words);
			put_word(word[n]);
			word[n] = word[--num_words];
			break;
		case 2:
		case 3:
			n = slots_take();
			if (n != CAIRN_SCHED_NONE)
				slot[num_slots++] = n;
			break;
		default:
			n = ktap_rand_below(num_slots);
			slots_put(slot[n]);
			slot[n] = slot[--num_slots];
		}
	}
	while (num_slots)
		slots_put(slot[--num_slots]);
	while (num_words)
		put_word(word[--num_words]);
	for (n = 0; take_word() != CAIRN_SCHED_NONE; n++)
		;
	ktap_eq(n, WORDS);
	free(mem);
}

static const struct ktap_test tests[] = {
	KTAP(small_owners),
	KTAP(words_come_back),
	KTAP(at_random),
};

KTAP_MAIN(tests)
