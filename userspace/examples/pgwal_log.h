/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How a log of cairn_log(1) holds WAL. Each record says what it is: a piece of WAL with its
 * position, or the history of a timeline. So a log can be read from its beginning without
 * anything else. The pieces of a timeline follow each other without a gap. A timeline
 * begins with the first byte of a segment.
 */
#ifndef PGWAL_LOG_H
#define PGWAL_LOG_H

#include "log_format.h"
#include "pgwal_wire.h"

#define PGWAL_ENTRY_MAGIC	0x6c617767u	/* "gwal" */

enum pgwal_entry_kind {
	PGWAL_ENTRY_WAL = 1,
	PGWAL_ENTRY_HISTORY,	/* the bytes of a file "00000002.history" */
};

struct pgwal_entry {
	uint32_t magic;
	uint32_t kind;		/* enum pgwal_entry_kind */
	uint64_t system;	/* identifier of the database system */
	uint64_t lsn;		/* of the first byte */
	uint32_t timeline;
	uint32_t segment;	/* bytes */
};

#define PGWAL_ENTRY_MAX	(LOG_MAX_RECORD - sizeof(struct log_record) - \
			 sizeof(struct pgwal_entry))

/* The contents of a log, as far as it was read. */
struct pgwal_log {
	uint64_t system;	/* 0: nothing */
	uint32_t segment;
	uint32_t timeline;	/* the last one */
	uint32_t history;	/* the last timeline whose history is there */
	uint64_t first;		/* of the first timeline */
	uint64_t end;		/* of the last timeline */
	char error[160];	/* why a record is none of ours */
};

/* A server, as it says itself. */
struct pgwal_system {
	uint64_t id;
	uint64_t restart;	/* a log that begins has all from there on; 0: not known */
	uint32_t timeline;
	uint32_t segment;
	const char *history;	/* of its timeline; NULL for timeline 1 */
	size_t history_length;
};

/* Where to go on. */
struct pgwal_plan {
	uint32_t timeline;
	uint64_t lsn;
	uint64_t left;		/* bytes of the old timeline that the new one lacks */
};

/* Reports @reason on standard error. It is whole without the text of @err. Return: @err */
int pgwal_fail(const char *reason, int err);

/* The entry of a record, whose bytes follow it, or NULL. */
const struct pgwal_entry *pgwal_entry_of(const struct log_record *record);

/*
 * The next record. Return: 0, or EBADMSG with the reason in ->error: the log was written by
 * another program, or a piece is missing.
 */
int pgwal_log_add(struct pgwal_log *log, const struct log_record *record);

/*
 * Where the server's WAL continues the log.
 * Return: 0; EINVAL with the reason in @log->error: it does not.
 */
int pgwal_log_plan(struct pgwal_log *log, const struct pgwal_system *system,
		   struct pgwal_plan *plan);

#endif /* PGWAL_LOG_H */
