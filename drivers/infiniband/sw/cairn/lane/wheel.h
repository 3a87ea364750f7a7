/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The timer wheel of a lane, for millions of deadlines: adding, removing and expiring
 * one costs the same for any number of others (origins.rst, F3).
 *
 * Each level has 64 slots. A slot of level 0 is 1024 ns wide, those of each further level
 * are eight times as wide. A deadline goes to the finest level that reaches it, so the
 * width of its slot is an eighth of the time to it at most. It goes to the slot that it
 * lies in, and the slot is looked at when it begins. A deadline that lies behind the
 * beginning moves to a finer level then. Deadlines that are rounded to an eighth of the
 * time to them, as those of cairn_req_expiry(), lie at the beginning and never move.
 * On level 0 a deadline is rounded up to the beginning of a slot.
 *
 * Not atomic: the owner holds its lock.
 */
#ifndef CAIRN_LANE_WHEEL_H
#define CAIRN_LANE_WHEEL_H

#include <linux/list.h>
#include <linux/types.h>

#define CAIRN_WHEEL_LEVELS	12	/* 6 days */
#define CAIRN_WHEEL_SLOTS	64
#define CAIRN_WHEEL_SHIFT	10	/* a slot of level 0 has 2^10 ns */
#define CAIRN_WHEEL_FACTOR	3	/* each level: 2^3 times as many */

struct cairn_wheel_entry {
	struct list_head list;	/* empty: not in the wheel */
	u64 expires;		/* CLOCK_MONOTONIC, ns */
};

struct cairn_wheel {
	u64 seen;		/* all slots that begin at or before it are empty */
	u32 levels;		/* a bit for each level that may have entries */
	u64 used[CAIRN_WHEEL_LEVELS];	/* a bit for each slot that may have some */
	struct list_head slot[CAIRN_WHEEL_LEVELS][CAIRN_WHEEL_SLOTS];
};

/* @now: CLOCK_MONOTONIC, ns. */
void cairn_wheel_init(struct cairn_wheel *wheel, u64 now);

static inline void cairn_wheel_init_entry(struct cairn_wheel_entry *entry)
{
	INIT_LIST_HEAD(&entry->list);
}

/**
 * cairn_wheel_add() - add an entry
 * @wheel: the wheel
 * @entry: not in the wheel
 * @expires: CLOCK_MONOTONIC, ns
 *
 * Return: when the wheel has to look at the entry, ns: at most 1023 ns after @expires.
 */
u64 cairn_wheel_add(struct cairn_wheel *wheel, struct cairn_wheel_entry *entry,
		    u64 expires);

static inline void cairn_wheel_remove(struct cairn_wheel_entry *entry)
{
	list_del_init(&entry->list);
}

/**
 * cairn_wheel_take() - take an entry that has expired
 * @wheel: the wheel
 * @now: CLOCK_MONOTONIC, ns; never decreases
 * @looks: entries that may be looked at; decreased
 *
 * Return: an entry, removed; NULL: none, or no looks are left.
 */
struct cairn_wheel_entry *cairn_wheel_take(struct cairn_wheel *wheel, u64 now,
					   u32 *looks);

/**
 * cairn_wheel_next() - when to call cairn_wheel_take() next
 * @wheel: the wheel
 *
 * Return: ns, at most 1023 ns after the earliest deadline; it may be before it, and in
 * the past. 0: the wheel is empty.
 */
u64 cairn_wheel_next(struct cairn_wheel *wheel);

#endif
