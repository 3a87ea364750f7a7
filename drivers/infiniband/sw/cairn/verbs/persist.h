/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Persistence as users of verbs ask for it. */
#ifndef CAIRN_VERBS_PERSIST_H
#define CAIRN_VERBS_PERSIST_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

extern const struct uapi_definition cairn_persist_uapi_defs[];

/**
 * cairn_persist_mr_check() - is that a way to become durable?
 * @ibdev: for the reason, in the debug log
 * @flags: enum cairn_mr_flags
 *
 * Returns 0, -EINVAL (combination) or -EOPNOTSUPP (no write-back here). Any
 * context.
 */
int cairn_persist_mr_check(struct ib_device *ibdev, u32 flags);

/* The tail of a registration: *@flags gets enum cairn_mr_flags, 0 without one.
 * 0 or an error as above, or -EFAULT.
 */
int cairn_persist_mr_flags(struct ib_device *ibdev, struct ib_udata *udata,
			   u32 *flags);

/* Tell the process what was accepted. 0 or -EFAULT. */
int cairn_persist_mr_reply(struct ib_udata *udata, u32 flags);

/**
 * cairn_persist_release() - a message with host flush is durable, or failed
 * @dev: the device
 * @uctx: whose queue pair it must be; NULL: a kernel consumer's
 * @token: of the completion
 * @status: 0 or an errno
 *
 * Returns 0, or -ENOENT (counted): no such token waits. Any context but hard
 * interrupt.
 */
int cairn_persist_release(struct cairn_dev *dev, struct cairn_ucontext *uctx,
			  u64 token, u32 status);

/* What any device can do. */
void cairn_persist_caps(struct cairn_device_caps *caps);

/* Put what cairn_wc_persist() finds into a completion of a kernel consumer.
 * kapi.c. Any context.
 */
void cairn_wc_put_persist(struct ib_wc *wc, const struct cairn_cqe *cqe);

/* @key names nothing any more, and who had found something by it is through:
 * tokens for it die. Process context.
 */
void cairn_persist_revoke(struct cairn_dev *dev, u32 key);

#endif
