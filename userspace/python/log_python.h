/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions that log.py calls. userspace/tests/test_python.sh compares the
 * structures with those of Python.
 */
#ifndef LOG_PYTHON_H
#define LOG_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

struct log_python;
struct log_python_reader;

struct log_python_options {
	const char *const *addresses;
	const char *const *ports;
	uint32_t num;
	uint32_t flags;		/* enum log_ask_flags */
	uint32_t quorum;	/* 0: as it is, or all */
	uint32_t deadline_ms;	/* of a record at each target; 0: none */
	uint32_t emulated;	/* targets count that keep nothing */
	uint32_t largest;	/* bytes of data in a record */
};

struct log_python_state {
	uint64_t next;		/* number of the next record */
	uint64_t durable;	/* the last one that is durable, ... */
	uint32_t left;		/* targets that have not failed */
	uint32_t quorum;	/* ... at so many */
	const char *error;
};

struct log_python_record {
	uint64_t seq;
	uint64_t epoch;
	const void *data;
	uint64_t length;
};

/* @text: the reason of an error, or "" */
int log_python_open(const struct log_python_options *options,
		    struct log_python **result, char *text, size_t length);
void log_python_close(struct log_python *log);

/* EAGAIN: call log_python_poll() first; EMSGSIZE; ENOSPC: the log is full */
int log_python_post(struct log_python *log, const void *data, uint32_t length,
		    uint64_t *seq);
int log_python_poll(struct log_python *log);
/* EAGAIN: record @seq is not durable after @ms milliseconds */
int log_python_wait(struct log_python *log, uint64_t seq, uint32_t ms);
void log_python_state(const struct log_python *log,
		      struct log_python_state *state);

/* EINVAL: there is no log; EUCLEAN: a copy that is not finished */
int log_python_reader_open(const char *name, uint64_t size,
			   struct log_python_reader **result);
/* ENODATA: the log ends; the data stays until the reader is closed */
int log_python_reader_next(struct log_python_reader *self,
			   struct log_python_record *record);
/* At the end: how many records are missing that were there when a writer came. */
uint64_t log_python_reader_lost(const struct log_python_reader *self);
void log_python_reader_close(struct log_python_reader *self);

#pragma GCC visibility pop

#endif /* LOG_PYTHON_H */
