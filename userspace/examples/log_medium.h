/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The memory of a log, and how it becomes durable. */
#ifndef LOG_MEDIUM_H
#define LOG_MEDIUM_H

#include <stdbool.h>
#include <stdint.h>

enum log_medium_kind {
	LOG_MEDIUM_EMULATED,	/* "anonymous": its contents are lost at the end */
	LOG_MEDIUM_FILE,	/* read into memory, written with fdatasync() */
	LOG_MEDIUM_PMEM,	/* mapped; the CPU's caches are written back */
};

struct log_medium {
	enum log_medium_kind kind;
	void *log;
	uint64_t size;
	int fd;
};

/*
 * @size: 0: the size of the existing log, or 16 MiB
 * @write: make a file that is not there, and lock it; otherwise for reading only
 * EBUSY: another process has it open for writing.
 */
int log_medium_open(struct log_medium *medium, const char *name, uint64_t size,
		    bool write);
/* For log_medium_open() to write: EBUSY: another open file has the lock. */
int log_medium_lock(const struct log_medium *medium);
void log_medium_close(struct log_medium *medium);

/* 0 when the range is durable, or an errno; then its state is unknown. */
int log_medium_persist(const struct log_medium *medium, uint64_t offset,
		       uint64_t length);

/* "4M", "512k", "3G" or bytes; false for anything else. */
bool log_medium_parse_size(const char *text, uint64_t *size);

#endif /* LOG_MEDIUM_H */
