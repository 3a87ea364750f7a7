/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rate limit of a side, see engine/pace.c. */
#ifndef CAIRN_ENGINE_PACE_H
#define CAIRN_ENGINE_PACE_H

#include "engine/qp.h"

/* The rate of one side when a train is sent. */
struct cairn_pace {
	struct cairn_rate *rate;	/* of the side */
	struct cairn_rate_limit limit;	/* for these packets; kbps 0: none */
	u64 now;			/* ns */
};

/**
 * cairn_pace() - how many packets does the rate allow now?
 * @qpc: the QP, for its counters
 * @pace: side, limit and time
 * @bytes: size of each packet, see cairn_window_packet_bytes()
 * @n: packets to send, 1 or more
 *
 * Return: packets that may be sent; 0: the mark is set, so wait for the deadline.
 */
u32 cairn_pace(struct cairn_qpc *qpc, const struct cairn_pace *pace, u32 bytes,
	       u32 n);

/* Does a packet of any length have to wait? Called before the packet's WQE is fetched
 * or started. The arguments are those of cairn_pace().
 */
bool cairn_pace_waits(struct cairn_qpc *qpc, const struct cairn_pace *pace);

/* cairn_pace() after cairn_pace_waits() returned false for the same @pace. */
u32 cairn_pace_fit(struct cairn_qpc *qpc, const struct cairn_pace *pace,
		   u32 bytes, u32 n);

/* Charge @n sent packets with @bytes in all, which cairn_pace() allowed. */
void cairn_pace_sent(struct cairn_qpc *qpc, const struct cairn_pace *pace,
		     u32 n, u32 bytes);

/* Clear the mark if the deadline has expired. */
void cairn_pace_wake(struct cairn_rate *rate, u64 now);

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

/* Has the requester had a limit since the last reset? Without its lock it is a hint. */
static inline bool cairn_pace_limited(const struct cairn_qpc *qpc)
{
	return READ_ONCE(qpc->req.rate.kbps);
}

/* The deadline of a side that waits for its rate; 0: it does not wait. Without the
 * side's lock it is a hint.
 */
static inline u64 cairn_paced_until(const struct cairn_qpc *qpc,
				    enum cairn_side_id side)
{
	const struct cairn_rate *rate = cairn_pace_rate_of(qpc, side);

	return READ_ONCE(rate->marked) ? READ_ONCE(rate->next) : 0;
}

#endif
