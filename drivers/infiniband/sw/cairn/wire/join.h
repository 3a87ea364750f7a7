/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that may form one train. Segmentation cuts the body of a train at one
 * stride: every packet has that length, BTH to ICRC, and only the last may be
 * shorter. Apart from that only the headers before the BTH must be equal, so the
 * packets may belong to several queue pairs.
 */
#ifndef CAIRN_WIRE_JOIN_H
#define CAIRN_WIRE_JOIN_H

#include <linux/types.h>

#define CAIRN_JOIN_MAX		64	/* packets */

/* An open train: packets may be added at its end. */
struct cairn_join {
	u32 stride;		/* bytes of each packet but the last */
	u32 len;		/* bytes of all */
	u16 count;		/* packets; 0: empty, any stride fits */
	bool closed;		/* the last packet is shorter */
};

/**
 * cairn_join_fits() - may these packets be added?
 * @join: the open train
 * @room: bytes that the train may have
 * @count: packets to be added, not 0
 * @stride: bytes of each packet but the last; if @count is 1, bytes of that packet
 * @len: bytes of all packets
 *
 * Return: true if cairn_join_add() may follow.
 */
static inline bool cairn_join_fits(const struct cairn_join *join, u32 room,
				   u32 count, u32 stride, u32 len)
{
	if (join->count + count > CAIRN_JOIN_MAX || join->len + len > room)
		return false;
	if (!join->count)
		return true;
	return !join->closed && (stride == join->stride ||
				 (count == 1 && stride < join->stride));
}

/* Add packets after cairn_join_fits() returned true for them. */
static inline void cairn_join_add(struct cairn_join *join, u32 count,
				  u32 stride, u32 len)
{
	if (!join->count)
		join->stride = stride;
	join->closed = len != count * join->stride;
	join->count += count;
	join->len += len;
}

#endif
