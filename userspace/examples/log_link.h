/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A session's way to a target: rdma_cm and verbs. */
#ifndef LOG_LINK_H
#define LOG_LINK_H

#include <stddef.h>

#include "log_session.h"

#define LOG_LINK_WINDOW	32	/* writes in flight */

struct log_link {
	/* the caller's */
	const char *address, *port;
	void *buffers;		/* all that is read into and written from */
	size_t length;
	/* the link's */
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct log_answer answer;
	uint64_t completed;	/* writes */
	bool reading;
	unsigned int turns;
};

extern const struct log_link_ops log_link_ops;

/* What is in flight may become durable nevertheless. */
void log_link_close(struct log_link *link);

#endif /* LOG_LINK_H */
