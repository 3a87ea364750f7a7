/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The driver's own methods of RDMA_VERBS_IOCTL. */
#ifndef CAIRN_METHOD_H
#define CAIRN_METHOD_H

#include <stdint.h>

#include <infiniband/verbs.h>

/*
 * Calls a method of CAIRN_OBJECT_DEVICE that has one attribute, read or filled
 * by the kernel. Returns 0 or errno (EPROTONOSUPPORT: the module does not have
 * the method) and leaves errno as it was.
 */
int cairn_method(struct ibv_context *ctx, uint16_t method, uint16_t attr_id,
		 void *data, uint16_t size);

/* The same of another object. */
int cairn_object_method(struct ibv_context *ctx, uint16_t object,
			uint16_t method, uint16_t attr_id, void *data,
			uint16_t size);

/* The same with any attributes. */
struct ib_uverbs_attr;
int cairn_method_attrs(struct ibv_context *ctx, uint16_t method,
		       const struct ib_uverbs_attr *attrs, unsigned int n);
/* The same with a second attribute that names a QP. */
int cairn_method_qp(struct ibv_qp *qp, uint16_t method, uint16_t qp_attr,
		    uint16_t attr_id, void *data, uint16_t size);

#endif /* CAIRN_METHOD_H */
