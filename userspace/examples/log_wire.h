/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The messages of a writer and a target when a connection is made. The writer's half
 * goes into the connection request, the target's into the acceptance or the refusal.
 * After that only RDMA operations pass, and the target takes no part.
 */
#ifndef LOG_WIRE_H
#define LOG_WIRE_H

#include "log_format.h"

#define LOG_WIRE_MAGIC	0x324c4343u	/* "CCL2" */

enum log_ask_flags {
	LOG_ASK_CLAIM = 1 << 0,		/* to write; otherwise only to know */
	LOG_ASK_CREATE = 1 << 1,	/* if it is empty: a new log begins here */
	LOG_ASK_FILL = 1 << 2,		/* if it is empty: a copy is made here */
	LOG_ASK_TAKEOVER = 1 << 3,	/* also from a writer that is connected */
};

struct log_ask {
	uint32_t magic;
	uint32_t flags;		/* enum log_ask_flags */
	struct log_id id;
	uint64_t epoch;
	uint64_t client;	/* may always take over from itself */
};

/* A connection request of rdma_cm has room for that much. */
_Static_assert(sizeof(struct log_ask) <= 56, "fits a connection request");

enum log_verdict {
	LOG_GRANTED,
	LOG_TOLD,	/* the answer to a query */
	LOG_NOT_UNDERSTOOD,
	LOG_IS_BUSY,
	LOG_IS_STALE,
	LOG_IS_FOREIGN,
	LOG_IS_EMPTY,
	LOG_IS_DAMAGED,
	LOG_HAS_FAILED,
	LOG_VERDICTS
};

struct log_answer {
	uint32_t magic;
	uint32_t verdict;	/* enum log_verdict */
	uint32_t state;		/* enum log_state */
	uint16_t complete;	/* not a copy that is still being made */
	uint16_t busy;		/* another writer is connected */
	struct log_id id;
	uint64_t epoch;
	uint64_t size;
	struct log_tail tail;	/* durable, if granted */
	/* filled in by the target's caller */
	uint64_t addr;
	uint32_t rkey;
	uint32_t domain;	/* enum cairndv_persist_domain */
};

_Static_assert(sizeof(struct log_answer) <= 148, "fits a refusal");

#endif /* LOG_WIRE_H */
