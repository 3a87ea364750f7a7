// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * port_speed DEVICE PORT: the speed in units of 100 Mbit/s, as ibv_query_port_speed() of
 * rdma-core 62 asks for it, or "errno N". Installed libraries may be older, so the call is
 * made here.
 */
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vt.h"

/* rdma/ib_user_ioctl_cmds.h after Linux 6.18 */
#define METHOD_QUERY_PORT_SPEED	7
#define ATTR_PORT_NUM		0
#define ATTR_SPEED		1

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	return ctx;
}

int main(int argc, char **argv)
{
	u64 speed = 0;
	struct ib_uverbs_attr attrs[2] = {
		{
			.attr_id = ATTR_PORT_NUM, .len = sizeof(u64),
			.flags = UVERBS_ATTR_F_MANDATORY,
		}, {
			.attr_id = ATTR_SPEED, .len = sizeof(speed),
			.flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&speed,
		},
	};
	struct ibv_context *ctx;
	int err;

	if (argc != 3)
		return 2;
	ctx = device_open(argv[1]);
	if (!ctx)
		return 1;
	attrs[0].data = strtoul(argv[2], NULL, 0);
	err = vt_method(ctx->cmd_fd, UVERBS_OBJECT_DEVICE, METHOD_QUERY_PORT_SPEED, attrs, 2);
	if (err)
		printf("errno %d\n", err);
	else
		printf("%llu\n", (unsigned long long)speed);
	return 0;
}
