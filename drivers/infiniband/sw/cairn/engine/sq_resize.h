/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Resizing the send ring, see engine/sq_resize.c. */
#ifndef CAIRN_ENGINE_SQ_RESIZE_H
#define CAIRN_ENGINE_SQ_RESIZE_H

#include "engine/qp.h"

/* Records that may be moved with interrupts off: 160 KiB. More of them can have started
 * only if a WRITE_PERSIST has been waiting for long.
 */
#define CAIRN_MAX_MOVED		4096

/**
 * cairn_sq_fits() - do the started requests fit into another ring?
 * @qpc: the QP
 * @depth: units of the new ring
 * @mask: number of its records, minus one
 *
 * Requester lock held.
 *
 * Return: 0; -EINVAL: they do not fit, or the ring cannot be walked any more; -EAGAIN:
 * more than CAIRN_MAX_MOVED records have started.
 */
int cairn_sq_fits(const struct cairn_qpc *qpc, u32 depth, u32 mask);

/**
 * cairn_sq_resize() - change to a new send ring
 * @qpc: the QP; cairn_sq_fits() returned 0 in the same critical section
 * @depth: units of the ring that cairn_env_sq_copy() reads from now on; it has the
 *	outstanding units at the same indices
 * @swr: @mask + 1 new records; gets the old ones, which the owner frees
 * @mask: a power of two minus one
 *
 * Messages that are partly sent, and retries, continue unchanged (origins.rst, Q5).
 * Requester lock held.
 */
void cairn_sq_resize(struct cairn_qpc *qpc, u32 depth, struct cairn_swr **swr,
		     u32 mask);

#endif
