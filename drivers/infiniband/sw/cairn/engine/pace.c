// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Back-pressure: where a side of a QP meets its rate (origins.rst, F2). What may not
 * leave stays in the ring, the count of packets that are out stays in the
 * record of the WQE, and the side has a deadline. When it comes the WQE is read
 * again and goes on with the next packet.
 */
#include "engine/internal.h"

u32 cairn_pace(struct cairn_qpc *q, struct cairn_rate *r,
	       const struct cairn_rate_limit *l, u32 bytes, u32 n, u64 now)
{
	u32 fit;

	if (!l->kbps) {
		r->marked = false;
		return n;
	}
	cairn_rate_set(r, l, cairn_packet_max(q), now);
	cairn_pace_wake(q, r, now);
	if (r->marked)
		return 0;
	fit = cairn_rate_fit(r, bytes, n, now);
	if (!fit) {
		cairn_rate_mark(r, now);
		cairn_port_count(q, CAIRN_CTR_RATE_MARKS, 1);
	}
	return fit;
}

void cairn_pace_sent(struct cairn_qpc *q, struct cairn_rate *r,
		     const struct cairn_rate_limit *l, u32 n, u32 bytes,
		     u64 now)
{
	if (!l->kbps)
		return;
	cairn_rate_charge(r, n, bytes, now);
	cairn_port_count(q, CAIRN_CTR_RATE_BYTES, bytes);
}

void cairn_pace_wake(struct cairn_qpc *q, struct cairn_rate *r, u64 now)
{
	if (!r->marked)
		return;
	cairn_rate_open(r, now);
	if (!r->marked)
		cairn_port_count(q, CAIRN_CTR_RATE_TURNS, 1);
}
