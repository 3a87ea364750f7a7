/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a writer decides. A session is one epoch: it begins by asking all targets,
 * claims them all, makes them equal, and then appends. After an error it is over;
 * the next one finds out what has become of its records.
 */
#ifndef LOG_SESSION_H
#define LOG_SESSION_H

#include "log_wire.h"

#define LOG_MAX_TARGETS	4

/* How a session reaches a target. All return 0 or an errno, but for poll. */
struct log_link_ops {
	/* A connection that only asks, and ends. */
	int (*query)(void *link, const struct log_ask *ask,
		     struct log_answer *answer);
	/* A connection that stays if the answer is LOG_GRANTED. */
	int (*claim)(void *link, const struct log_ask *ask,
		     struct log_answer *answer);
	int (*read)(void *link, uint64_t offset, void *buffer, uint32_t length);
	/* Posts a WRITE_PERSIST; the bytes must stay until it completes. */
	int (*write)(void *link, uint64_t offset, const void *buffer,
		     uint32_t length);
	/* How many writes are durable, of those since claim(), in their order. */
	int (*poll)(void *link, uint64_t *completed);
};

struct log_peer {
	void *link;
	const char *name;
	struct log_answer answer;
	uint64_t posted, completed;	/* writes */
	uint64_t copies;		/* of them, before the first record */
};

struct log_session {
	/* the caller's */
	const struct log_link_ops *ops;
	struct log_peer peers[LOG_MAX_TARGETS];
	int num_peers;
	uint32_t flags;		/* LOG_ASK_CREATE, _FILL, _TAKEOVER: allowed */
	uint64_t client;	/* random; the same in all sessions of a writer */
	struct log_id new_id;	/* random, for a log that is created */
	void *buffer;		/* for copies; LOG_MAX_RECORD bytes or more */
	uint32_t buffer_size;
	/* the session's */
	struct log_id id;
	uint64_t size;		/* of the smallest target */
	struct log_tail tail;
	uint64_t first;		/* seq of its first record */
	uint64_t copied;	/* records, to targets that were behind */
	int failed;
	char error[200];	/* what to tell the user */
};

int log_session_open(struct log_session *session);

/* Makes a record of @data in @record, and posts it to all targets. */
int log_session_append(struct log_session *session, struct log_record *record,
		       uint64_t number, const void *data, uint32_t length);

/* @durable: how many of the session's records all targets have by now */
int log_session_poll(struct log_session *session, uint64_t *durable);

#endif /* LOG_SESSION_H */
