/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Wrappers of our verbs for members of struct ib_device_ops that have more arguments
 * in newer kernels. The files that define the verbs include this file.
 */
#ifndef CAIRN_COMPAT_OPS_H
#define CAIRN_COMPAT_OPS_H

#include <linux/err.h>
#include <rdma/ib_verbs.h>
#include "compat/found.h"
#include "mem/ops.h"
#include "verbs/ops.h"

/* Since 6.17 with steering hints. cairn creates no DMAH objects: @dmah is NULL. */
#ifdef CAIRN_HAS_DMAH
static inline struct ib_mr *compat_reg_user_mr(struct ib_pd *ibpd, u64 start,
					       u64 length, u64 iova, int access,
					       struct ib_dmah *dmah,
					       struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return cairn_mr_reg_user(ibpd, start, length, iova, access, udata);
}

static inline struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
						      u64 length, u64 iova, int fd,
						      int access, struct ib_dmah *dmah,
						      struct uverbs_attr_bundle *attrs)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return cairn_mr_reg_dmabuf(ibpd, offset, length, iova, fd, access);
}
#else
#define compat_reg_user_mr	cairn_mr_reg_user

/* Since 6.12 the attribute bundle replaces udata. cairn uses neither. */
#ifdef CAIRN_HAS_DMABUF_ATTRS
#define compat_dmabuf_arg	uverbs_attr_bundle
#else
#define compat_dmabuf_arg	ib_udata
#endif

static inline struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
						      u64 length, u64 iova, int fd,
						      int access,
						      struct compat_dmabuf_arg *arg)
{
	return cairn_mr_reg_dmabuf(ibpd, offset, length, iova, fd, access);
}
#endif

/* Later kernels pass the port. A cairn device has one. */
#ifdef CAIRN_HAS_COUNTER_PORT
static inline int compat_counter_bind_qp(struct rdma_counter *counter,
					 struct ib_qp *ibqp, u32 port)
{
	return cairn_counter_bind_qp(counter, ibqp);
}

static inline int compat_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	return cairn_counter_unbind_qp(ibqp);
}
#else
#define compat_counter_bind_qp		cairn_counter_bind_qp
#define compat_counter_unbind_qp	cairn_counter_unbind_qp
#endif

/* Later kernels name the member after user CQs. */
#ifndef CAIRN_HAS_RESIZE_USER_CQ
#define resize_user_cq		resize_cq
#define compat_resize_user_cq	cairn_cq_resize
#else
static inline int compat_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe,
					struct ib_udata *udata)
{
	return cairn_cq_resize(ibcq, cqe, udata);
}
#endif

#endif
