/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The tokens of host flush (Documentation/persistence.rst). */
#ifndef CAIRN_VERBS_HOST_FLUSH_H
#define CAIRN_VERBS_HOST_FLUSH_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_host_flush_done() - a message with host flush is durable, or failed
 * @dev: the device
 * @uctx: the context that its queue pair must belong to; NULL: a kernel
 *	consumer's queue pair
 * @token: of the completion
 * @status: 0 or an errno
 *
 * Context: any but hard interrupt.
 * Return: 0, or -ENOENT (counted): no such token is outstanding.
 */
int cairn_host_flush_done(struct cairn_dev *dev, struct cairn_ucontext *uctx,
			  u64 token, u32 status);

/* Drop all tokens for @key. @key names nothing any more, and every run that had
 * found something by it is over. Process context.
 */
void cairn_host_flush_revoke(struct cairn_dev *dev, u32 key);

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_host_flush_defs[];

#endif
