/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A session's way to a target: rdma_cm and verbs. */
#ifndef LOG_LINK_H
#define LOG_LINK_H

#include <stddef.h>

#include "log_session.h"

#define LOG_LINK_WINDOW	32	/* writes in flight */

/* Shared by the links of a session: a group of queue pairs has one CQ. */
struct log_nic {
	/* the caller's */
	void *buffers;		/* memory of all reads and writes */
	size_t length;
	uint32_t durability;	/* the weakest kind that counts; 0: any */
	bool sleeps;		/* waits for completions at ->channel, too */
	/* the links' */
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;	/* its descriptor does not block */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct log_link *links;	/* those that are connected */
};

struct log_link {
	/* the caller's */
	const char *address, *port;
	struct log_nic *nic;
	/* the link's */
	struct log_link *next;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct log_answer answer;
	uint64_t completed;	/* writes */
	bool reading, broken;
	unsigned int turns;
	uint64_t until;		/* ms: this attempt to connect ends */
	uint64_t again;		/* ms: the next one may begin */
};

extern const struct log_link_ops log_link_ops;

/* Requests in flight may become durable nevertheless. */
void log_link_close(struct log_link *link);
/* Takes the events of ->channel; called before the completions are polled. */
void log_nic_woken(struct log_nic *nic);
/* Called when all links are closed. The next session gets an empty CQ. */
void log_nic_close(struct log_nic *nic);

#endif /* LOG_LINK_H */
