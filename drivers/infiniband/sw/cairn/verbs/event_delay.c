// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/minmax.h>
#include <linux/time64.h>
#include "verbs/event_delay.h"

/* Bounds of an event that waits for a lazy thread. A train has as many messages. */
#define DELAY_LAZY_COUNT	64U
#define DELAY_LAZY_NS		NSEC_PER_MSEC
#define DELAY_LAZY_FEW		8
#define DELAY_EAGER_SHIFT	7

u64 cairn_event_delay_ns(const struct cairn_event_delay *delay)
{
	return delay->us ? delay->us * NSEC_PER_USEC : DELAY_LAZY_NS;
}

bool cairn_event_set(struct cairn_event_delay *delay, u16 count, u16 us)
{
	delay->count = count;
	delay->us = count > 1 ? us : 0;
	return cairn_event_is_lazy(delay);
}

/* A delay for a lazy thread ends. @late: by its time */
static void delay_learn(struct cairn_event_delay *delay, u64 now, bool late)
{
	if (delay->held >= DELAY_LAZY_FEW) {
		delay->eager_shift = 0;
	} else if (late) {
		delay->eager_until = now + (DELAY_LAZY_NS << delay->eager_shift);
		delay->eager_shift = min(delay->eager_shift + 1, DELAY_EAGER_SHIFT);
	}
}

bool cairn_event_end(struct cairn_event_delay *delay, u64 now, bool late)
{
	bool held = delay->held;

	if (cairn_event_is_lazy(delay))
		delay_learn(delay, now, late);
	delay->held = 0;
	return held;
}

/* How many entries an event may be delayed for; below 2: it is not delayed. */
static u32 delay_count(const struct cairn_event_delay *delay, u64 now, u32 lazy)
{
	if (delay->us)
		return delay->count;
	/* eager_until does not change during a delay */
	if (!delay->held && now < delay->eager_until)
		return 0;
	return min(lazy, DELAY_LAZY_COUNT);
}

enum cairn_event_verdict cairn_event_entry(struct cairn_event_delay *delay, u64 now,
					   bool at_once, u32 lazy)
{
	if (at_once || delay->held + 1 >= delay_count(delay, now, lazy)) {
		cairn_event_end(delay, now, false);
		return CAIRN_EVENT_NOW;
	}
	return delay->held++ ? CAIRN_EVENT_WAITS : CAIRN_EVENT_BEGINS;
}
