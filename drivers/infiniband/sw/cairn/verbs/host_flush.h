/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The tokens of host flush (Documentation/persistence.rst). */
#ifndef CAIRN_VERBS_HOST_FLUSH_H
#define CAIRN_VERBS_HOST_FLUSH_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_host_flush_done() - end a host flush: the message is durable or has failed
 * @dev: the device
 * @uctx: the context that the QP must belong to; NULL: the QP of a kernel consumer
 * @token: from the completion
 * @status: 0: durable; an errno: failed
 *
 * Context: any but hard interrupt.
 * Return: 0, or -ENOENT (counted): no such token is outstanding.
 */
int cairn_host_flush_done(struct cairn_dev *dev, struct cairn_ucontext *uctx,
			  u64 token, u32 status);

/* Drop all tokens for @key. Look-ups of @key fail, and all runs that had found its
 * region have ended. Process context.
 */
void cairn_host_flush_revoke(struct cairn_dev *dev, u32 key);

/* The methods, for the device's uapi_definition. */
extern const struct uapi_definition cairn_host_flush_defs[];

#endif
