/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How what peers write into a memory region becomes durable. */
#ifndef CAIRN_MEM_MR_DOMAIN_H
#define CAIRN_MEM_MR_DOMAIN_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_mr_domain_check() - is that a way to become durable?
 * @ibdev: for the reason, in the debug log
 * @flags: enum cairn_mr_flags
 *
 * Context: any.
 * Return: 0, -EINVAL (combination) or -EOPNOTSUPP (no write-back here).
 */
int cairn_mr_domain_check(struct ib_device *ibdev, u32 flags);

/* May a FLUSH ask for durability where messages become durable as @flags say? 0,
 * -EINVAL or -EOPNOTSUPP, as above.
 */
int cairn_mr_domain_check_flush(struct ib_device *ibdev, u32 flags);

/**
 * cairn_mr_domain_flags() - the tail of a registration
 * @ibdev: for the reason, in the debug log
 * @udata: struct cairn_reg_mr_req or nothing
 * @flags: gets enum cairn_mr_flags, 0 without a tail
 *
 * Context: process.
 * Return: as cairn_mr_domain_check(), or -EFAULT.
 */
int cairn_mr_domain_flags(struct ib_device *ibdev, struct ib_udata *udata,
			  u32 *flags);

/* Tell the process what was accepted. 0 or -EFAULT. */
int cairn_mr_domain_reply(struct ib_udata *udata, u32 flags);

#endif
