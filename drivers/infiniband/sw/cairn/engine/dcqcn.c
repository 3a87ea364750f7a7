// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The reaction point of DCQCN, see engine/dcqcn.h. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "engine/dcqcn.h"

/* Bounds the steps of one catch-up. The rate has recovered long before, or its
 * increases are too small to matter.
 */
#define MAX_STEPS	4096

bool cairn_dcqcn_check(const struct cairn_cc_params *params)
{
	return params->cnp_interval_us <= CAIRN_CC_MAX_US && params->alpha_us &&
	       params->alpha_us <= CAIRN_CC_MAX_US && params->increase_us &&
	       params->increase_us <= CAIRN_CC_MAX_US && params->g_shift &&
	       params->g_shift <= CAIRN_CC_MAX_G_SHIFT &&
	       params->increase_kbytes && params->recovery_steps &&
	       params->recovery_steps <= CAIRN_CC_MAX_STEPS &&
	       params->additive_kbps &&
	       params->additive_kbps <= CAIRN_MAX_RATE_LIMIT &&
	       params->hyper_kbps &&
	       params->hyper_kbps <= CAIRN_MAX_RATE_LIMIT && params->min_kbps &&
	       params->min_kbps <= CAIRN_MAX_RATE_LIMIT;
}

static u64 dcqcn_ns(u32 us)
{
	return us * 1000ULL;
}

void cairn_dcqcn_cut(struct cairn_dcqcn *rp,
		     const struct cairn_cc_params *params, u32 line, u64 now)
{
	u64 cut;

	if (!rp->kbps) {
		rp->kbps = line;
		rp->alpha = CAIRN_DCQCN_ONE;
	}
	rp->target = rp->kbps;
	cut = mul_u32_u32(rp->kbps, rp->alpha) / (2 * CAIRN_DCQCN_ONE);
	rp->kbps = max_t(u32, rp->kbps - cut, min(params->min_kbps, line));
	rp->alpha += (CAIRN_DCQCN_ONE - rp->alpha) >> params->g_shift;
	rp->alpha_at = now + dcqcn_ns(params->alpha_us);
	rp->timer_at = now + dcqcn_ns(params->increase_us);
	rp->by_timer = 0;
	rp->by_bytes = 0;
	rp->bytes = 0;
}

/* One increase, after the timer or the byte counter has counted. */
static void dcqcn_increase(struct cairn_dcqcn *rp,
			   const struct cairn_cc_params *params, u32 line)
{
	u32 low = min(rp->by_timer, rp->by_bytes);
	u32 high = max(rp->by_timer, rp->by_bytes);
	u64 target = rp->target;

	if (low > params->recovery_steps)
		target += mul_u32_u32(low - params->recovery_steps,
				      params->hyper_kbps);
	else if (high > params->recovery_steps)
		target += params->additive_kbps;
	rp->target = min_t(u64, target, line);
	/* Round up, or the last kbit/s would never be reached. */
	rp->kbps = ((u64)rp->kbps + rp->target + 1) / 2;
	if (rp->kbps >= line)
		rp->kbps = 0;
}

static void dcqcn_count(u16 *n)
{
	if (*n < U16_MAX)
		++*n;
}

static void dcqcn_decay(struct cairn_dcqcn *rp,
			const struct cairn_cc_params *params, u64 now)
{
	u32 steps = 0;

	for (; rp->alpha_at <= now && steps < MAX_STEPS; steps++) {
		rp->alpha -= DIV_ROUND_UP(rp->alpha, 1U << params->g_shift);
		rp->alpha_at += dcqcn_ns(params->alpha_us);
	}
	if (rp->alpha_at <= now)
		rp->alpha_at = now + dcqcn_ns(params->alpha_us);
}

void cairn_dcqcn_advance(struct cairn_dcqcn *rp,
			 const struct cairn_cc_params *params, u32 line,
			 u64 now)
{
	u32 steps = 0;

	if (!rp->kbps)
		return;
	dcqcn_decay(rp, params, now);
	for (; rp->kbps && rp->timer_at <= now && steps < MAX_STEPS; steps++) {
		dcqcn_count(&rp->by_timer);
		dcqcn_increase(rp, params, line);
		rp->timer_at += dcqcn_ns(params->increase_us);
	}
	if (rp->timer_at <= now)
		rp->timer_at = now + dcqcn_ns(params->increase_us);
}

void cairn_dcqcn_sent(struct cairn_dcqcn *rp,
		      const struct cairn_cc_params *params, u32 line, u32 bytes)
{
	u64 step = params->increase_kbytes * 1000ULL;

	if (!rp->kbps)
		return;
	rp->bytes += bytes;
	while (rp->kbps && rp->bytes >= step) {
		rp->bytes -= step;
		dcqcn_count(&rp->by_bytes);
		dcqcn_increase(rp, params, line);
	}
}
