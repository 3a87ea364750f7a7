// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rate arithmetic, see engine/rate.h. A byte takes 8000000 / kbps ns. */
/* clamp_t() of 6.6 wants build_bug.h. */
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "engine/rate.h"

#define NS_KBIT		8000000u	/* ns * kbit/s of a byte */
/* Bursts per second when no burst size was asked for (F5). */
#define BURSTS		1024

bool cairn_rate_check(const struct cairn_rate_limit *limit, u32 packet)
{
	if (!limit->kbps)
		return !limit->burst && !limit->typical;
	if (limit->kbps > CAIRN_MAX_RATE_LIMIT)
		return false;
	return !limit->burst ||
	       (limit->burst <= CAIRN_RATE_MAX_BURST &&
		limit->burst >= max_t(u32, packet, limit->typical));
}

u64 cairn_rate_ns(u32 kbps, u32 bytes)
{
	return div_u64((u64)bytes * NS_KBIT, kbps);
}

u32 cairn_rate_default_burst(u32 kbps, u32 packet)
{
	u32 bytes = div_u64((u64)kbps * 1000, 8 * BURSTS);

	return max(packet, min_t(u32, bytes, CAIRN_RATE_MAX_DEFAULT_BURST));
}

/* Convert unpaid time to the new rate; the unpaid bytes stay the same. */
static void rate_convert_debt(struct cairn_rate *rate, u32 kbps, u64 now)
{
	u64 debt;

	if (rate->next <= now)
		return;
	/* The debt is at most a burst at the old rate, so the product fits. */
	debt = min(rate->next - now,
		   cairn_rate_ns(rate->kbps, rate->burst) + 1);
	rate->next = now + div_u64(debt * rate->kbps, kbps);
}

void cairn_rate_set(struct cairn_rate *rate,
		    const struct cairn_rate_limit *limit, u32 packet, u64 now)
{
	u32 burst =
		limit->burst ?: cairn_rate_default_burst(limit->kbps, packet);
	u32 packets = 0;

	if (limit->typical)
		packets = clamp_t(u32, burst / limit->typical, 1, U16_MAX);
	if (limit->kbps == rate->kbps && burst == rate->burst &&
	    packets == rate->packets)
		return;
	if (rate->kbps)
		rate_convert_debt(rate, limit->kbps, now);
	rate->late = 0;
	rate->rem = 0;
	rate->kbps = limit->kbps;
	rate->burst = burst;
	/* Do not restart a burst that has begun. */
	rate->left = rate->packets ? min_t(u32, rate->left, packets) : packets;
	rate->packets = packets;
}

void cairn_rate_open(struct cairn_rate *rate, u64 now)
{
	if (!rate->marked || now < rate->next)
		return;
	rate->late = min(rate->late + now - rate->next,
			 cairn_rate_ns(rate->kbps, rate->burst) / 2);
	rate->next = now;
	rate->marked = false;
}

u32 cairn_rate_fit(const struct cairn_rate *rate, u32 bytes, u32 n, u64 now)
{
	u32 left = rate->packets ? rate->left : n, unpaid;

	if (rate->next <= now)
		return min(n, clamp_t(u32, rate->burst / bytes, 1,
				      rate->packets ?: n));
	unpaid = min_t(u64,
		       div_u64((rate->next - now) * rate->kbps, NS_KBIT) + 1,
		       rate->burst);
	return min3(n, left, (rate->burst - unpaid) / bytes);
}

void cairn_rate_charge(struct cairn_rate *rate, u32 n, u32 bytes, u64 now)
{
	if (rate->next <= now)
		rate->left = rate->packets;
	if (rate->next < now) {	/* it was idle */
		rate->next = now;
		rate->rem = 0;
		rate->late = 0;
	}
	rate->next += div_u64_rem((u64)bytes * NS_KBIT + rate->rem, rate->kbps,
				  &rate->rem);
	rate->left -= min_t(u32, rate->left, n);
}

void cairn_rate_mark(struct cairn_rate *rate, u64 now)
{
	u64 cut = min(rate->late, (rate->next - now) / 2);

	rate->next -= cut;
	rate->late -= cut;
	rate->marked = true;
}
