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
#include "wants_help.h"

#define SLOT	"cairn"

static void usage(FILE *to)
{
	fprintf(to,
		"usage: cairn_pgwal receive -a ADDRESS[,PORT] [-a ...] [-p PORT] [-q QUORUM]\n"
		"                   [-S SLOT] [-d MS] [-o FILE] [-A DIRECTORY] [-ceft] [CONNINFO]\n"
		"       cairn_pgwal restore -a ADDRESS[,PORT] [-a ...] [-p PORT] [-d MS] [-et] FILE PATH\n"
		"       cairn_pgwal archive -a ADDRESS[,PORT] [-a ...] [-p PORT] [-d MS] [-et] DIRECTORY\n"
		"CONNINFO: how to connect to the primary, for instance \"host=db1 user=cairn\"\n"
		"-c: create the log and the replication slot if they are not there;\n"
		"-f: fill empty targets; -t: take over from a writer that is connected;\n"
		"-q: so many targets are enough (of a new log: all);\n"
		"-o: FILE gets counters for Prometheus;\n"
		"-A: a full log goes to DIRECTORY, and begins anew;\n"
		"-d: a slower target is left out (5000); -e: targets count that keep nothing\n");
}

/* PostgreSQL must not take a wrong restore_command for the end of the archive. */
static int wrong_usage(bool restores)
{
	usage(stderr);
	return restores ? PGWAL_RESTORE_ERROR : 2;
}

/* PostgreSQL allows no other names. */
static bool options_slot(struct pgwal_receiver *receiver, const char *name)
{
	receiver->server.slot = name;
	if (!*name || strlen(name) > 63)
		return false;
	for (; *name; name++)
		if (!islower((unsigned char)*name) &&
		    !isdigit((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static bool options_one(struct pgwal_receiver *receiver, int c)
{
	switch (c) {
	case 'A':
		receiver->archive = optarg;
		return true;
	case 'c':
		receiver->server.create = true;
		return log_writer_option(&receiver->log, c, NULL);
	case 'o':
		receiver->metrics.file = optarg;
		return true;
	case 'S':
		return options_slot(receiver, optarg) ||
		       log_command_refuse(c, optarg, "1 to 63 of a-z, 0-9 and _");
	default:
		return log_writer_option(&receiver->log, c, optarg);
	}
}

static bool options_parse(struct pgwal_receiver *receiver, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, LOG_WRITER_OPTIONS "A:o:S:")) != -1)
		if (!options_one(receiver, c))
			return false;
	return receiver->log.session.num_peers && log_writer_options_fit(&receiver->log);
}

static int begin(struct log_writer *log)
{
	int err = log_writer_init(log);

	return err ? log_command_fail("memory", err) : 0;
}

static int receive(struct pgwal_receiver *receiver)
{
	struct log_writer *log = &receiver->log;
	int err;

	log->nic.sleeps = true;
	err = begin(log);
	if (!err)
		err = pgwal_receive(receiver);
	log_writer_free(log);
	return err == ESTALE ? PGWAL_RECEIVE_CUT_OFF : err != 0;
}

static int restore(struct log_writer *log, const char *name, const char *path)
{
	int rc = PGWAL_RESTORE_ERROR;

	if (!begin(log))
		rc = pgwal_restore(log, name, path);
	log_writer_free(log);
	return rc;
}

static int archive(struct log_writer *log, const char *directory)
{
	int err;

	err = begin(log);
	if (!err)
		err = pgwal_archive(log, directory);
	log_writer_free(log);
	return log_command_end(err) != 0;
}

int main(int argc, char **argv)
{
	static struct pgwal_receiver receiver = {
		.server = { .conninfo = "", .slot = SLOT },
		.log = LOG_WRITER_DEFAULTS,
	};
	const char *command = argc > 1 ? argv[1] : "";
	bool restores = !strcmp(command, "restore");
	int left;

	setvbuf(stdout, NULL, _IOLBF, 0);
	receiver.log.length = LOG_MAX_RECORD - sizeof(struct log_record);
	if (wants_help(argc, argv)) {
		usage(stdout);
		return 0;
	}
	if (argc < 2 || !options_parse(&receiver, argc - 1, argv + 1))
		return wrong_usage(restores);
	argv += 1 + optind;
	left = argc - 1 - optind;
	if (!strcmp(command, "receive") && left <= 1) {
		if (left)
			receiver.server.conninfo = argv[0];
		return receive(&receiver);
	}
	if (restores && left == 2)
		return restore(&receiver.log, argv[0], argv[1]);
	if (!strcmp(command, "archive") && left == 1)
		return archive(&receiver.log, argv[0]);
	return wrong_usage(restores);
}
