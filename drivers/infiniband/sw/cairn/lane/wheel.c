// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include "lane/wheel.h"

/* The shift of a time to a slot of @level. */
static u32 wheel_shift(u32 level)
{
	return CAIRN_WHEEL_SHIFT + level * CAIRN_WHEEL_FACTOR;
}

void cairn_wheel_init(struct cairn_wheel *wheel, u64 now)
{
	u32 level, i;

	wheel->seen = now;
	wheel->levels = 0;
	for (level = 0; level < CAIRN_WHEEL_LEVELS; level++) {
		wheel->used[level] = 0;
		for (i = 0; i < CAIRN_WHEEL_SLOTS; i++)
			INIT_LIST_HEAD(&wheel->slot[level][i]);
	}
}

/* The finest level that has a slot for @expires, which is after wheel->seen. */
static u32 wheel_level(const struct cairn_wheel *wheel, u64 expires)
{
	u32 bits = fls64((expires - wheel->seen) >> CAIRN_WHEEL_SHIFT);
	u32 slot_bits = ilog2(CAIRN_WHEEL_SLOTS);

	if (bits <= slot_bits)
		return 0;
	return min_t(u32, DIV_ROUND_UP(bits - slot_bits, CAIRN_WHEEL_FACTOR),
		     CAIRN_WHEEL_LEVELS - 1);
}

u64 cairn_wheel_add(struct cairn_wheel *wheel, struct cairn_wheel_entry *entry,
		    u64 expires)
{
	u64 late = max(expires, wheel->seen + 1), number, first;
	u32 level = wheel_level(wheel, late), shift = wheel_shift(level), i;

	if (!level)
		late += BIT_ULL(CAIRN_WHEEL_SHIFT) - 1;
	number = late >> shift;
	first = (wheel->seen >> shift) + 1;
	number = clamp(number, first, first + CAIRN_WHEEL_SLOTS - 1);
	i = number % CAIRN_WHEEL_SLOTS;
	entry->expires = expires;
	list_add_tail(&entry->list, &wheel->slot[level][i]);
	wheel->used[level] |= BIT_ULL(i);
	wheel->levels |= BIT(level);
	return number << shift;
}

/* The first slot of @level that has entries. Return: when it begins, 0: none has any. */
static u64 wheel_first_slot(struct cairn_wheel *wheel, u32 level)
{
	u64 first = (wheel->seen >> wheel_shift(level)) + 1;
	u32 turn = first % CAIRN_WHEEL_SLOTS, ahead;

	while (wheel->used[level]) {
		ahead = __ffs64(ror64(wheel->used[level], turn));
		if (!list_empty(&wheel->slot[level][(turn + ahead) %
						    CAIRN_WHEEL_SLOTS]))
			return (first + ahead) << wheel_shift(level);
		wheel->used[level] &= ~BIT_ULL((turn + ahead) %
					       CAIRN_WHEEL_SLOTS);
	}
	wheel->levels &= ~BIT(level);
	return 0;
}

/* The slot that begins first. @level gets its level. Return: when, 0: the wheel is empty. */
static u64 wheel_first(struct cairn_wheel *wheel, u32 *level)
{
	u32 left = wheel->levels, i;
	u64 first = 0, begin;

	for (; left; left &= left - 1) {
		i = __ffs(left);
		begin = wheel_first_slot(wheel, i);
		if (begin && (!first || begin < first)) {
			first = begin;
			*level = i;
		}
	}
	return first;
}

u64 cairn_wheel_next(struct cairn_wheel *wheel)
{
	u32 level;

	return wheel_first(wheel, &level);
}

struct cairn_wheel_entry *cairn_wheel_take(struct cairn_wheel *wheel, u64 now,
					   u32 *looks)
{
	struct cairn_wheel_entry *entry;
	struct list_head *slot;
	u32 level = 0;
	u64 begin;

	while (*looks) {
		begin = wheel_first(wheel, &level);
		if (!begin || begin > now) {
			wheel->seen = max(wheel->seen, now);
			return NULL;
		}
		--*looks;
		/* The slot stays ahead of seen until it is empty. */
		wheel->seen = begin - 1;
		slot = &wheel->slot[level][(begin >> wheel_shift(level)) %
					   CAIRN_WHEEL_SLOTS];
		entry = list_first_entry(slot, struct cairn_wheel_entry, list);
		prefetchw(entry->list.next);
		list_del_init(&entry->list);
		if (entry->expires <= now)
			return entry;
		cairn_wheel_add(wheel, entry, entry->expires);
	}
	return NULL;
}
