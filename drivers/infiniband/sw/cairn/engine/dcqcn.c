// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The reaction point of DCQCN, see engine/dcqcn.h. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "engine/dcqcn.h"

/* Catching up takes so many steps at most; the rate is back long before, or
 * increases are so small that the rest does not matter.
 */
#define MAX_STEPS	4096

bool cairn_dcqcn_check(const struct cairn_cc_params *p)
{
	return p->cnp_interval_us <= CAIRN_CC_MAX_US &&
	       p->alpha_us && p->alpha_us <= CAIRN_CC_MAX_US &&
	       p->increase_us && p->increase_us <= CAIRN_CC_MAX_US &&
	       p->g_shift && p->g_shift <= CAIRN_CC_MAX_G_SHIFT &&
	       p->increase_kbytes &&
	       p->recovery_steps && p->recovery_steps <= CAIRN_CC_MAX_STEPS &&
	       p->additive_kbps && p->additive_kbps <= CAIRN_MAX_RATE_LIMIT &&
	       p->hyper_kbps && p->hyper_kbps <= CAIRN_MAX_RATE_LIMIT &&
	       p->min_kbps && p->min_kbps <= CAIRN_MAX_RATE_LIMIT;
}

static u64 ns(u32 us)
{
	return us * 1000ULL;
}

void cairn_dcqcn_cut(struct cairn_dcqcn *d, const struct cairn_cc_params *p,
		     u32 line, u64 now)
{
	u64 cut;

	if (!d->kbps) {
		d->kbps = line;
		d->alpha = CAIRN_DCQCN_ONE;
	}
	d->target = d->kbps;
	cut = mul_u32_u32(d->kbps, d->alpha) / (2 * CAIRN_DCQCN_ONE);
	d->kbps = max_t(u32, d->kbps - cut, min(p->min_kbps, line));
	d->alpha += (CAIRN_DCQCN_ONE - d->alpha) >> p->g_shift;
	d->alpha_at = now + ns(p->alpha_us);
	d->timer_at = now + ns(p->increase_us);
	d->by_timer = 0;
	d->by_bytes = 0;
	d->bytes = 0;
}

/* One increase, after the timer or the byte counter has counted. */
static void increase(struct cairn_dcqcn *d, const struct cairn_cc_params *p,
		     u32 line)
{
	u32 low = min(d->by_timer, d->by_bytes);
	u32 high = max(d->by_timer, d->by_bytes);
	u64 target = d->target;

	if (low > p->recovery_steps)
		target += mul_u32_u32(low - p->recovery_steps, p->hyper_kbps);
	else if (high > p->recovery_steps)
		target += p->additive_kbps;
	d->target = min_t(u64, target, line);
	/* up, or the last kbit/s would never be reached */
	d->kbps = ((u64)d->kbps + d->target + 1) / 2;
	if (d->kbps >= line)
		d->kbps = 0;
}

static void count(u16 *n)
{
	if (*n < U16_MAX)
		++*n;
}

static void decay(struct cairn_dcqcn *d, const struct cairn_cc_params *p,
		  u64 now)
{
	u32 steps = 0;

	for (; d->alpha_at <= now && steps < MAX_STEPS; steps++) {
		d->alpha -= DIV_ROUND_UP(d->alpha, 1U << p->g_shift);
		d->alpha_at += ns(p->alpha_us);
	}
	if (d->alpha_at <= now)
		d->alpha_at = now + ns(p->alpha_us);
}

void cairn_dcqcn_advance(struct cairn_dcqcn *d,
			 const struct cairn_cc_params *p, u32 line, u64 now)
{
	u32 steps = 0;

	if (!d->kbps)
		return;
	decay(d, p, now);
	for (; d->kbps && d->timer_at <= now && steps < MAX_STEPS; steps++) {
		count(&d->by_timer);
		increase(d, p, line);
		d->timer_at += ns(p->increase_us);
	}
	if (d->timer_at <= now)
		d->timer_at = now + ns(p->increase_us);
}

void cairn_dcqcn_sent(struct cairn_dcqcn *d, const struct cairn_cc_params *p,
		      u32 line, u32 bytes)
{
	u64 step = p->increase_kbytes * 1000ULL;

	if (!d->kbps)
		return;
	d->bytes += bytes;
	while (d->kbps && d->bytes >= step) {
		d->bytes -= step;
		count(&d->by_bytes);
		increase(d, p, line);
	}
}
