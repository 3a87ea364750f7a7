/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How writes of peers to a memory region become durable. */
#ifndef CAIRN_MEM_MR_DOMAIN_H
#define CAIRN_MEM_MR_DOMAIN_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_mr_domain_check() - check the flags of a registration
 * @ibdev: for the reason of a refusal, in the debug log
 * @flags: enum cairn_mr_flags
 *
 * Context: any.
 * Return: 0, -EINVAL (combination) or -EOPNOTSUPP (the CPU cannot write lines
 * back).
 */
int cairn_mr_domain_check(struct ib_device *ibdev, u32 flags);

/* Check that regions with @flags may allow FLUSH for durability. Return: as
 * above.
 */
int cairn_mr_domain_check_flush(struct ib_device *ibdev, u32 flags);

/**
 * cairn_mr_domain_flags() - read the tail of a registration
 * @ibdev: for the reason of a refusal, in the debug log
 * @udata: struct cairn_reg_mr_req or nothing
 * @flags: gets enum cairn_mr_flags, 0 without a tail
 *
 * Context: process.
 * Return: as cairn_mr_domain_check(), or -EFAULT.
 */
int cairn_mr_domain_flags(struct ib_device *ibdev, struct ib_udata *udata,
			  u32 *flags);

/* Tell the process which flags were accepted. Return: 0 or -EFAULT. */
int cairn_mr_domain_reply(struct ib_udata *udata, u32 flags);

#endif
