/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The driver's own methods of RDMA_VERBS_IOCTL. */
#ifndef CAIRN_METHOD_H
#define CAIRN_METHOD_H

#include <errno.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/*
 * Calls a method of CAIRN_OBJECT_DEVICE that has one attribute, which the kernel reads
 * or fills. errno itself stays unchanged.
 * Return: 0 or an errno; EPROTONOSUPPORT: the module does not have the method.
 */
int cairn_method(struct ibv_context *ctx, uint16_t method, uint16_t attr_id,
		 void *data, uint16_t size);
/* The same for another object. */
int cairn_method_object(struct ibv_context *ctx, uint16_t object,
			uint16_t method, struct ib_uverbs_attr attr);
/*
 * Changes a setting of the device: a method of CAIRN_OBJECT_TUNING.
 * Return: 0 or an errno; EOPNOTSUPP: no cairn device, or the module has no such method.
 */
int cairn_method_tune(struct ibv_context *ctx, uint16_t method,
		      struct ib_uverbs_attr attr);
/* As cairn_method(), with a second attribute, @qp_attr, that names a QP. */
int cairn_method_qp(struct ibv_qp *qp, uint16_t method, uint16_t qp_attr,
		    struct ib_uverbs_attr attr);
/* The same with at most four attributes of any kind. */
int cairn_method_attrs(struct ibv_context *ctx, uint16_t object,
		       uint16_t method, const struct ib_uverbs_attr *attrs,
		       unsigned int n);

/* A method that makes an object. *@handle is set on success. */
int cairn_method_create(struct ibv_context *ctx, uint16_t object,
			uint16_t method, uint16_t attr_id, uint32_t *handle);

/* Attributes: data that the kernel reads, or fills if it is longer than eight bytes; data of
 * any size that it fills; an object by its handle.
 */
struct ib_uverbs_attr cairn_method_attr(uint16_t attr_id, void *data,
					uint16_t size);
struct ib_uverbs_attr cairn_method_out_attr(uint16_t attr_id, void *data,
					    uint16_t size);
struct ib_uverbs_attr cairn_method_object_attr(uint16_t attr_id,
					       uint32_t handle);

/* For calls of cairndv.h: an older module counts as one without the feature. */
static inline int cairn_method_error(int err)
{
	return err == EPROTONOSUPPORT ? EOPNOTSUPP : err;
}

#endif /* CAIRN_METHOD_H */
