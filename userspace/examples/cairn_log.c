// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A replicated log that survives crashes, over WRITE_PERSIST.
 *
 *   cairn_log serve -m MEMORY     keeps a log, one writer at a time
 *   cairn_log append -a ADDRESS   appends records at one or more targets
 *   cairn_log members -a ADDRESS  changes the members of a log and its quorum
 *   cairn_log verify -m MEMORY    reads a log, for instance after a reboot
 *   cairn_log wipe -m MEMORY      makes it empty
 *
 * A record is one WRITE_PERSIST to each target. They are posted together, and a record
 * counts when all targets have it, or so many of them as the log was made for. The
 * targets need not do anything for that: with a devdax device as MEMORY their NICs
 * write the bytes back (NIC flush). With an ordinary file the target is asked for each
 * record and uses pwrite() and fdatasync() (host flush). "anonymous" is the emulated
 * domain, for experiments; its records are lost at the end.
 *
 * The decisions are in these files: log_format.c (the bytes on the medium), log_config.c
 * (the members of a log), log_target.c (the writer that a target grants) and
 * log_session*.c (a writer with several targets). They know nothing of
 * connections, and userspace/tests/test_log_crash.c tries crashes on them.
 * log_leader.c asks etcd which writer leads. log_text.c has the contents of records.
 * log_group.c posts records to all targets at once. log_medium.c, log_server.c and
 * log_link.c connect them to devices. log_command.c is shared with cairn_chain.c, and
 * all but the elections and the texts with cairn_pgwal.c.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_command.h"
#include "log_leader.h"
#include "log_medium.h"
#include "log_server.h"
#include "log_text.h"
#include "log_writer.h"
#include "wants_help.h"

/* ---- append ---- */

struct writer {
	struct log_writer log;
	struct log_leader leader;	/* with ->urls: etcd says which writer leads */
	uint64_t count;
	uint64_t acked;		/* of them */
	uint64_t posted;
	unsigned int retries;
	bool full;		/* the log; count is what fitted */
	const char *ack_file;	/* gets the last seq that is durable */
	FILE *reports;		/* gets a line for each record that is durable */
	int unwritten;		/* errno of these two; records go on without them */
};

static int writer_post(struct writer *w)
{
	uint64_t number = w->posted + 1;
	struct log_record *record = log_writer_record(&w->log, number);
	char data[LOG_MAX_RECORD];
	int err;

	log_text_fill(data, w->log.length, number);
	err = log_session_append(&w->log.session, record, number, data,
				 w->log.length);
	w->posted += !err;
	return err;
}

/* Records up to the client's number @to are durable, too. */
static void writer_report(struct writer *w, uint64_t before, uint64_t to)
{
	for (uint64_t number = w->acked + 1; number <= to; number++)
		fprintf(w->reports, "%" PRIu64 " %" PRIu64 " %016" PRIx64 "\n",
			w->log.session.first + number - before - 1, number,
			w->log.session.client);
	if (!fflush(w->reports) && !ferror(w->reports))
		return;
	w->unwritten = log_command_fail("--reports", errno ? errno : EIO);
	w->reports = NULL;
}

/* @before: acknowledged when the session began */
static void writer_note(struct writer *w, uint64_t before, uint64_t durable)
{
	int err = 0;

	if (w->reports)
		writer_report(w, before, before + durable);
	w->acked = before + durable;
	if (w->ack_file)
		err = log_command_note(w->ack_file, w->log.session.first + durable - 1);
	if (!err)
		return;
	w->unwritten = log_command_fail(w->ack_file, err);
	w->ack_file = NULL;
}

/*
 * Posts as many records as may be in flight. The slower targets still read records that
 * are durable at enough others.
 * @before: acknowledged when the session began
 */
static int writer_post_all(struct writer *w, uint64_t before)
{
	uint64_t free_to = before + log_session_released(&w->log.session) +
			   LOG_LINK_WINDOW;
	int err = 0;

	while (!err && w->posted < w->count && w->posted < free_to)
		err = writer_post(w);
	if (err == EAGAIN)
		return 0;
	if (err == ENOSPC) {	/* then these are all */
		w->full = true;
		w->count = w->posted;
		err = 0;
	}
	return err;
}

