/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A file for Prometheus that says how the standby is. */
#ifndef PGWAL_METRICS_H
#define PGWAL_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct pgwal_metrics {
	/* the caller's */
	const char *file;	/* NULL: none */
	/* the standby's */
	bool connected;		/* WAL arrives */
	bool full;		/* the log: commits wait */
	int targets, left;	/* all, and those that have not failed */
	uint32_t timeline;
	uint64_t received, flushed;	/* positions */
	uint64_t records, bytes;	/* of WAL, since the program began */
	uint64_t used, size;		/* bytes of the log */
	uint64_t returned;	/* targets that were taken back */
	uint64_t emptied;	/* times that the log went to the archive */
	uint64_t written_at;	/* ms */
};

/*
 * Replaces the file, once a second at most unless @now is 0. A file that cannot be written
 * is reported once. @now: ms
 */
void pgwal_metrics_write(struct pgwal_metrics *metrics, uint64_t now);

#endif /* PGWAL_METRICS_H */
