/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The standby: WAL that arrives becomes durable at the targets, and is reported then. */
#ifndef PGWAL_RECEIVE_H
#define PGWAL_RECEIVE_H

#include "log_writer.h"
#include "pgwal_metrics.h"
#include "pgwal_server.h"

struct pgwal_receiver {
	/* the caller's: the targets and what is allowed; conninfo and slot */
	struct log_writer log;
	struct pgwal_server server;
	struct pgwal_metrics metrics;
	const char *archive;		/* a directory for a full log; NULL: none */
	/* the receiver's */
	struct pgwal_log state;		/* with all that was posted */
	struct pgwal_log archived;	/* what the last archive has */
	uint64_t posted;		/* records, in all sessions */
	uint64_t before;		/* ... before this one */
	uint64_t durable;		/* ... of this one */
	uint64_t ends[LOG_LINK_WINDOW];	/* of the WAL of records in flight */
	uint64_t flushed;		/* WAL that is durable */
	uint64_t reported, reported_at;	/* the last status; ms */
	uint64_t heard_at;		/* ms */
	bool arrived;			/* the socket may have bytes */
	bool answer;			/* the server wants a status */
	bool nearly_full;		/* the log; that was said */
	uint32_t timeline;		/* of what arrives */
	uint64_t received;
	struct pgwal_message message;	/* its rest is not in the batch yet */
	struct {
		struct pgwal_entry entry;
		uint8_t bytes[PGWAL_ENTRY_MAX];
	} batch;
	uint32_t batched;
};

/* The exit status of a standby that must not be started again. */
#define PGWAL_RECEIVE_CUT_OFF	3

/*
 * Connects again whenever that can help. Return: an errno, which was reported; ESTALE:
 * another writer has taken over.
 */
int pgwal_receive(struct pgwal_receiver *receiver);

#endif /* PGWAL_RECEIVE_H */
