/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where a side meets its rate, see engine/pace.c. */
#ifndef CAIRN_ENGINE_PACE_H
#define CAIRN_ENGINE_PACE_H

#include "engine/qp.h"

/**
 * cairn_pace() - may packets of a limited side leave?
 * @qpc: the QP, for its counters
 * @rate: of the side
 * @limit: the limit that holds for these packets; kbps 0: none
 * @bytes: of each packet, see cairn_window_packet_bytes()
 * @n: how many want to, 1 or more
 * @now: ns
 *
 * Return: how many of them may; 0: the mark is up, wait for the deadline.
 */
u32 cairn_pace(struct cairn_qpc *qpc, struct cairn_rate *rate,
	       const struct cairn_rate_limit *limit, u32 bytes, u32 n, u64 now);

/* Does a packet have to wait, whatever its length? To be asked before anything is
 * fetched or begun for it; the arguments are those of cairn_pace().
 */
bool cairn_pace_waits(struct cairn_qpc *qpc, struct cairn_rate *rate,
		      const struct cairn_rate_limit *limit, u64 now);

/* cairn_pace() after cairn_pace_waits() has said no at the same time. */
u32 cairn_pace_fit(struct cairn_qpc *qpc, struct cairn_rate *rate,
		   const struct cairn_rate_limit *limit, u32 bytes, u32 n,
		   u64 now);

/* @n packets with @bytes in all have left, as cairn_pace() allowed. */
void cairn_pace_sent(struct cairn_qpc *qpc, struct cairn_rate *rate,
		     const struct cairn_rate_limit *limit, u32 n, u32 bytes,
		     u64 now);

/* End of a wait for the rate, if its time has come. */
void cairn_pace_wake(struct cairn_qpc *qpc, struct cairn_rate *rate, u64 now);

/* The longest packet that counts for a rate, bytes from BTH to ICRC. */
static inline u32 cairn_pace_packet_max(const struct cairn_qpc *qpc)
{
	return qpc->attrs.pmtu + CAIRN_MAX_OVERHEAD;
}

static inline const struct cairn_rate *
cairn_pace_rate_of(const struct cairn_qpc *qpc, enum cairn_side_id side)
{
	return side == CAIRN_REQ ? &qpc->req.rate : &qpc->resp.rate;
}

/* When a side that waits for its rate goes on; 0: it does not wait. The side's
 * lock is held, or it is a hint.
 */
static inline u64 cairn_paced_until(const struct cairn_qpc *qpc,
				    enum cairn_side_id side)
{
	const struct cairn_rate *rate = cairn_pace_rate_of(qpc, side);

	return READ_ONCE(rate->marked) ? READ_ONCE(rate->next) : 0;
}

#endif
