/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The messages of a writer and a target when a connection is made. The writer's half
 * goes into the connection request, the target's into the acceptance or the refusal.
 * After that only RDMA operations pass, and the target takes no part.
 */
#ifndef LOG_WIRE_H
#define LOG_WIRE_H

#include "log_format.h"

#define LOG_WIRE_MAGIC	0x334c4343u	/* "CCL3" */

enum log_ask_flags {
	LOG_ASK_CLAIM = 1 << 0,		/* to write; otherwise a query */
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
	uint64_t cut;		/* the log ends at this offset; 0: where it ends */
	uint32_t member;	/* the number of a new copy ... */
	uint32_t shift;		/* ... and the blocks of its records */
};

/* The room in a connection request of rdma_cm. */
_Static_assert(sizeof(struct log_ask) <= 56, "fits a connection request");

/*
 * A request may raise the epoch by that much. Anyone can send one, and a larger epoch
 * cannot be taken back: with this limit it takes 2^44 durable headers to use them up.
 */
#define LOG_EPOCH_STEP	(1u << 20)
/* An empty target has no epoch to begin with. */
#define LOG_EPOCH_FIRST	(1ull << 62)

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
	LOG_IS_FAR,		/* the epoch is too large to be true */
	LOG_VERDICTS
};

struct log_answer {
	uint32_t magic;
	uint8_t verdict;	/* enum log_verdict */
	uint8_t state;		/* enum log_state */
	uint8_t busy;		/* another writer is connected */
	uint8_t shift;
	struct log_id id;
	uint64_t epoch;
	uint64_t size;
	struct log_tail tail;	/* durable, if granted */
	uint64_t mark_epoch;	/* 0: a copy that is not finished */
	uint32_t mark_generation;
	uint32_t member;
	struct log_config config;	/* of the mark */
	/* filled in by the target's caller; the domain also for LOG_TOLD */
	uint64_t addr;
	uint32_t rkey;
	uint32_t domain;	/* enum cairndv_persist_domain */
};

_Static_assert(sizeof(struct log_answer) <= 148, "fits a refusal");

#endif /* LOG_WIRE_H */
