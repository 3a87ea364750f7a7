// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ktime.h>
#include <linux/minmax.h>
#include "verbs/event.h"

/* Events in a row, after a pause. */
#define EVENT_ROW	8

void cairn_event_init(struct cairn_events *events)
{
	spin_lock_init(&events->lock);
}

u64 cairn_event_wait(struct cairn_events *events)
{
	u64 cost = (1 + (u64)atomic_read(&events->contexts)) * NSEC_PER_MSEC;
	u64 now = ktime_get_ns(), paid, soonest;

	spin_lock(&events->lock);
	paid = max(events->paid, now);
	soonest = paid - min(paid, (EVENT_ROW - 1) * cost);
	if (soonest <= now)
		events->paid = paid + cost;
	spin_unlock(&events->lock);
	return soonest <= now ? 0 : soonest - now;
}
