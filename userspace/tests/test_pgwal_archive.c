// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A log of this file goes to an archive more than once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ktap.h"
#include "log_command.h"
#include "pgwal_archive.h"

#define SEGMENT		PGWAL_MIN_SEGMENT
#define FIRST		"000000010000000000000003"
#define NEXT		"000000010000000000000004"

/* WAL of one timeline */
struct piece {
	uint32_t timeline;
	uint64_t lsn, end;
};

static struct log_session session;
static const struct piece *pieces;	/* of the log, up to one without a timeline */
static char dir[] = "/tmp/cairn_archive.XXXXXX";
static uint8_t salt;

int log_command_fail(const char *what, int err)
{
	(void)what;
	return err;
}

int log_session_open(struct log_session *log)
{
	(void)log;
	return 0;
}

void log_writer_close(struct log_writer *writer)
{
	(void)writer;
}

static uint8_t byte_at(uint64_t lsn)
{
	return (uint8_t)((lsn * 31 + (lsn >> 8) * 7) | 1) + salt;
}

static int visit_one(const struct piece *piece, uint64_t lsn, uint32_t n,
		     int (*visit)(void *ctx, const struct log_record *record), void *ctx)
{
	static struct {
		struct log_record record;
		struct pgwal_entry entry;
		uint8_t bytes[PGWAL_ENTRY_MAX];
	} all;

	all.record.length = (uint32_t)sizeof(all.entry) + n;
	all.entry = (struct pgwal_entry){
		.magic = PGWAL_ENTRY_MAGIC, .kind = PGWAL_ENTRY_WAL, .system = 1,
		.lsn = lsn, .timeline = piece->timeline, .segment = SEGMENT,
	};
	for (uint32_t i = 0; i < n; i++)
		all.bytes[i] = byte_at(lsn + i);
	return visit(ctx, &all.record);
}

int log_session_walk(struct log_session *log,
		     int (*visit)(void *ctx, const struct log_record *record), void *ctx)
{
	uint64_t lsn, n;
	int err = 0;

	(void)log;
	for (const struct piece *piece = pieces; piece->timeline && !err; piece++)
		for (lsn = piece->lsn; lsn < piece->end && !err; lsn += n) {
			n = piece->end - lsn < 50000 ? piece->end - lsn : 50000;
			err = visit_one(piece, lsn, (uint32_t)n, visit, ctx);
		}
	return err;
}

static int archive(const struct piece *log)
{
	struct pgwal_log state;

	pieces = log;
	return pgwal_archive_session(&session, dir, &state);
}

/* How much WAL the file has; what follows must be zeros. -1: there is no file, or another. */
static long length_of(const char *name, uint64_t lsn)
{
	uint8_t *bytes = malloc(SEGMENT);
	long length = 0;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, bytes, SEGMENT) != SEGMENT)
		length = -1;
	while (length >= 0 && length < SEGMENT && bytes[length] == byte_at(lsn + length))
		length++;
	for (long i = length; i >= 0 && i < SEGMENT; i++)
		if (bytes[i])
			length = -1;
	if (fd >= 0)
		close(fd);
	free(bytes);
	return length;
}

static void begin(void)
{
	ktap_ok(mkdtemp(dir));
}

static const uint64_t start = 3ull * SEGMENT;

static void segments(void)
{
	const struct piece log[] = { { 1, start, start + SEGMENT + 700000 }, {} };

	ktap_eq(archive(log), 0);
	ktap_eq(length_of(FIRST, start), SEGMENT);
	ktap_eq(length_of(NEXT ".partial", start + SEGMENT), 700000);
	/* the same again, and more */
	ktap_eq(archive(log), 0);
	ktap_eq(archive((struct piece[]){ { 1, start, start + SEGMENT + 800000 }, {} }), 0);
	ktap_eq(length_of(NEXT ".partial", start + SEGMENT), 800000);
}

/*
 * The log was emptied, and began again with the segment in which the archive ends. Another
 * primary has less of it: its timeline begins before that.
 */
static void new_timeline(void)
{
	const struct piece log[] = {
		{ 1, start + SEGMENT, start + SEGMENT + 600000 },
		{ 2, start + SEGMENT, start + SEGMENT + 650000 }, {},
	};

	ktap_eq(archive(log), 0);
	ktap_eq(length_of(NEXT ".partial", start + SEGMENT), 800000);
	ktap_eq(length_of("000000020000000000000004.partial", start + SEGMENT), 650000);
	ktap_eq(archive(log), 0);
}

/* Another database, or a damaged file. */
static void other_bytes(void)
{
	const struct piece log[] = { { 1, start + SEGMENT, start + SEGMENT + 5000 }, {} };

	salt = 2;
	ktap_eq(archive(log), EEXIST);
	salt = 0;
	ktap_eq(length_of(NEXT ".partial", start + SEGMENT), 800000);
	/* a whole segment has no zeros to fill */
	ktap_eq(length_of(FIRST, start), SEGMENT);
	salt = 2;
	ktap_eq(archive((struct piece[]){ { 1, start, start + SEGMENT }, {} }), EEXIST);
	salt = 0;
	ktap_eq(length_of(FIRST, start), SEGMENT);
}

static void cleanup(void)
{
	static const char * const names[] = {
		FIRST, NEXT ".partial", "000000020000000000000004.partial",
	};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	ktap_ok(!rmdir(dir));
}

static const struct ktap_test tests[] = {
	KTAP(begin),
	KTAP(segments),
	KTAP(new_timeline),
	KTAP(other_bytes),
	KTAP(cleanup),
};

KTAP_MAIN(tests)
