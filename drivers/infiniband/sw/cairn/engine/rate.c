// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rate arithmetic, see engine/rate.h. A byte takes 8000000 / kbps ns. */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "engine/rate.h"

#define NS_KBIT		8000000u	/* ns * kbit/s of a byte */
/* Bursts per second when no burst size was asked for (F5). */
#define BURSTS		1024

bool cairn_rate_check(const struct cairn_rate_limit *l, u32 packet)
{
	if (!l->kbps)
		return !l->burst && !l->typical;
	if (l->kbps > CAIRN_MAX_RATE_LIMIT)
		return false;
	return !l->burst || (l->burst <= CAIRN_RATE_MAX_BURST &&
			     l->burst >= max_t(u32, packet, l->typical));
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

/* What is still to be paid for takes as many bytes as before. */
static void convert_debt(struct cairn_rate *r, u32 kbps, u64 now)
{
	u64 debt;

	if (r->next <= now)
		return;
	/* A burst at the old rate at most: the product fits. */
	debt = min(r->next - now, cairn_rate_ns(r->kbps, r->burst) + 1);
	r->next = now + div_u64(debt * r->kbps, kbps);
}

void cairn_rate_set(struct cairn_rate *r, const struct cairn_rate_limit *l,
		    u32 packet, u64 now)
{
	u32 burst = l->burst ?: cairn_rate_default_burst(l->kbps, packet);
	u32 packets = 0;

	if (l->typical)
		packets = clamp_t(u32, burst / l->typical, 1, U16_MAX);
	if (l->kbps == r->kbps && burst == r->burst && packets == r->packets)
		return;
	if (r->kbps)
		convert_debt(r, l->kbps, now);
	r->late = 0;
	r->rem = 0;
	r->kbps = l->kbps;
	r->burst = burst;
	/* A burst that has begun does not begin again. */
	r->left = r->packets ? min_t(u32, r->left, packets) : packets;
	r->packets = packets;
}

void cairn_rate_open(struct cairn_rate *r, u64 now)
{
	if (!r->marked || now < r->next)
		return;
	r->late = min(r->late + now - r->next,
		      cairn_rate_ns(r->kbps, r->burst) / 2);
	r->next = now;
	r->marked = false;
}

u32 cairn_rate_fit(const struct cairn_rate *r, u32 bytes, u32 n, u64 now)
{
	u32 left = r->packets ? r->left : n, unpaid;

	if (r->next <= now)
		return min(n, clamp_t(u32, r->burst / bytes, 1,
				      r->packets ?: n));
	unpaid = min_t(u64, div_u64((r->next - now) * r->kbps, NS_KBIT) + 1,
		       r->burst);
	return min3(n, left, (r->burst - unpaid) / bytes);
}

void cairn_rate_charge(struct cairn_rate *r, u32 n, u32 bytes, u64 now)
{
	if (r->next <= now)
		r->left = r->packets;
	if (r->next < now) {	/* it was idle */
		r->next = now;
		r->rem = 0;
		r->late = 0;
	}
	r->next += div_u64_rem((u64)bytes * NS_KBIT + r->rem, r->kbps, &r->rem);
	r->left -= min_t(u32, r->left, n);
}

void cairn_rate_mark(struct cairn_rate *r, u64 now)
{
	u64 cut = min(r->late, (r->next - now) / 2);

	r->next -= cut;
	r->late -= cut;
	r->marked = true;
}
