// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A synchronous standby for PostgreSQL without a PostgreSQL behind it.
 *
 *   cairn_pgwal receive -a ADDRESS [CONNINFO]     WAL becomes durable at the targets
 *   cairn_pgwal restore -a ADDRESS FILE PATH      restore_command: WAL from the targets
 *   cairn_pgwal archive -a ADDRESS DIRECTORY      all of it as files
 *
 * The targets run "cairn_log serve". The WAL that has arrived is one record of their log,
 * and one WRITE_PERSIST to each of them. When enough targets have it, its position is
 * reported to the primary as flushed, and the commits before it return.
 *
 * pgwal_wire.c knows PostgreSQL's messages and names, pgwal_log.c how a log holds WAL and
 * where a server's WAL continues it. These files know nothing of connections, and
 * userspace/tests/test_pgwal.c tests them. pgwal_server.c connects to PostgreSQL,
 * pgwal_receive.c is the standby, pgwal_restore.c and pgwal_archive.c read. The replication is that of
 * cairn_log, in the files log_*.c.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "log_command.h"
#include "pgwal_archive.h"
#include "pgwal_receive.h"
#include "pgwal_restore.h"

#define SLOT	"cairn"

struct options {
	struct pgwal_receiver receiver;
	const char *port;
	uint64_t quorum, deadline;
};

/* PostgreSQL must not take a wrong restore_command for the end of the archive. */
static int usage(bool restores)
{
	fprintf(stderr,
		"usage: cairn_pgwal receive -a ADDRESS[,PORT] [-a ...] [-p PORT] [-q QUORUM]\n"
		"                   [-S SLOT] [-d MS] [-o FILE] [-ceft] [CONNINFO]\n"
		"       cairn_pgwal restore -a ADDRESS[,PORT] [-a ...] [-p PORT] [-d MS] [-et] FILE PATH\n"
		"       cairn_pgwal archive -a ADDRESS[,PORT] [-a ...] [-p PORT] [-d MS] [-et] DIRECTORY\n"
		"CONNINFO: how to connect to the primary, for instance \"host=db1 user=cairn\"\n"
		"-c: create the log and the replication slot if they are not there;\n"
		"-f: fill empty targets; -t: take over from a writer that is connected;\n"
		"-q: so many targets are enough (of a new log: all);\n"
		"-o: FILE gets counters for Prometheus;\n"
		"-d: a slower target is left out (5000); -e: targets count that keep nothing\n");
	return restores ? PGWAL_RESTORE_ERROR : 2;
}

/* PostgreSQL allows no other names. */
static bool options_slot(struct options *o, const char *name)
{
	o->receiver.server.slot = name;
	if (!*name || strlen(name) > 63)
		return false;
	for (; *name; name++)
		if (!islower((unsigned char)*name) &&
		    !isdigit((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static bool options_one(struct options *o, int c)
{
	struct log_session *session = &o->receiver.log.session;

	switch (c) {
	case 'a':
		return log_writer_target(&o->receiver.log, optarg);
	case 'c':
		session->flags |= LOG_ASK_CREATE;
		o->receiver.server.create = true;
		return true;
	case 'd':
		return log_command_number(optarg, &o->deadline);
	case 'e':
		session->emulated = true;
		return true;
	case 'f':
		session->flags |= LOG_ASK_FILL;
		return true;
	case 'o':
		o->receiver.metrics.file = optarg;
		return true;
	case 'p':
		o->port = optarg;
		return true;
	case 'q':
		return log_command_number(optarg, &o->quorum) && o->quorum;
	case 'S':
		return options_slot(o, optarg);
	case 't':
		session->flags |= LOG_ASK_TAKEOVER;
		return true;
	default:
		return false;
	}
}

static bool options_parse(struct options *o, int argc, char **argv)
{
	struct log_session *session = &o->receiver.log.session;
	int c;

	while ((c = getopt(argc, argv, "a:cd:efo:p:q:S:t")) != -1)
		if (!options_one(o, c))
			return false;
	if (!session->num_peers || o->deadline > UINT32_MAX ||
	    o->quorum > (uint64_t)session->num_peers)
		return false;
	session->quorum = (uint32_t)o->quorum;
	session->deadline = (uint32_t)o->deadline;
	return true;
}

static int receive(struct options *o)
{
	struct log_writer *log = &o->receiver.log;
	int err;

	log->nic.sleeps = true;
	err = log_writer_init(log, o->port);
	if (!err)
		err = pgwal_receive(&o->receiver);
	log_writer_free(log);
	return err == ESTALE ? PGWAL_RECEIVE_CUT_OFF : err != 0;
}

static int restore(struct options *o, const char *name, const char *path)
{
	struct log_writer *log = &o->receiver.log;
	int rc = PGWAL_RESTORE_ERROR;

	if (!log_writer_init(log, o->port))
		rc = pgwal_restore(log, name, path);
	log_writer_free(log);
	return rc;
}

static int archive(struct options *o, const char *directory)
{
	struct log_writer *log = &o->receiver.log;
	int err;

	err = log_writer_init(log, o->port);
	if (!err)
		err = pgwal_archive(log, directory);
	log_writer_free(log);
	return err != 0;
}

int main(int argc, char **argv)
{
	static struct options o = {
		.port = LOG_WRITER_PORT,
		.deadline = LOG_WRITER_DEADLINE,
		.receiver.server = { .conninfo = "", .slot = SLOT },
		.receiver.log.length = LOG_MAX_RECORD - sizeof(struct log_record),
	};
	const char *command = argc > 1 ? argv[1] : "";
	bool restores = !strcmp(command, "restore");
	int left;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || !options_parse(&o, argc - 1, argv + 1))
		return usage(restores);
	argv += 1 + optind;
	left = argc - 1 - optind;
	if (!strcmp(command, "receive") && left <= 1) {
		if (left)
			o.receiver.server.conninfo = argv[0];
		return receive(&o);
	}
	if (restores && left == 2)
		return restore(&o, argv[0], argv[1]);
	if (!strcmp(command, "archive") && left == 1)
		return archive(&o, argv[0]);
	return usage(restores);
}
