// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>

#include "log_group.h"

int log_group_open(struct log_group *group, uint32_t depth)
{
	struct ibv_qp *queue_pairs[LOG_MAX_TARGETS];

	for (int i = 0; i < group->num; i++)
		queue_pairs[i] = group->paths[i].qp;
	group->posted = 0;
	group->group = cairndv_persist_group_create(queue_pairs,
						    (uint32_t)group->num,
						    depth);
	return group->group ? 0 : errno;
}

void log_group_close(struct log_group *group)
{
	if (group->group)
		cairndv_persist_group_destroy(group->group);
	group->group = NULL;
}

int log_group_post(struct log_group *group, uint64_t offset, const void *bytes,
		   uint32_t length)
{
	struct cairndv_group_dest dest[LOG_MAX_TARGETS];
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes,
		.length = length,
		.lkey = group->paths[0].lkey,
	};
	const struct cairndv_group_wr wr = {
		.wr_id = group->posted + 1,
		.sg_list = &sge,
		.num_sge = 1,
		.quorum = group->quorum,
		.durability = group->durability,
		.dest = dest,
	};
	int err;

	for (int i = 0; i < group->num; i++)
		dest[i] = (struct cairndv_group_dest){
			.remote_addr = group->paths[i].addr + offset,
			.rkey = group->paths[i].rkey,
		};
	err = cairndv_persist_group_post(group->group, &wr);
	group->posted += !err;
	return err == ENOMEM ? EAGAIN : err;
}

int log_group_poll(struct log_group *group, struct cairndv_group_wc *event)
{
	return cairndv_persist_group_poll(group->group, 1, event);
}

uint64_t log_group_released(const struct log_group *group)
{
	return cairndv_persist_group_released(group->group);
}

int log_group_arm(struct log_group *group)
{
	return cairndv_persist_group_arm(group->group);
}
