/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A record goes to all targets with one post, and one completion says that enough of
 * them have it: cairndv_persist_group(3).
 */
#ifndef LOG_GROUP_H
#define LOG_GROUP_H

#include <stdint.h>

#include <infiniband/cairndv.h>

#define LOG_MAX_TARGETS	4

/* The queue pair to a target, and the address of the log there. */
struct log_path {
	struct ibv_qp *qp;
	uint64_t addr;
	uint32_t rkey;
	uint32_t lkey;		/* of the records; the same for all */
};

struct log_group {
	struct cairndv_persist_group *group;
	struct log_path paths[LOG_MAX_TARGETS];
	int num;
	uint32_t quorum;
	uint32_t durability;	/* the weakest kind that counts; 0: any */
	uint64_t posted;
};

/*
 * @group->paths and the fields behind it are the caller's; all queue pairs have one
 * completion queue, and no request in flight.
 */
int log_group_open(struct log_group *group, uint32_t depth);
/* Records in flight may become durable nevertheless. */
void log_group_close(struct log_group *group);

/*
 * The bytes must stay until the record is released. EAGAIN: as many as may be are in
 * flight; nothing was posted. ENOTCONN: too few targets are left.
 */
int log_group_post(struct log_group *group, uint64_t offset, const void *bytes,
		   uint32_t length);
/* One event, if there is any: 1, 0 or a negative errno. */
int log_group_poll(struct log_group *group, struct cairndv_group_wc *event);
/* An event follows the next completion: 0 or an errno. Poll once more before sleeping. */
int log_group_arm(struct log_group *group);
/* The number of records that no target reads any more. */
uint64_t log_group_released(const struct log_group *group);

#endif /* LOG_GROUP_H */
