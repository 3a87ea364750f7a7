// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "log_command.h"
#include "pgwal_file.h"
#include "pgwal_metrics.h"

#define EVERY_MS	1000

static void pgwal_metrics_print(FILE *file, const char *name, const char *type,
			       const char *help, uint64_t value)
{
	fprintf(file, "# HELP cairn_pgwal_%s %s\n# TYPE cairn_pgwal_%s %s\n"
		"cairn_pgwal_%s %" PRIu64 "\n", name, help, name, type, name,
		value);
}

static void pgwal_metrics_fill(FILE *file, const struct pgwal_metrics *metrics)
{
	pgwal_metrics_print(file, "connected", "gauge",
			   "1: WAL arrives from the primary", metrics->connected);
	pgwal_metrics_print(file, "full", "gauge",
			   "1: the log is full, and commits wait", metrics->full);
	pgwal_metrics_print(file, "targets", "gauge", "Targets of the log",
			   (uint64_t)metrics->targets);
	pgwal_metrics_print(file, "targets_left", "gauge",
			   "Targets that have not failed", (uint64_t)metrics->left);
	pgwal_metrics_print(file, "timeline", "gauge", "Timeline of the WAL",
			   metrics->timeline);
	pgwal_metrics_print(file, "received_bytes", "gauge",
			   "Position of the WAL that has arrived",
			   metrics->received);
	pgwal_metrics_print(file, "flushed_bytes", "gauge",
			   "Position that is durable and reported",
			   metrics->flushed);
	pgwal_metrics_print(file, "records_total", "counter",
			   "Records appended to the log", metrics->records);
	pgwal_metrics_print(file, "wal_bytes_total", "counter",
			   "Bytes of WAL in them", metrics->bytes);
	pgwal_metrics_print(file, "log_used_bytes", "gauge",
			   "Bytes of the log that are used", metrics->used);
	pgwal_metrics_print(file, "log_size_bytes", "gauge",
			   "Bytes of the log", metrics->size);
	pgwal_metrics_print(file, "targets_returned_total", "counter",
			   "Targets that failed and were taken back",
			   metrics->returned);
	pgwal_metrics_print(file, "log_emptied_total", "counter",
			   "Times that the full log went to the archive",
			   metrics->emptied);
}

static FILE *pgwal_metrics_open(const char *name)
{
	int fd = pgwal_file_create(AT_FDCWD, name, 0644);
	FILE *file;

	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w");
	if (!file)
		close(fd);
	return file;
}

static int pgwal_metrics_replace(const struct pgwal_metrics *metrics)
{
	char new[PATH_MAX];
	FILE *file;
	int err;

	if (snprintf(new, sizeof(new), "%s.new", metrics->file) >=
	    (int)sizeof(new))
		return ENAMETOOLONG;
	file = pgwal_metrics_open(new);
	if (!file)
		return errno;
	pgwal_metrics_fill(file, metrics);
	err = ferror(file) ? EIO : 0;
	if (fclose(file) && !err)
		err = errno;
	if (!err && rename(new, metrics->file))
		err = errno;
	return err;
}

void pgwal_metrics_write(struct pgwal_metrics *metrics, uint64_t now)
{
	int err;

	if (!metrics->file || (now && now - metrics->written_at < EVERY_MS))
		return;
	if (now)
		metrics->written_at = now;
	err = pgwal_metrics_replace(metrics);
	if (!err)
		return;
	log_command_fail(metrics->file, err);
	metrics->file = NULL;
}
