/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The tokens of host flush (Documentation/persistence.rst). */
#ifndef CAIRN_VERBS_HOST_FLUSH_H
#define CAIRN_VERBS_HOST_FLUSH_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_host_flush_done() - messages with host flush are durable, or failed
 * @dev: the device
 * @uctx: the context that their queue pairs must belong to; NULL: queue pairs of kernel
 *	consumers
 * @done: tokens of the completions, each with 0 or an errno
 * @count: 1 to CAIRN_MAX_PERSIST_DONES
 *
 * Neighbours of one queue pair are answered together, by one acknowledgement if possible.
 *
 * Context: any but hard interrupt.
 * Return: 0, or a bit for each (counted) that is not outstanding.
 */
u64 cairn_host_flush_done(struct cairn_dev *dev, struct cairn_ucontext *uctx,
			  const struct cairn_persist_done *done, u32 count);

/**
 * cairn_host_flush_posted() - perform a PERSIST_DONE
 * @qp: its queue pair, of a process; the requester's lock is held
 * @wqe: a copy that was checked
 *
 * Each queue pair that was answered runs when the run of @qp has ended.
 *
 * Context: a run of the engine.
 * Return: 0; -ENOENT: a token was refused; -EINVAL: a queue pair of a kernel consumer.
 */
int cairn_host_flush_posted(struct cairn_qp *qp, const struct cairn_send_wqe *wqe);

/* Drop all tokens for @key. Look-ups of @key fail, and all runs that had found its
 * region have ended. Process context.
 */
void cairn_host_flush_revoke(struct cairn_dev *dev, u32 key);

/* The methods, for the device's uapi_definition. */
extern const struct uapi_definition cairn_host_flush_defs[];

#endif
