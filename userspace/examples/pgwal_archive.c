// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_command.h"
#include "pgwal_archive.h"
#include "pgwal_file.h"
#include "pgwal_log.h"

struct pgwal_archiver {
	struct pgwal_log state;
	int directory;
	uint8_t *bytes;		/* of a segment */
	uint32_t timeline;	/* of the segment */
	uint64_t start, end;	/* ... and what of it is there */
	unsigned int segments, partial, histories;
};

/* The segment is as complete as it gets. */
static int pgwal_archive_finish(struct pgwal_archiver *archiver)
{
	uint32_t segment = archiver->state.segment;
	char name[PGWAL_NAME_TEXT], file[PGWAL_NAME_TEXT + 16];
	bool whole = archiver->end - archiver->start == segment;
	int err = 0;

	if (archiver->end == archiver->start)
		return 0;
	pgwal_name_format(name, archiver->timeline, archiver->start, segment);
	snprintf(file, sizeof(file), "%s%s", name, whole ? "" : ".partial");
	archiver->segments += whole;
	archiver->partial += !whole;
	/* a new timeline may begin before the end that an earlier archive has */
	if (!whole)
		err = pgwal_file_complete(archiver->directory, file,
					  archiver->bytes, segment);
	return err ? err : pgwal_file_keep(archiver->directory, file,
					   archiver->bytes, segment);
}

static int pgwal_archive_begin(struct pgwal_archiver *archiver,
			       uint32_t timeline, uint64_t lsn)
{
	int err = pgwal_archive_finish(archiver);

	if (!archiver->bytes)
		archiver->bytes = malloc(archiver->state.segment);
	if (!err && !archiver->bytes)
		err = log_command_fail("memory", ENOMEM);
	if (err)
		return err;
	memset(archiver->bytes, 0, archiver->state.segment);
	archiver->timeline = timeline;
	archiver->start = lsn - lsn % archiver->state.segment;
	archiver->end = archiver->start;
	return 0;
}

static int pgwal_archive_wal(struct pgwal_archiver *archiver,
			     const struct pgwal_entry *entry, uint64_t length)
{
	const uint8_t *from = (const void *)(entry + 1);
	uint64_t lsn = entry->lsn, room, n;
	int err = 0;

	while (!err && length) {
		room = archiver->bytes ? archiver->start +
		       archiver->state.segment - archiver->end : 0;
		if (!room || entry->timeline != archiver->timeline) {
			err = pgwal_archive_begin(archiver, entry->timeline,
						  lsn);
			continue;
		}
		n = length < room ? length : room;
		memcpy(archiver->bytes + (lsn - archiver->start), from, n);
		archiver->end = lsn + n;
		lsn += n;
		from += n;
		length -= n;
	}
	return err;
}

static int pgwal_archive_visit(void *ctx, const struct log_record *record)
{
	const struct pgwal_entry *entry = pgwal_entry_of(record);
	struct pgwal_archiver *archiver = ctx;
	char name[PGWAL_NAME_TEXT];
	uint64_t length;
	int err = pgwal_log_add(&archiver->state, record);

	if (err)
		return pgwal_fail(archiver->state.error, err);
	length = record->length - sizeof(*entry);
	if (entry->kind == PGWAL_ENTRY_WAL)
		return pgwal_archive_wal(archiver, entry, length);
	archiver->histories++;
	snprintf(name, sizeof(name), "%08" PRIX32 ".history", entry->timeline);
	return pgwal_file_keep(archiver->directory, name, entry + 1, length);
}

int pgwal_archive_session(struct log_session *session, const char *directory,
			  struct pgwal_log *state)
{
	struct pgwal_archiver archiver = {
		.directory = pgwal_file_directory(directory),
	};
	int err;

	if (archiver.directory < 0)
		return log_command_fail(directory, errno);
	err = log_session_walk(session, pgwal_archive_visit, &archiver);
	if (session->failed)
		pgwal_fail(session->error, err);
	if (!err)
		err = pgwal_archive_finish(&archiver);
	if (!err)
		printf("%u segment(s), %u partial, %u histories\n",
		       archiver.segments, archiver.partial, archiver.histories);
	*state = archiver.state;
	close(archiver.directory);
	free(archiver.bytes);
	return err;
}

int pgwal_archive(struct log_writer *log, const char *directory)
{
	struct log_session *session = &log->session;
	int err = log_session_open(session);
	struct pgwal_log state;

	if (err)
		pgwal_fail(session->error, err);
	else
		err = pgwal_archive_session(session, directory, &state);
	log_writer_close(log);
	return err;
}
