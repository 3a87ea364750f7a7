/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DCQCN, the congestion control of RoCEv2 (Zhu et al., SIGCOMM 2015): the
 * reaction point as state and arithmetic. A switch marks packets (ECN CE), the
 * receiver answers with CNPs, the sender of the packets lowers its rate at each
 * CNP and raises it step by step. engine/rate.h enforces the rate.
 *
 * There are no timers: a side makes up for elapsed time when it sends. Rates are in
 * kbit/s, times in nanoseconds of CLOCK_MONOTONIC, alpha is a fraction of
 * CAIRN_DCQCN_ONE.
 */
#ifndef CAIRN_ENGINE_DCQCN_H
#define CAIRN_ENGINE_DCQCN_H

#include <linux/types.h>
#include <rdma/cairn-abi.h>

#define CAIRN_DCQCN_ONE		0x100000

/* The paper's values (its table 14; R_HAI as in QCN: ten times R_AI). */
#define CAIRN_DCQCN_DEFAULTS						\
	{								\
		.cnp_interval_us = 50,					\
		.alpha_us = 55,						\
		.g_shift = 8,						\
		.increase_us = 55,					\
		.increase_kbytes = 10000,				\
		.recovery_steps = 5,					\
		.additive_kbps = 40000,					\
		.hyper_kbps = 400000,					\
		.min_kbps = 1000,					\
	}

struct cairn_dcqcn {
	u64 alpha_at;		/* when alpha decays next */
	u64 timer_at;		/* when the timer increases the rate next */
	u64 bytes;		/* since the byte counter's last increase */
	u32 kbps;		/* current rate (R_C); 0: not controlled */
	u32 target;		/* R_T */
	u32 alpha;
	u32 cnps;		/* CNPs of the QP that this side has applied */
	u16 by_timer;		/* increases since the last cut */
	u16 by_bytes;
};

/**
 * cairn_dcqcn_check() - are the parameters valid?
 * @params: all of them
 *
 * Return: false when one is out of the range that cairn-abi.h gives for it.
 */
bool cairn_dcqcn_check(const struct cairn_cc_params *params);

/**
 * cairn_dcqcn_cut() - cut the rate for one CNP
 * @rp: zeroed, or in use
 * @params: checked
 * @line: kbit/s of the link or of a limit, not 0: the rate before the first cut
 * @now: ns
 */
void cairn_dcqcn_cut(struct cairn_dcqcn *rp,
		     const struct cairn_cc_params *params, u32 line, u64 now);

/**
 * cairn_dcqcn_advance() - apply the time that passed since the last call
 * @rp: any
 * @params: checked
 * @line: as above; control ends when the rate reaches it
 * @now: ns
 */
void cairn_dcqcn_advance(struct cairn_dcqcn *rp,
			 const struct cairn_cc_params *params, u32 line,
			 u64 now);

/* Advance the byte counter by @bytes that were sent. */
void cairn_dcqcn_sent(struct cairn_dcqcn *rp,
		      const struct cairn_cc_params *params, u32 line,
		      u32 bytes);

#endif
