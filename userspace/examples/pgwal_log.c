// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "pgwal_log.h"

_Static_assert(sizeof(struct pgwal_entry) == 32, "part of the format");

int pgwal_fail(const char *reason, int err)
{
	fprintf(stderr, "cairn_pgwal: %s\n", reason);
	return err;
}

static __attribute__((format(printf, 3, 4))) int
pgwal_log_fail(struct pgwal_log *log, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(log->error, sizeof(log->error), format, args);
	va_end(args);
	return err;
}

const struct pgwal_entry *pgwal_entry_of(const struct log_record *record)
{
	const struct pgwal_entry *entry = (const void *)(record + 1);

	if (record->length < sizeof(*entry) ||
	    entry->magic != PGWAL_ENTRY_MAGIC ||
	    !pgwal_segment_is_valid(entry->segment) || !entry->system ||
	    !entry->timeline)
		return NULL;
	return entry;
}

static uint64_t pgwal_log_floor(uint64_t lsn, uint32_t segment)
{
	return lsn - lsn % segment;
}

static int pgwal_log_add_wal(struct pgwal_log *log,
			     const struct pgwal_entry *entry, uint64_t length)
{
	char have[PGWAL_LSN_TEXT], next[PGWAL_LSN_TEXT];
	bool begins = entry->timeline > log->timeline &&
		      !(entry->lsn % entry->segment);

	if (!begins &&
	    (entry->timeline != log->timeline || entry->lsn != log->end))
		return pgwal_log_fail(log, EBADMSG,
			"the log ends at %s of timeline %" PRIu32
			", and goes on at %s of timeline %" PRIu32,
			pgwal_lsn_format(have, log->end), log->timeline,
			pgwal_lsn_format(next, entry->lsn), entry->timeline);
	if (!log->timeline)
		log->first = entry->lsn;
	log->timeline = entry->timeline;
	log->end = entry->lsn + length;
	return 0;
}

int pgwal_log_add(struct pgwal_log *log, const struct log_record *record)
{
	const struct pgwal_entry *entry = pgwal_entry_of(record);

	if (!entry)
		return pgwal_log_fail(log, EBADMSG,
			"record %" PRIu64 " has no WAL: another program has"
			" written this log", record->seq);
	if (log->system && (entry->system != log->system ||
			    entry->segment != log->segment))
		return pgwal_log_fail(log, EBADMSG,
			"record %" PRIu64 " is of the database system %" PRIu64
			", the log of %" PRIu64, record->seq, entry->system,
			log->system);
	log->system = entry->system;
	log->segment = entry->segment;
	if (entry->kind == PGWAL_ENTRY_WAL)
		return pgwal_log_add_wal(log, entry,
					 record->length - sizeof(*entry));
	if (entry->kind != PGWAL_ENTRY_HISTORY)
		return pgwal_log_fail(log, EBADMSG,
			"record %" PRIu64 " is of an unknown kind %" PRIu32
			": a newer cairn_pgwal has written this log",
			record->seq, entry->kind);
	log->history = entry->timeline;
	return 0;
}

static int pgwal_log_plan_next(struct pgwal_log *log,
			       const struct pgwal_system *system,
			       struct pgwal_plan *plan)
{
	uint64_t end;
	uint32_t next;

	if (log->timeline > system->timeline)
		return pgwal_log_fail(log, EINVAL,
			"the server is on timeline %" PRIu32
			", the log on timeline %" PRIu32
			": connect to the primary of that timeline",
			system->timeline, log->timeline);
	if (!system->history ||
	    !pgwal_history_find(system->history, system->history_length,
				log->timeline, &end, &next))
		return pgwal_log_fail(log, EINVAL,
			"the server's timeline %" PRIu32
			" does not descend from the log's timeline %" PRIu32
			": begin another log for it (receive -c)",
			system->timeline, log->timeline);
	if (log->end < end)	/* the old one has more */
		return 0;
	plan->left = log->end - end;
	plan->timeline = next ? next : system->timeline;
	plan->lsn = pgwal_log_floor(end, log->segment);
	return 0;
}

int pgwal_log_plan(struct pgwal_log *log, const struct pgwal_system *system,
		   struct pgwal_plan *plan)
{
	*plan = (struct pgwal_plan){
		.timeline = log->timeline, .lsn = log->end,
	};
	if (!pgwal_segment_is_valid(system->segment))
		return pgwal_log_fail(log, EINVAL,
			"the server says that a segment has %" PRIu32 " bytes",
			system->segment);
	if (!log->timeline && !system->restart)
		return pgwal_log_fail(log, EINVAL,
			"the server does not say what its slot has kept, as"
			" PostgreSQL 15 does: drop the slot, begin the log with"
			" a new one (receive -c), and take a base backup");
	if (!log->timeline) {
		plan->timeline = system->timeline;
		plan->lsn = pgwal_log_floor(system->restart, system->segment);
	}
	if (!log->system)
		return 0;
	if (log->system != system->id)
		return pgwal_log_fail(log, EINVAL,
			"the log is of the database system %" PRIu64
			", the server of %" PRIu64
			": begin another log for it (receive -c)",
			log->system, system->id);
	if (log->segment != system->segment)
		return pgwal_log_fail(log, EINVAL,
			"the log has segments of %" PRIu32
			" bytes, the server of %" PRIu32,
			log->segment, system->segment);
	return log->timeline && log->timeline != system->timeline ?
	       pgwal_log_plan_next(log, system, plan) : 0;
}
