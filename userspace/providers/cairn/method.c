// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/cairn-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "method.h"

#define MSG_SIZE							\
	(sizeof(struct ib_uverbs_ioctl_hdr) + sizeof(struct ib_uverbs_attr))

union method_msg {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t bytes[MSG_SIZE];
};

static void msg_build(union method_msg *msg, uint16_t method, uint16_t attr_id,
		      void *data, uint16_t size)
{
	struct ib_uverbs_attr *attr = msg->hdr.attrs;

	msg->hdr.length = MSG_SIZE;
	msg->hdr.object_id = CAIRN_OBJECT_DEVICE;
	msg->hdr.method_id = method;
	msg->hdr.num_attrs = 1;
	msg->hdr.driver_id = CAIRN_DRIVER_ID;
	attr->attr_id = attr_id;
	attr->len = size;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	/* Up to eight bytes travel in the attribute itself. */
	if (size <= sizeof(attr->data))
		memcpy(&attr->data, data, size);
	else
		attr->data = (uintptr_t)data;
}

int cairn_method(struct ibv_context *ctx, uint16_t method, uint16_t attr_id,
		 void *data, uint16_t size)
{
	union method_msg msg = {};
	int saved = errno;
	int err;

	msg_build(&msg, method, attr_id, data, size);
	do {
		err = ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &msg) ? errno : 0;
	} while (err == EINTR);
	errno = saved;
	return err;
}
