// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Back-pressure of a rate limit on one side of a QP (origins.rst, F2). Packets that
 * may not be sent yet stay in the ring, the number of sent packets stays in the WQE's
 * record, and the side sets a deadline. When it expires, the WQE is read again and
 * continues with the next packet.
 */
#include "engine/pace.h"

bool cairn_pace_waits(struct cairn_qpc *qpc, const struct cairn_pace *pace)
{
	struct cairn_rate *rate = pace->rate;

	if (!pace->limit.kbps) {
		rate->marked = false;
		return false;
	}
	cairn_rate_set(rate, &pace->limit, cairn_pace_packet_max(qpc),
		       pace->now);
	cairn_pace_wake(rate, pace->now);
	return rate->marked;
}

u32 cairn_pace_fit(struct cairn_qpc *qpc, const struct cairn_pace *pace,
		   u32 bytes, u32 n)
{
	u32 fit;

	if (!pace->limit.kbps)
		return n;
	fit = cairn_rate_fit(pace->rate, bytes, n, pace->now);
	if (!fit) {
		cairn_rate_mark(pace->rate, pace->now);
		cairn_env_count(qpc, CAIRN_CTR_RATE_MARKS, 1);
	}
	return fit;
}

u32 cairn_pace(struct cairn_qpc *qpc, const struct cairn_pace *pace, u32 bytes,
	       u32 n)
{
	if (cairn_pace_waits(qpc, pace))
		return 0;
	return cairn_pace_fit(qpc, pace, bytes, n);
}

void cairn_pace_sent(struct cairn_qpc *qpc, const struct cairn_pace *pace,
		     u32 n, u32 bytes)
{
	if (!pace->limit.kbps)
		return;
	cairn_rate_charge(pace->rate, n, bytes, pace->now);
	cairn_env_count(qpc, CAIRN_CTR_RATE_BYTES, bytes);
}

void cairn_pace_wake(struct cairn_rate *rate, u64 now)
{
	if (rate->marked)
		cairn_rate_open(rate, now);
}
