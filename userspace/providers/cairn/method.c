// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/cairn-abi.h>

#include "dv.h"
#include "method.h"

#define MAX_ATTRS	4
#define MSG_SIZE(n)							\
	(sizeof(struct ib_uverbs_ioctl_hdr) +				\
	 (n) * sizeof(struct ib_uverbs_attr))

union method_msg {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t bytes[MSG_SIZE(MAX_ATTRS)];
};

static int method_call(struct ibv_context *ctx, uint16_t object,
		       uint16_t method, union method_msg *msg, unsigned int n)
{
	int saved = errno;
	int err;

	msg->hdr.length = (uint16_t)MSG_SIZE(n);
	msg->hdr.object_id = object;
	msg->hdr.method_id = method;
	msg->hdr.num_attrs = (uint16_t)n;
	msg->hdr.driver_id = CAIRN_DRIVER_ID;
	do {
		err = ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, msg) ? errno : 0;
	} while (err == EINTR);
	errno = saved;
	return err;
}

int cairn_method_attrs(struct ibv_context *ctx, uint16_t object,
		       uint16_t method, const struct ib_uverbs_attr *attrs,
		       unsigned int n)
{
	union method_msg msg = {};

	memcpy(msg.hdr.attrs, attrs, n * sizeof(*attrs));
	return method_call(ctx, object, method, &msg, n);
}

int cairn_method_create(struct ibv_context *ctx, uint16_t object,
			uint16_t method, uint16_t attr_id, uint32_t *handle)
{
	union method_msg msg = {};
	int err;

	msg.hdr.attrs[0] = cairn_method_object_attr(attr_id, 0);
	err = method_call(ctx, object, method, &msg, 1);
	if (!err)
		*handle = (uint32_t)msg.hdr.attrs[0].data;
	return err;
}

struct ib_uverbs_attr cairn_method_out_attr(uint16_t attr_id, void *data,
					    uint16_t size)
{
	struct ib_uverbs_attr attr = {
		.attr_id = attr_id,
		.len = size,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)data,
	};

	return attr;
}

struct ib_uverbs_attr cairn_method_attr(uint16_t attr_id, void *data,
					uint16_t size)
{
	struct ib_uverbs_attr attr = cairn_method_out_attr(attr_id, data, size);

	/* Up to eight bytes travel in the attribute itself. */
	if (size <= sizeof(attr.data))
		memcpy(&attr.data, data, size);
	return attr;
}

struct ib_uverbs_attr cairn_method_object_attr(uint16_t attr_id,
					       uint32_t handle)
{
	struct ib_uverbs_attr attr = {
		.attr_id = attr_id,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = handle,
	};

	return attr;
}

int cairn_method_object(struct ibv_context *ctx, uint16_t object,
			uint16_t method, struct ib_uverbs_attr attr)
{
	return cairn_method_attrs(ctx, object, method, &attr, 1);
}

int cairn_method_tune(struct ibv_context *ctx, uint16_t method,
		      struct ib_uverbs_attr attr)
{
	int err;

	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	err = cairn_method_object(ctx, CAIRN_OBJECT_TUNING, method, attr);
	return cairn_method_error(err);
}

int cairn_method(struct ibv_context *ctx, uint16_t method, uint16_t attr_id,
		 void *data, uint16_t size)
{
	return cairn_method_object(ctx, CAIRN_OBJECT_DEVICE, method,
				   cairn_method_attr(attr_id, data, size));
}

int cairn_method_qp(struct ibv_qp *qp, uint16_t method, uint16_t qp_attr,
		    struct ib_uverbs_attr attr)
{
	const struct ib_uverbs_attr attrs[] = {
		attr,
		cairn_method_object_attr(qp_attr, qp->handle),
	};

	return cairn_method_attrs(qp->context, CAIRN_OBJECT_DEVICE, method,
				  attrs, 2);
}
