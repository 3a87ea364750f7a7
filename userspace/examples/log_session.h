/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The decisions of a writer. A session is one epoch. It asks the targets, claims those
 * that answer, makes them equal to the one with all reported records, marks them, and
 * appends to all of them at once. The members of the log are on the media, so a session
 * knows whether it has reached enough of them.
 *
 * A member that fails, or that is silent for too long, is left out while enough others
 * are left. When it answers again it is brought up to date and taken back. After an
 * error the session is over, and the next one finds out what has become of its records.
 */
#ifndef LOG_SESSION_H
#define LOG_SESSION_H

#include "log_group.h"
#include "log_wire.h"

/* How a session reaches a target. All return 0 or an errno, if they return anything. */
struct log_link_ops {
	/*
	 * A connection that only asks, and ends. EAGAIN: there is no answer yet; call
	 * again. An attempt ends by itself, and the next one may begin later.
	 * @wait: wait a little while for it
	 */
	int (*probe)(void *link, const struct log_ask *ask,
		     struct log_answer *answer, bool wait);
	/* A connection that stays if the answer is LOG_GRANTED. @ms: 0: any time */
	int (*claim)(void *link, const struct log_ask *ask,
		     struct log_answer *answer, uint32_t ms);
	int (*read)(void *link, uint64_t offset, void *buffer, uint32_t length);
	/*
	 * Posts a WRITE_PERSIST; the bytes must stay until it completes. One of no
	 * bytes completes when all before it are durable.
	 */
	int (*write)(void *link, uint64_t offset, const void *buffer,
		     uint32_t length);
	/*
	 * How many write() are durable, of those since claim(), in their order. An
	 * error if a completion names a kind that does not count.
	 */
	int (*poll)(void *link, uint64_t *completed);
	/* For records. */
	void (*path)(void *link, struct log_path *path);
	/* Now and then: does the target say that it goes? Then posts fail. */
	void (*watch)(void *link);
	/* The end of the connection: nothing posted reads our memory any more. */
	void (*close)(void *link);
	/* Tells that a target is left out. @status: enum ibv_wc_status, if @err is 0 */
	void (*lost)(void *link, int err, uint32_t status);
	/* Milliseconds, since any time. */
	uint64_t (*now)(void);
};

enum log_peer_state {
	LOG_PEER_ABSENT,
	LOG_PEER_TOLD,		/* has answered */
	LOG_PEER_CLAIMED,	/* lets no other one write */
	LOG_PEER_MARKED,	/* has all records of before */
	LOG_PEER_JOINED,	/* gets the new ones */
};

struct log_peer {
	void *link;
	const char *name;
	/* the session's */
	enum log_peer_state state;
	int error;		/* why it is absent: an errno, or 0 ... */
	uint8_t verdict;	/* ... and what the target has said */
	bool is_new;		/* takes part from this session on */
	struct log_answer answer;
	uint64_t posted, completed;	/* write() */
};

struct log_session {
	/* the caller's */
	const struct log_link_ops *ops;
	struct log_peer peers[LOG_MAX_TARGETS];
	int num_peers;
	uint32_t flags;		/* LOG_ASK_CREATE, _FILL, _TAKEOVER: allowed */
	bool change;		/* the peers and the quorum become those of the log */
	enum log_force force;
	bool emulated;		/* targets count that keep nothing */
	uint32_t quorum;	/* targets that a record needs; 0: as it is, or all */
	uint32_t shift;		/* of a log that is created */
	uint32_t depth;		/* records in flight */
	uint32_t deadline;	/* ms for a record at each member; 0: any time */
	uint64_t epoch;		/* what a coordinator says; 0: the next one */
	/*
	 * The log becomes empty: its records are durable elsewhere. The epoch of the
	 * session of ours that has read them; 0: it stays as it is
	 */
	uint64_t empties;
	uint64_t client;	/* random; the same in all sessions of a writer */
	struct log_id new_id;	/* random, for a log that is created */
	void *buffer;		/* for copies; 2 * LOG_MAX_RECORD bytes or more */
	uint32_t buffer_size;
	/* the session's */
	struct log_id id;
	struct log_config config;
	uint64_t seen;		/* the largest epoch that a target has told */
	uint64_t size;		/* of the smallest target */
	struct log_tail tail;
	uint64_t first;		/* seq of its first record */
	uint64_t copied;	/* records, to targets that were behind */
	uint64_t cut;		/* targets with records that were abandoned */
	struct log_group group;
	struct log_peer *joined[LOG_MAX_TARGETS];	/* as in the group */
	uint64_t durable;	/* of its records, at enough targets */
	uint64_t settled;	/* released, before this group */
	uint64_t released;	/* when that was seen, it was at ... */
	uint64_t since;		/* ... that time */
	int left;		/* targets that have not failed */
	bool ailing;		/* the group has one that has */
	uint64_t returned;	/* members, while it ran */
	int failed;
	char error[240];	/* what to tell the user */
};

/* EBUSY: another writer has the log, or has had it since ->empties. */
int log_session_open(struct log_session *session);

/*
 * Reads the records that were there when it began, from one of its targets, and calls
 * @visit for each; an errno of that ends it. Only before the first record is appended.
 * Records that a client wrote again are not left out.
 * Return: 0, the errno of @visit, or an errno with the reason in ->error
 */
int log_session_walk(struct log_session *session,
		     int (*visit)(void *ctx, const struct log_record *record),
		     void *ctx);

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