/* A session: until all is durable, or something fails. */
static int writer_session(struct writer *w)
{
	uint64_t before = w->acked, durable = 0, returned = 0;
	int err;

	err = log_session_open(&w->log.session);
	if (err)
		return err;
	log_writer_greet(&w->log);
	/* the log and the right to write it are ours: the next session takes nothing over */
	if (!w->leader.urls)
		w->log.session.flags &= ~(uint32_t)LOG_ASK_TAKEOVER;
	/* Unreported records may be there; they are posted again. */
	w->posted = w->acked;
	while (!err && w->acked < w->count) {
		if (w->leader.urls && !log_leader_is_valid(&w->leader))
			return ESTALE;
		err = writer_post_all(w, before);
		if (!err)
			err = log_session_poll(&w->log.session, &durable);
		if (returned != w->log.session.returned)
			printf("a target is back, %d of %d\n", w->log.session.left,
			       w->log.session.num_peers);
		returned = w->log.session.returned;
		if (w->acked != before + durable)
			writer_note(w, before, durable);
	}
	printf("%" PRIu64 " records durable at %" PRIu32
	       " target(s), up to number %" PRIu64 "\n", durable,
	       w->log.session.group.quorum, w->log.session.first + durable - 1);
	return err;
}

/* Return: whether another attempt can succeed; after a refusal it cannot. */
static bool writer_may_retry(int err)
{
	return err != EINVAL && err != ENOENT && err != ENOSPC && err != EBUSY;
}

/* Leads, if there is an election; the epoch is that of the leader. */
static int writer_lead(struct writer *w)
{
	int err;

	if (!w->leader.urls)
		return 0;
	w->leader.client = w->log.session.client;
	err = log_leader_campaign(&w->leader, w->log.session.seen, 0);
	if (err)
		return log_command_fail(w->leader.urls, err);
	printf("leader, epoch %" PRIu64 "\n", w->leader.epoch);
	w->log.session.epoch = w->leader.epoch;
	w->log.session.flags |= LOG_ASK_TAKEOVER;
	return 0;
}

/*
 * Whether @err comes of a lease that has ended. After a stop the first sign can be that
 * the targets do not know this writer any more.
 */
static bool writer_is_deposed(struct writer *w, int err)
{
	if (!w->leader.urls || !writer_may_retry(err))
		return false;
	return err == ESTALE || log_leader_has_ended(&w->leader);
}

/* Return: whether to begin again after @err. */
static bool writer_again(struct writer *w, int err)
{
	if (err != ESTALE)
		fprintf(stderr, "cairn_log: %s\n", w->log.session.error);
	if (writer_is_deposed(w, err)) {
		fprintf(stderr, "cairn_log: the lease has ended\n");
		return true;
	}
	/* another writer leads; it is our turn when its lease ends */
	if (w->leader.urls && err == EBUSY)
		return true;
	if (!w->retries || !writer_may_retry(err))
		return false;
	w->retries--;
	return true;
}

static int append(struct writer *w)
{
	bool again;
	int err;

	err = log_writer_init(&w->log);
	if (err)
		return log_command_fail("memory", err);
	for (;;) {
		err = writer_lead(w);
		if (err)
			break;
		err = writer_session(w);
		log_writer_close(&w->log);
		again = err && writer_again(w, err);
		log_leader_resign(&w->leader);
		if (!again)
			break;
		sleep(1);
	}
	if (!err && w->full)
		err = log_command_fail("the log is full", ENOSPC);
	log_writer_free(&w->log);
	return err ? err : w->unwritten;
}

/* ---- members ---- */

/* The targets that are given become the members, with that quorum. */
static int members(struct writer *w)
{
	const struct log_session *session = &w->log.session;
	int err;

	w->log.session.change = true;
	err = log_writer_init(&w->log);
	if (err)
		return log_command_fail("memory", err);
	err = log_session_open(&w->log.session);
	if (err)
		fprintf(stderr, "cairn_log: %s\n", session->error);
	else
		printf("%d member(s), a record needs %d, a writer %d\n",
		       log_config_count(session->config.now),
		       session->config.quorum,
		       log_config_claims(&session->config));
	log_writer_close(&w->log);
	log_writer_free(&w->log);
	return err;
}

/* ---- verify, wipe ---- */

static int verify_nothing(const struct log_medium *medium, int err)
{
	uint32_t version = log_header_version(medium->log);

	if (err != EINVAL || !version || version == LOG_VERSION)
		return log_command_fail(err == EINVAL ? "there is no log" :
						      "the log", err);
	fprintf(stderr, "cairn_log: the log has version %" PRIu32
		", and this program reads version %d\n", version, LOG_VERSION);
	return err;
}

/* As lines of --reports, with those that were written again. */
static void verify_list(const struct log_medium *medium)
{
	const struct log_record *record;
	struct log_reader reader;

	if (log_reader_open(&reader, medium->log, medium->size))
		return;
	while ((record = log_record_next(reader.log, 0, reader.size, &reader.tail)))
		printf("%" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", record->seq,
		       record->number, record->client);
	log_reader_close(&reader);
}

