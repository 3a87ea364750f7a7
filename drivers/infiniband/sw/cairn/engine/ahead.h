/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * WQEs copied out of the send ring in batches, ahead of use (origins.rst, S3): one
 * copy brings what is posted behind the WQE that is wanted, too. Nothing is
 * decided from a unit before it is in private memory, and while the batch lasts
 * the ring is not asked for it again.
 *
 * A batch lasts for one run of the requester. Units in it were posted when they
 * were copied; what is left over at the end is forgotten.
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
 * cairn_ahead_take() - copy units of the send ring
 * @qpc: the QP; its req.ahead is the batch, NULL outside of a run: there is none
 * @idx: the first
 * @n: how many, 0 or more
 * @avail: at least @n: units from @idx on that are posted and not given back
 * @to: room for them
 *
 * Requester lock held.
 */
void cairn_ahead_take(struct cairn_qpc *qpc, u32 idx, u32 n, u32 avail, u8 *to);

/**
 * cairn_ahead_purge() - the flow-control mark went up (origins.rst, F2)
 * @qpc: the QP, in a run
 * @idx: of the WQE that may not leave, or goes on later
 *
 * Forgets the batch: those WQEs are read from the ring again. Requester lock held.
 *
 * Return: WQEs that had been fetched and wait, that at @idx included.
 */
u32 cairn_ahead_purge(struct cairn_qpc *qpc, u32 idx);

#endif
