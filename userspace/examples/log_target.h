/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The decisions of a target: the writer that it grants, and the records that it reports
 * as durable. The caller makes bytes durable and keeps other writers out.
 */
#ifndef LOG_TARGET_H
#define LOG_TARGET_H

#include "log_wire.h"

struct log_target_ops {
	/*
	 * Writes bytes of the log's memory to the medium, and returns when they are
	 * durable: 0 or an errno. It writes them in any case, also if it has done so
	 * before and nothing has changed since.
	 */
	int (*persist)(void *medium, uint64_t offset, uint64_t length);
	/* When this returns, the last writer can not write any more. */
	void (*fence)(void *medium);
};

struct log_target {
	const struct log_target_ops *ops;
	void *medium;
	uint8_t *memory;
	uint64_t size;
	enum log_state state;	/* of the header */
	struct log_header header;
	enum log_state marked;	/* LOG_READY: a copy that is finished */
	struct log_mark mark;
	struct log_tail tail;	/* all before it is durable */
	struct log_tail seen;	/* all before it is in memory */
	bool busy;		/* a writer is connected */
	uint64_t client;	/* the last writer */
	int failed;		/* errno of the first failure; it is final */
};

/*
 * Reads the memory of the medium. All records found are made durable first, because an
 * earlier process may have died or failed before they were.
 * EFBIG: the log is larger than @size.
 */
int log_target_open(struct log_target *target,
		    const struct log_target_ops *ops, void *medium,
		    void *memory, uint64_t size);

/*
 * Fills @answer. When granted, the writer of before is fenced off. A writer that has been
 * granted its epoch may ask again in it, for instance to cut what was abandoned.
 */
enum log_verdict log_target_ask(struct log_target *target,
				const void *ask, size_t length,
				struct log_answer *answer);

/* The writer has ended; its connection is closed. */
void log_target_release(struct log_target *target);

/* Makes a range durable. After a failure it always returns an errno, without an attempt. */
int log_target_persist(struct log_target *target, uint64_t offset,
		       uint64_t length);

/* The same for bytes of a writer: later, they are not written once more. */
int log_target_flush(struct log_target *target, uint64_t offset,
		     uint64_t length);

#endif /* LOG_TARGET_H */
