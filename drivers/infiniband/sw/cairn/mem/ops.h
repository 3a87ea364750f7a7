/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The parts of struct ib_device_ops that are about memory; see verbs/ops.h. */
#ifndef CAIRN_MEM_OPS_H
#define CAIRN_MEM_OPS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops cairn_advise_ops;
extern const struct ib_device_ops cairn_mr_ops;
extern const struct ib_device_ops cairn_mw_ops;

/* compat/ops.h calls these. */
struct ib_mr *cairn_mr_reg_user(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
struct ib_mr *cairn_mr_reg_dmabuf(struct ib_pd *ibpd, u64 offset,
				  u64 length, u64 iova, int fd,
				  int access);

#endif
