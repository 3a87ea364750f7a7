/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The decisions of a writer. A session is one epoch: it begins by asking all targets,
 * claims them all, makes them equal, and then appends to all at once. A target that
 * fails is left out while enough others are left. After an error the session is over;
 * the next one finds out what has become of its records, and brings the targets that
 * are behind up to date.
 */
#ifndef LOG_SESSION_H
#define LOG_SESSION_H

#include "log_group.h"
#include "log_wire.h"

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
	/* For records: write() and poll() are for what comes before them. */
	void (*path)(void *link, struct log_path *path);
	/* Now and then: does the target say that it goes? Then posts fail. */
	void (*watch)(void *link);
	/* A target is left out. @status: enum ibv_wc_status */
	void (*lost)(void *link, uint32_t status);
};

struct log_peer {
	void *link;
	const char *name;
	struct log_answer answer;
	uint64_t posted, completed;	/* writes, before the first record */
};

struct log_session {
	/* the caller's */
	const struct log_link_ops *ops;
	struct log_peer peers[LOG_MAX_TARGETS];
	int num_peers;
	uint32_t flags;		/* LOG_ASK_CREATE, _FILL, _TAKEOVER: allowed */
	uint32_t quorum;	/* targets that a record needs; 0: all */
	uint32_t depth;		/* records in flight */
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
	struct log_group group;
	uint64_t durable;	/* of its records, at enough targets */
	int left;		/* targets that have not failed */
	int failed;
	char error[200];	/* what to tell the user */
};

int log_session_open(struct log_session *session);

/* Its connections stay. */
void log_session_close(struct log_session *session);

/*
 * Makes a record of @data in @record, and posts it to all targets. @record must stay as
 * it is until it is released. EAGAIN: poll first; ENOSPC: the log is full.
 */
int log_session_append(struct log_session *session, struct log_record *record,
		       uint64_t number, const void *data, uint32_t length);

/*
 * @durable: how many of the session's records enough targets have by now; also when it
 * returns an error
 */
int log_session_poll(struct log_session *session, uint64_t *durable);

/* How many of the session's records are released. */
uint64_t log_session_released(const struct log_session *session);

#endif /* LOG_SESSION_H */
