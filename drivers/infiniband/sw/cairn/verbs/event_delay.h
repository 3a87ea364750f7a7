/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which completion events are delayed, and for how long: the rules and their state, without
 * the CQ, its lock and its timer (verbs/moderate.c).
 *
 * A CQ that is moderated delays an event for a number of entries or a time. One that is not
 * delays it for a lazy thread (lane/lazy.h), 64 entries or 1 ms. If fewer than 8 entries came
 * in that time, the process that posts may wait for the one that the event wakes up: events
 * do not wait for 1 ms then, doubled each time up to 128 ms, until 8 entries come during a
 * delay. Errors and solicited completions are not delayed and end a delay.
 *
 * Context: any; the caller serialises the calls for one struct.
 */
#ifndef CAIRN_VERBS_EVENT_DELAY_H
#define CAIRN_VERBS_EVENT_DELAY_H

#include <linux/types.h>

struct cairn_event_delay {
	u16 count;		/* moderation: an event is delayed for this many entries */
	u16 us;			/* or this long, microseconds; 0: no moderation */
	u16 held;		/* entries since the delay began; 0: no event is delayed */
	u8 eager_shift;		/* of the next time without delays, 0 to 7 */
	u64 eager_until;	/* events do not wait for a lazy thread before, ns */
};

enum cairn_event_verdict {
	CAIRN_EVENT_NOW,	/* raise it */
	CAIRN_EVENT_BEGINS,	/* delay it: start a timer of cairn_event_delay_ns() */
	CAIRN_EVENT_WAITS,	/* it is delayed already */
};

/* Is an event delayed for a lazy thread? */
static inline bool cairn_event_is_lazy(const struct cairn_event_delay *delay)
{
	return delay->held && !delay->us;
}

/* The longest time that a delay takes, ns. */
u64 cairn_event_delay_ns(const struct cairn_event_delay *delay);

/**
 * cairn_event_set() - moderate or do not moderate
 * @delay: the state
 * @count: number of entries that an event waits for; below 2: no moderation
 * @us: the longest wait, microseconds; 0: no moderation
 *
 * Return: whether an event is delayed that the caller has to start a timer of
 * cairn_event_delay_ns() for.
 */
bool cairn_event_set(struct cairn_event_delay *delay, u16 count, u16 us);

/**
 * cairn_event_entry() - an entry was added that the consumer asked an event for
 * @delay: the state
 * @now: ns; not read while an event is delayed
 * @at_once: it has an error or is solicited
 * @lazy: number of entries that an event may wait for a lazy thread; 0: none
 *
 * Return: what to do with the event. CAIRN_EVENT_NOW ends a delay.
 */
enum cairn_event_verdict cairn_event_entry(struct cairn_event_delay *delay, u64 now,
					   bool at_once, u32 lazy);

/* The lazy thread or, if @late, the timer ends a delay. @now: ns
 * Return: whether an event was delayed.
 */
bool cairn_event_end(struct cairn_event_delay *delay, u64 now, bool late);

#endif
