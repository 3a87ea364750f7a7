/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * WQEs are copied out of the send ring in batches, ahead of use (origins.rst, S3):
 * one copy also fetches the WQEs that are posted behind the wanted one. No unit is
 * used before it is in private memory. While the batch lasts, a unit is not read
 * from the ring again.
 *
 * A batch lasts for one run of the requester. Its units were posted when they were
 * copied. Units that are left at the end of the run are dropped.
 *
 * If one of the selected QPs is limited, a lane copies a batch of each of them before it
 * serves any (origins.rst, F2). So the WQEs of several QPs wait, in the order of their
 * turns. Such a batch is in the lane's memory, and req.fetched says whether the QP's turn
 * may use it. The flag is under the requester's lock, and any run clears it that reads the
 * ring or sets the rate's mark. A reset clears it, too. So a batch that waits is never
 * older than the QP, and other runs need not know where it is.
 */
#ifndef CAIRN_ENGINE_AHEAD_H
#define CAIRN_ENGINE_AHEAD_H

#include <rdma/cairn-abi.h>

#define CAIRN_AHEAD_UNITS	16

struct cairn_ahead {
	u32 idx;		/* ring unit of the first */
	u32 units;
	u8 bytes[CAIRN_AHEAD_UNITS * CAIRN_UNIT_SIZE];
};

struct cairn_qpc;

/**
 * cairn_ahead_unit() - copy one unit of the send ring to the QP's private WQE
 * @qpc: the QP
 * @ahead: the batch of this run; NULL: read the ring
 * @idx: the unit
 * @avail: posted units from @idx on that are not released, at least 1
 *
 * Requester lock held.
 */
void cairn_ahead_unit(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		      u32 idx, u32 avail);

/**
 * cairn_ahead_wqe() - copy a WQE of the send ring to the QP's private WQE
 * @qpc: the QP
 * @ahead: the batch of this run; NULL: read the ring
 * @idx: its first unit
 * @avail: posted units from @idx on that are not released, at least 1
 *
 * Its first unit only, if it is longer than max_units or @avail: it does not pass the
 * check then. Requester lock held.
 */
void cairn_ahead_wqe(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		     u32 idx, u32 avail);

/**
 * cairn_ahead_purge() - drop the batch when the rate's mark is set (origins.rst, F2)
 * @ahead: the batch
 * @idx: ring unit of the WQE that has to wait
 *
 * The WQEs are read from the ring again later. Requester lock held.
 *
 * Return: dropped WQEs, that at @idx included.
 */
u32 cairn_ahead_purge(struct cairn_ahead *ahead, u32 idx);

#endif
