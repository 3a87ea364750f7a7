// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "doorbell.h"

#define MSG_SIZE							\
	(sizeof(struct ib_uverbs_ioctl_hdr) + sizeof(struct ib_uverbs_attr))

union doorbell_msg {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t bytes[MSG_SIZE];
};

static void msg_build(union doorbell_msg *msg, const struct cairn_doorbell *db)
{
	struct ib_uverbs_attr *attr = msg->hdr.attrs;

	msg->hdr.length = MSG_SIZE;
	msg->hdr.object_id = CAIRN_OBJECT_DEVICE;
	msg->hdr.method_id = CAIRN_METHOD_DOORBELL;
	msg->hdr.num_attrs = 1;
	msg->hdr.driver_id = CAIRN_DRIVER_ID;
	attr->attr_id = CAIRN_ATTR_DOORBELL;
	attr->len = sizeof(*db);
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	/* Up to eight bytes travel in the attribute itself. */
	_Static_assert(sizeof(*db) == sizeof(attr->data), "inlined");
	memcpy(&attr->data, db, sizeof(*db));
}

int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index)
{
	struct cairn_doorbell db = { .qid = qid, .index = index };
	union doorbell_msg msg = {};
	int saved = errno;
	int err;

	msg_build(&msg, &db);
	do {
		err = ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &msg) ? errno : 0;
	} while (err == EINTR);
	errno = saved;
	return err;
}