static int verify(const struct log_medium *medium, uint64_t at_least)
{
	const struct log_record *record;
	uint64_t bytes = 0, bad = 0;
	struct log_reader reader;
	struct log_mark mark;
	int err;

	err = log_reader_open(&reader, medium->log, medium->size);
	if (err)
		return verify_nothing(medium, err);
	while ((record = log_reader_next(&reader))) {
		bad += !log_text_matches(record + 1, reader.length,
					 record->number);
		bytes += reader.length;
	}
	err = reader.error;
	printf("%" PRIu64 " records, %" PRIu64 " bytes, all checksums right\n",
	       reader.records, bytes);
	if (reader.duplicates)
		printf("%" PRIu64 " more that were written again\n",
		       reader.duplicates);
	switch (log_mark_find(medium->log, &reader.header, &mark)) {
	case LOG_READY:
		if (reader.tail.seq >= mark.base)
			break;
		printf("LOST: there were %" PRIu64 " records when a writer came\n",
		       mark.base - 1);
		err = EBADMSG;
		break;
	default:
		printf("INCOMPLETE: a copy that was not finished\n");
		err = EBADMSG;
	}
	if (bad) {
		printf("%" PRIu64 " records have the wrong contents\n", bad);
		err = EBADMSG;
	}
	if (reader.tail.seq - 1 < at_least) {
		printf("LOST: %" PRIu64 " were reported as durable, %" PRIu64
		       " are here\n", at_least, reader.tail.seq - 1);
		err = EBADMSG;
	}
	log_reader_close(&reader);
	return err;
}

static int wipe(const struct log_medium *medium)
{
	int err;

	memset(medium->log, 0, LOG_START);
	err = log_medium_persist(medium, 0, LOG_START);
	return err ? log_command_fail("wiping", err) : 0;
}

/* ---- command line ---- */

static int usage(FILE *to)
{
	fprintf(to,
		"usage: cairn_log serve -m MEMORY [-s SIZE] [-p PORT] [-1]\n"
		"       cairn_log append -a ADDRESS[,PORT] [-a ...] [-n RECORDS]\n"
		"                 [-l BYTES] [-o ACK-FILE] [-p PORT] [-q QUORUM] [-r TIMES]\n"
		"                 [-b BLOCK] [-d MS] [-ceft] [--reports FILE]\n"
		"                 [--coordinator URL[,URL]... [--name NAME] [--lease SECONDS]]\n"
		"       cairn_log members -a ADDRESS[,PORT] [-a ...] [-q QUORUM] [-p PORT] [-efFt]\n"
		"       cairn_log verify -m MEMORY [-s SIZE] [-k AT-LEAST] [--list]\n"
		"       cairn_log wipe -m MEMORY [-s SIZE]\n"
		"MEMORY: a devdax device, a file, or \"anonymous\"\n"
		"SIZE: bytes, or with k, M or G behind it\n"
		"-c: create the log if there is none; -f: fill empty targets;\n"
		"-t: take over from a writer that is connected;\n"
		"-q: so many targets are enough for a record (of a new log: all);\n"
		"-b: each record has blocks of its own; -d: a slower target is left out (5000);\n"
		"-e: targets count that keep nothing; -F: the members that are not given never come\n"
		"    back; -F -F: also if reported records are lost with them\n");
	return to == stdout ? 0 : 2;
}

struct options {
	struct writer writer;
	const char *memory;
	uint64_t size, length, retries, at_least, lease;
	bool once, list;
};

/* A power of two, from a disk's sector to the longest record. */
static bool options_block(const char *text, uint32_t *shift)
{
	uint64_t block;

	if (!log_medium_parse_size(text, &block) || block & (block - 1) ||
	    block < 512 || block > 1u << LOG_MAX_SHIFT)
		return false;
	*shift = (uint32_t)__builtin_ctzll(block);
	return true;
}

static bool options_reports(struct writer *w)
{
	w->reports = fopen(optarg, "ae");
	if (!w->reports)
		log_command_fail(optarg, errno);
	return w->reports;
}

enum {
	OPTION_COORDINATOR = 256,
	OPTION_NAME,
	OPTION_LEASE,
	OPTION_LIST,
	OPTION_REPORTS,
};

static const struct option options_long[] = {
	{ "coordinator", required_argument, NULL, OPTION_COORDINATOR },
	{ "name", required_argument, NULL, OPTION_NAME },
	{ "lease", required_argument, NULL, OPTION_LEASE },
	{ "list", no_argument, NULL, OPTION_LIST },
	{ "reports", required_argument, NULL, OPTION_REPORTS },
	{}
};

