/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What may travel together. Segmentation cuts the body of a train at one stride:
 * every packet has that length, BTH to ICRC, and only the last may be shorter.
 * Nothing else has to agree but the headers before the BTH, so the packets may
 * be of several queue pairs.
 */
#ifndef CAIRN_WIRE_JOIN_H
#define CAIRN_WIRE_JOIN_H

#include <linux/types.h>

#define CAIRN_JOIN_MAX		64	/* packets */

/* A train that is open: packets may be added at its end. */
struct cairn_join {
	u32 stride;		/* bytes of each packet but the last */
	u32 len;		/* bytes of all */
	u16 count;		/* packets; 0: nothing yet, any stride will do */
	bool closed;		/* the last packet is shorter */
};

/**
 * cairn_join_fits() - may these packets be added?
 * @join: the open train
 * @room: bytes that it may have
 * @count: packets to be added, not 0
 * @stride: bytes of each of them but the last; if @count is 1, of that one
 * @len: bytes of them all
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

/* Add them: cairn_join_fits() said so. */
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
