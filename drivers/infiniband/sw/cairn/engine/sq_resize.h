/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Resizing the send ring, see engine/sq_resize.c. */
#ifndef CAIRN_ENGINE_SQ_RESIZE_H
#define CAIRN_ENGINE_SQ_RESIZE_H

#include "engine/qp.h"

/* Records that may be moved with interrupts off: 160 KiB. Only a WRITE_PERSIST that
 * has been waiting for long lets more of them start.
 */
#define CAIRN_MAX_MOVED		4096

/**
 * cairn_sq_fits() - can what has started be moved to another ring?
 * @qpc: the QP
 * @depth: units of that ring
 * @mask: it has mask + 1 records
 *
 * Requester lock held. Return: 0, -EINVAL when it does not fit or the ring cannot
 * be walked any more, -EAGAIN when it is more than CAIRN_MAX_MOVED now.
 */
int cairn_sq_fits(const struct cairn_qpc *qpc, u32 depth, u32 mask);

/**
 * cairn_sq_resize() - the send ring has changed
 * @qpc: the QP; cairn_sq_fits() in the same critical section
 * @depth: units of the ring that cairn_env_sq_copy() reads from now on; it
 *	holds what is outstanding, at the same indices
 * @swr: mask + 1 records; becomes the old ones, which are the owner's again
 * @mask: a power of two minus one
 *
 * Messages that are half sent, retries and records go on as if nothing had
 * happened (origins.rst, Q5). Requester lock held.
 */
void cairn_sq_resize(struct cairn_qpc *qpc, u32 depth, struct cairn_swr **swr,
		     u32 mask);

#endif
