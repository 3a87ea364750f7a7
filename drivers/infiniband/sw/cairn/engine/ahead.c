// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/ahead.h"
#include "engine/internal.h"

/*
 * Units from @idx on. When they follow what is there, half of the batch stays:
 * WQEs are started in order, but one that was started may be looked at again
 * when the next is found to be of another kind.
 */
static void fill(struct cairn_qpc *q, struct cairn_ahead *a, u32 idx, u32 avail)
{
	u32 kept = 0;

	if (a->units && idx == a->idx + a->units)
		kept = min_t(u32, a->units, CAIRN_AHEAD_UNITS / 2);
	memmove(a->bytes, a->bytes + (a->units - kept) * CAIRN_UNIT_SIZE,
		kept * CAIRN_UNIT_SIZE);
	a->idx = idx - kept;
	a->units = kept + min(avail, CAIRN_AHEAD_UNITS - kept);
	cairn_port_sq_copy(q, idx, a->units - kept,
			   a->bytes + kept * CAIRN_UNIT_SIZE);
}

void cairn_ahead_take(struct cairn_qpc *q, u32 idx, u32 n, u32 avail, u8 *to)
{
	struct cairn_ahead *a = q->req.ahead;

	if (!a && n) {
		cairn_port_sq_copy(q, idx, n, to);
		return;
	}
	while (n) {
		u32 off = idx - a->idx, units;

		if (off >= a->units) {
			fill(q, a, idx, avail);
			off = idx - a->idx;
		}
		units = min(n, a->units - off);
		memcpy(to, a->bytes + off * CAIRN_UNIT_SIZE,
		       units * CAIRN_UNIT_SIZE);
		to += units * CAIRN_UNIT_SIZE;
		idx += units;
		avail -= units;
		n -= units;
	}
}
