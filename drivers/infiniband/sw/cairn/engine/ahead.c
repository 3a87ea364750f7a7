// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/minmax.h>
#include <linux/string.h>
#include "engine/ahead.h"
#include "engine/qp.h"

/* Read the ring. A batch that waits in a lane is dropped: it is older than this copy. */
static void ahead_copy(struct cairn_qpc *qpc, u32 idx, u32 units, void *to)
{
	qpc->req.fetched = false;
	cairn_env_sq_copy(qpc, idx, units, to);
}

/*
 * Copy units from @idx on. If they follow the present batch, half of that is kept:
 * WQEs start in order, but the last one that was started may be read again when the
 * next one cannot join its train.
 */
static void ahead_fill(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		       u32 idx, u32 avail)
{
	u32 kept = 0;

	if (ahead->units && idx == ahead->idx + ahead->units)
		kept = min_t(u32, ahead->units, CAIRN_AHEAD_UNITS / 2);
	memmove(ahead->bytes,
		ahead->bytes + (ahead->units - kept) * CAIRN_UNIT_SIZE,
		kept * CAIRN_UNIT_SIZE);
	ahead->idx = idx - kept;
	ahead->units = kept + min(avail, CAIRN_AHEAD_UNITS - kept);
	ahead_copy(qpc, idx, ahead->units - kept,
		   ahead->bytes + kept * CAIRN_UNIT_SIZE);
}

void cairn_ahead_unit(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		      u32 idx, u32 avail)
{
	u8 *to = qpc->req.ext->wqe.bytes;
	u32 off;

	if (!ahead) {
		ahead_copy(qpc, idx, 1, to);
		return;
	}
	off = idx - ahead->idx;
	if (off >= ahead->units) {
		ahead_fill(qpc, ahead, idx, avail);
		off = idx - ahead->idx;
	}
	memcpy(to, ahead->bytes + off * CAIRN_UNIT_SIZE, CAIRN_UNIT_SIZE);
}

/* Copy the @n units at @idx, the rest of a WQE, behind its first unit. */
static void ahead_rest(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		       u32 idx, u32 n, u32 avail)
{
	u8 *to = qpc->req.ext->wqe.bytes + CAIRN_UNIT_SIZE;

	if (!ahead) {
		ahead_copy(qpc, idx, n, to);
		return;
	}
	while (n) {
		u32 off = idx - ahead->idx, units;

		if (off >= ahead->units) {
			ahead_fill(qpc, ahead, idx, avail);
			off = idx - ahead->idx;
		}
		units = min(n, ahead->units - off);
		memcpy(to, ahead->bytes + off * CAIRN_UNIT_SIZE,
		       units * CAIRN_UNIT_SIZE);
		to += units * CAIRN_UNIT_SIZE;
		idx += units;
		avail -= units;
		n -= units;
	}
}

void cairn_ahead_wqe(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		     u32 idx, u32 avail)
{
	u8 units;

	cairn_ahead_unit(qpc, ahead, idx, avail);
	units = min(qpc->req.ext->wqe.send.units, qpc->max_units);
	if (units > 1 && units <= avail)
		ahead_rest(qpc, ahead, idx + 1, units - 1, avail - 1);
}

u32 cairn_ahead_purge(struct cairn_ahead *ahead, u32 idx)
{
	u32 off = idx - ahead->idx, n = 0;

	for (; off < ahead->units; n++) {
		const struct cairn_send_wqe *wqe =
			(void *)(ahead->bytes + off * CAIRN_UNIT_SIZE);

		off += max_t(u32, wqe->units, 1);
	}
	ahead->units = 0;
	return n;
}