static bool options_name(struct writer *writer, const char *name)
{
	writer->leader.name = name;
	if (*name && strlen(name) <= LOG_LEADER_NAME)
		return true;
	fprintf(stderr, "cairn_log: --name has 1 to %u characters\n",
		LOG_LEADER_NAME);
	return false;
}

static bool options_lease(const char *text, uint64_t *seconds)
{
	if (log_command_number(text, seconds) && *seconds >= 1 && *seconds <= 3600)
		return true;
	fprintf(stderr, "cairn_log: --lease %s: want 1 to 3600\n", text);
	return false;
}

/* -l: bytes of data in a record. */
static bool options_length(const char *text, uint64_t *length)
{
	const size_t most = LOG_MAX_RECORD - sizeof(struct log_record);
	char want[64];

	if (log_medium_parse_size(text, length) && *length <= most)
		return true;
	snprintf(want, sizeof(want), "1 to %zu bytes", most);
	return log_command_refuse('l', text, want);
}

static bool options_one(struct options *o, int c)
{
	struct log_session *session = &o->writer.log.session;

	switch (c) {
	case 'b':
		return options_block(optarg, &session->shift) ||
		       log_command_refuse(c, optarg, "a power of two, 512 to 64k");
	case 'F':
		if (session->force < LOG_FORCE_LOSS)
			session->force++;
		return true;
	case 'k':
		return log_command_option(c, optarg, 0, UINT64_MAX, &o->at_least);
	case 'l':
		return options_length(optarg, &o->length);
	case 'm':
		o->memory = optarg;
		return true;
	case 'n':
		return log_command_option(c, optarg, 0, UINT64_MAX, &o->writer.count);
	case 'o':
		o->writer.ack_file = optarg;
		return true;
	case 'r':
		return log_command_option(c, optarg, 0, UINT_MAX, &o->retries);
	case 's':
		return log_medium_parse_size(optarg, &o->size) ||
		       log_command_refuse(c, optarg, "bytes, or a number with k, M or G");
	case OPTION_COORDINATOR:
		o->writer.leader.urls = optarg;
		return true;
	case OPTION_NAME:
		return options_name(&o->writer, optarg);
	case OPTION_LEASE:
		return options_lease(optarg, &o->lease);
	case OPTION_LIST:
		o->list = true;
		return true;
	case OPTION_REPORTS:
		return options_reports(&o->writer);
	case '1':
		o->once = true;
		return true;
	default:
		return log_writer_option(&o->writer.log, c, optarg);
	}
}

static bool options_parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, LOG_WRITER_OPTIONS "b:Fk:l:m:n:o:r:s:1",
				options_long, NULL)) != -1)
		if (!options_one(o, c))
			return false;
	if (!log_writer_options_fit(&o->writer.log))
		return false;
	o->writer.log.length = (uint32_t)o->length;
	o->writer.retries = (unsigned int)o->retries;
	o->writer.leader.ttl = (uint32_t)o->lease;
	return optind == argc;
}

int main(int argc, char **argv)
{
	struct options o = {
		.length = 1000, .lease = 5,
		.writer = {
			.log = LOG_WRITER_DEFAULTS, .count = 1000,
			.leader.name = "default",
		},
	};
	const char *command = argc > 1 ? argv[1] : "";
	bool writes = !strcmp(command, "serve") || !strcmp(command, "wipe");
	struct log_medium medium;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (wants_help(argc, argv))
		return usage(stdout);
	if (argc < 2 || !options_parse(&o, argc - 1, argv + 1))
		return usage(stderr);
	if (!strcmp(command, "append"))
		return o.writer.log.session.num_peers ?
		       log_command_end(append(&o.writer)) != 0 : usage(stderr);
	if (!strcmp(command, "members"))
		return o.writer.log.session.num_peers ?
		       log_command_end(members(&o.writer)) != 0 : usage(stderr);
	if (!o.memory || (!writes && strcmp(command, "verify") != 0))
		return usage(stderr);
	err = log_medium_open(&medium, o.memory, o.size, writes);
	if (err)
		return log_command_medium(o.memory, err) != 0;
	if (!strcmp(command, "serve"))
		err = log_server_run(&medium, o.writer.log.port, o.once);
	else if (!strcmp(command, "wipe"))
		err = wipe(&medium);
	else
		err = verify(&medium, o.at_least);
	if (o.list && !strcmp(command, "verify"))
		verify_list(&medium);
	log_medium_close(&medium);
	return log_command_end(err) != 0;
}
