// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_command.h"
#include "pgwal_file.h"
#include "pgwal_restore.h"

struct pgwal_restorer {
	const char *name;
	struct pgwal_log state;
	uint32_t timeline;		/* of the file */
	char *history;			/* of that timeline, if it is there */
	size_t length;			/* ... bytes */
	uint64_t lsn;			/* of the segment */
	uint8_t *bytes;			/* ... all of it */
	bool found;			/* some of it */
};

static uint64_t pgwal_restore_length(const struct log_record *record)
{
	return record->length - sizeof(struct pgwal_entry);
}

/* The first time: the history, and whether all records are ours. */
static int pgwal_restore_look(void *ctx, const struct log_record *record)
{
	struct pgwal_restorer *restorer = ctx;
	const struct pgwal_entry *entry;
	int err = pgwal_log_add(&restorer->state, record);

	if (err)
		return err;
	entry = pgwal_entry_of(record);
	if (entry->kind != PGWAL_ENTRY_HISTORY ||
	    entry->timeline != restorer->timeline)
		return 0;
	free(restorer->history);
	restorer->length = pgwal_restore_length(record);
	restorer->history = malloc(restorer->length + 1);
	if (!restorer->history)
		return ENOMEM;
	memcpy(restorer->history, entry + 1, restorer->length);
	return 0;
}

/*
 * The end of what counts of a timeline: all of the file's own, and of those before it what
 * they share. A new timeline's first segment begins with that, and the log may have more
 * of it from before.
 */
static uint64_t pgwal_restore_limit(const struct pgwal_restorer *restorer,
				    uint32_t timeline)
{
	uint64_t end;
	uint32_t next;

	if (timeline == restorer->timeline)
		return UINT64_MAX;
	return restorer->history &&
	       pgwal_history_find(restorer->history, restorer->length, timeline,
				  &end, &next) ? end : 0;
}

/* The second time: the bytes of the segment. */
static int pgwal_restore_collect(void *ctx, const struct log_record *record)
{
	struct pgwal_restorer *restorer = ctx;
	const struct pgwal_entry *entry = pgwal_entry_of(record);
	uint64_t from, to, end;

	if (!entry || entry->kind != PGWAL_ENTRY_WAL)
		return 0;
	from = entry->lsn > restorer->lsn ? entry->lsn : restorer->lsn;
	to = entry->lsn + pgwal_restore_length(record);
	end = restorer->lsn + restorer->state.segment;
	if (to > end)
		to = end;
	end = pgwal_restore_limit(restorer, entry->timeline);
	if (to > end)
		to = end;
	if (from >= to)
		return 0;
	memcpy(restorer->bytes + (from - restorer->lsn),
	       (const uint8_t *)(entry + 1) + (from - entry->lsn), to - from);
	restorer->found |= entry->timeline == restorer->timeline;
	return 0;
}

static int pgwal_restore_walk(struct log_writer *log,
			      struct pgwal_restorer *restorer,
			      int (*visit)(void *ctx,
					   const struct log_record *record))
{
	int err = log_session_walk(&log->session, visit, restorer);

	if (err)
		pgwal_fail(err == EBADMSG ? restorer->state.error :
					    log->session.error, err);
	return err;
}

static int pgwal_restore_segment(struct log_writer *log,
				 struct pgwal_restorer *restorer,
				 const char *path)
{
	uint32_t segment = restorer->state.segment;

	restorer->bytes = calloc(1, segment);
	if (!restorer->bytes) {
		log_command_fail("memory", ENOMEM);
		return PGWAL_RESTORE_ERROR;
	}
	if (pgwal_restore_walk(log, restorer, pgwal_restore_collect))
		return PGWAL_RESTORE_ERROR;
	if (!restorer->found)
		return PGWAL_RESTORE_NONE;
	return pgwal_file_write(path, restorer->bytes, segment) ?
	       PGWAL_RESTORE_ERROR : 0;
}

static int pgwal_restore_from(struct log_writer *log,
			      struct pgwal_restorer *restorer, const char *path)
{
	bool history = pgwal_name_is_history(restorer->name,
					     &restorer->timeline);

	/* the length of a segment is in the log; the least one takes every name */
	if (!history && !pgwal_name_parse(restorer->name, PGWAL_MIN_SEGMENT,
					  &restorer->timeline, &restorer->lsn))
		return PGWAL_RESTORE_NONE;
	if (log_session_open(&log->session)) {
		pgwal_fail(log->session.error, 0);
		return PGWAL_RESTORE_ERROR;
	}
	if (pgwal_restore_walk(log, restorer, pgwal_restore_look))
		return PGWAL_RESTORE_ERROR;
	if (history && restorer->history)
		return pgwal_file_write(path, restorer->history,
					restorer->length) ?
		       PGWAL_RESTORE_ERROR : 0;
	if (history || !restorer->state.system ||
	    !pgwal_name_parse(restorer->name, restorer->state.segment,
			      &restorer->timeline, &restorer->lsn))
		return PGWAL_RESTORE_NONE;
	return pgwal_restore_segment(log, restorer, path);
}

int pgwal_restore(struct log_writer *log, const char *name, const char *path)
{
	struct pgwal_restorer restorer = { .name = name };
	int rc = pgwal_restore_from(log, &restorer, path);

	log_writer_close(log);
	free(restorer.history);
	free(restorer.bytes);
	return rc;
}
