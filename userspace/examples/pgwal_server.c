// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pgwal_server.h"

#define READ_SLOT_VERSION	150000	/* READ_REPLICATION_SLOT */
#define NO_SUCH_OBJECT		"42704"
#define DUPLICATE_OBJECT	"42710"

static __attribute__((format(printf, 3, 4))) int
pgwal_server_fail(struct pgwal_server *server, int err, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(server->error, sizeof(server->error), format, args);
	va_end(args);
	/* messages of libpq end with a newline */
	for (n = strlen(server->error); n && server->error[n - 1] == '\n'; n--)
		server->error[n - 1] = '\0';
	return err;
}

/* Another attempt may help, unless the server has refused the command itself. */
static int pgwal_server_lost(struct pgwal_server *server, const char *what)
{
	return pgwal_server_fail(server, EIO, "%s: %s", what,
				 PQerrorMessage(server->conn));
}

static const char *pgwal_server_state(const PGresult *result)
{
	return PQresultErrorField(result, PG_DIAG_SQLSTATE) ?: "";
}

/* Return: a result of @status, or NULL with the reason in ->error. */
static PGresult *pgwal_server_ask(struct pgwal_server *server,
				  const char *command, ExecStatusType status)
{
	PGresult *result = PQexec(server->conn, command);

	if (PQresultStatus(result) == status)
		return result;
	pgwal_server_lost(server, command);
	PQclear(result);
	return NULL;
}

static bool pgwal_server_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text && !*end && !errno;
}

/* "16MB" */
static bool pgwal_server_size(const char *text, uint32_t *bytes)
{
	unsigned int number;
	char unit[3];

	if (sscanf(text, "%u%2s", &number, unit) != 2 || number > 1024)
		return false;
	*bytes = strcmp(unit, "GB") ? number << 20 : number << 30;
	return (!strcmp(unit, "GB") || !strcmp(unit, "MB")) &&
	       pgwal_segment_is_valid(*bytes);
}

static int pgwal_server_segment(struct pgwal_server *server)
{
	PGresult *result = pgwal_server_ask(server, "SHOW wal_segment_size",
					    PGRES_TUPLES_OK);
	bool good;

	if (!result)
		return EIO;
	good = PQntuples(result) == 1 && PQnfields(result) >= 1 &&
	       pgwal_server_size(PQgetvalue(result, 0, 0),
				 &server->system.segment);
	PQclear(result);
	return good ? 0 : pgwal_server_fail(server, EINVAL,
		"the server has no wal_segment_size that is understood");
}

static int pgwal_server_identify(struct pgwal_server *server)
{
	PGresult *result = pgwal_server_ask(server, "IDENTIFY_SYSTEM",
					    PGRES_TUPLES_OK);
	struct pgwal_system *system = &server->system;
	uint64_t timeline = 0;
	bool good;

	if (!result)
		return EIO;
	good = PQntuples(result) == 1 && PQnfields(result) >= 3 &&
	       pgwal_server_number(PQgetvalue(result, 0, 0), &system->id) &&
	       system->id &&
	       pgwal_server_number(PQgetvalue(result, 0, 1), &timeline) &&
	       timeline && timeline <= UINT32_MAX &&
	       pgwal_lsn_parse(PQgetvalue(result, 0, 2), &system->restart);
	system->timeline = (uint32_t)timeline;
	PQclear(result);
	return good ? 0 : pgwal_server_fail(server, EINVAL,
		"the answer to IDENTIFY_SYSTEM is not understood");
}

/* A slot that is there already is no error. */
static int pgwal_server_make_slot(struct pgwal_server *server)
{
	PGresult *result;
	char command[128];
	bool there;

	snprintf(command, sizeof(command),
		 "CREATE_REPLICATION_SLOT \"%s\" PHYSICAL RESERVE_WAL",
		 server->slot);
	result = PQexec(server->conn, command);
	server->made |= PQresultStatus(result) == PGRES_TUPLES_OK;
	there = server->made ||
		!strcmp(pgwal_server_state(result), DUPLICATE_OBJECT);
	PQclear(result);
	return there ? 0 : pgwal_server_lost(server, command);
}

/*
 * A log that begins takes all that the slot has kept: WAL before its beginning is reported as
 * flushed. An older server does not say where the WAL of the slot begins.
 */
static int pgwal_server_read_slot(struct pgwal_server *server)
{
	PGresult *result;
	char command[128];

	if (PQserverVersion(server->conn) < READ_SLOT_VERSION) {
		if (!server->made)
			server->system.restart = 0;
		return 0;
	}
	snprintf(command, sizeof(command), "READ_REPLICATION_SLOT \"%s\"",
		 server->slot);
	result = pgwal_server_ask(server, command, PGRES_TUPLES_OK);
	if (!result)
		return EIO;
	if (PQntuples(result) == 1 && PQnfields(result) >= 2)
		pgwal_lsn_parse(PQgetvalue(result, 0, 1),
				&server->system.restart);
	PQclear(result);
	return 0;
}

int pgwal_server_history(struct pgwal_server *server, uint32_t timeline,
			 const char **text, size_t *length)
{
	char command[64];

	PQclear(server->history);
	snprintf(command, sizeof(command), "TIMELINE_HISTORY %" PRIu32,
		 timeline);
	server->history = pgwal_server_ask(server, command, PGRES_TUPLES_OK);
	if (!server->history)
		return EIO;
	if (PQntuples(server->history) != 1 || PQnfields(server->history) < 2)
		return pgwal_server_fail(server, EINVAL,
			"the answer to %s is not understood", command);
	*text = PQgetvalue(server->history, 0, 1);
	*length = (size_t)PQgetlength(server->history, 0, 1);
	return 0;
}

static int pgwal_server_connect(struct pgwal_server *server)
{
	const char *const keywords[] = {
		"dbname", "replication", "fallback_application_name", NULL
	};
	const char *const values[] = {
		server->conninfo, "true", "cairn", NULL
	};

	server->conn = PQconnectdbParams(keywords, values, 1);
	if (!server->conn)
		return pgwal_server_fail(server, ENOMEM, "no memory");
	if (PQstatus(server->conn) != CONNECTION_OK)
		return pgwal_server_fail(server, EIO, "%s",
					 PQerrorMessage(server->conn));
	return 0;
}

int pgwal_server_open(struct pgwal_server *server)
{
	int err;

	pgwal_server_close(server);
	server->system = (struct pgwal_system){};
	err = pgwal_server_connect(server);
	if (!err)
		err = pgwal_server_identify(server);
	if (!err)
		err = pgwal_server_segment(server);
	if (!err && server->create)
		err = pgwal_server_make_slot(server);
	if (!err)
		err = pgwal_server_read_slot(server);
	if (!err && server->system.timeline > 1)
		err = pgwal_server_history(server, server->system.timeline,
					   &server->system.history,
					   &server->system.history_length);
	return err;
}

void pgwal_server_close(struct pgwal_server *server)
{
	PQfreemem(server->taken);
	PQclear(server->history);
	PQfinish(server->conn);
	server->taken = NULL;
	server->history = NULL;
	server->conn = NULL;
}

/* The server has an answer, but no WAL. */
static int pgwal_server_refused(struct pgwal_server *server,
				const PGresult *result)
{
	const char *message = PQresultErrorMessage(result);

	if (!strcmp(pgwal_server_state(result), NO_SUCH_OBJECT))
		return pgwal_server_fail(server, EINVAL,
			"the server has no replication slot \"%s\""
			" (receive -c makes it): %s", server->slot, message);
	if (strstr(message, "has already been removed"))
		return pgwal_server_fail(server, EINVAL,
			"the server lacks WAL that the log needs: begin another"
			" log (receive -c) and take a base backup: %s",
			message);
	return pgwal_server_fail(server, EIO, "%s", message);
}

int pgwal_server_start(struct pgwal_server *server, uint32_t timeline,
		       uint64_t lsn)
{
	char command[160], text[PGWAL_LSN_TEXT];
	PGresult *result;
	int err = 0;

	snprintf(command, sizeof(command), "START_REPLICATION SLOT \"%s\""
		 " PHYSICAL %s TIMELINE %" PRIu32, server->slot,
		 pgwal_lsn_format(text, lsn), timeline);
	result = PQexec(server->conn, command);
	if (PQresultStatus(result) != PGRES_COPY_BOTH)
		err = pgwal_server_refused(server, result);
	PQclear(result);
	return err;
}

int pgwal_server_consume(struct pgwal_server *server)
{
	return PQconsumeInput(server->conn) ? 0 :
	       pgwal_server_fail(server, EIO, "%s",
				 PQerrorMessage(server->conn));
}

/* The end of a timeline, or of the server. */
static int pgwal_server_ended(struct pgwal_server *server)
{
	PGresult *result = PQgetResult(server->conn);
	ExecStatusType status = PQresultStatus(result);
	const char *message = PQresultErrorMessage(result);
	int err = ENODATA;

	if (status != PGRES_COPY_IN && status != PGRES_TUPLES_OK)
		err = pgwal_server_fail(server, EIO, "%s", *message ? message :
					"the server has ended the connection");
	PQclear(result);
	return err;
}

int pgwal_server_take(struct pgwal_server *server,
		      struct pgwal_message *message)
{
	int n;

	PQfreemem(server->taken);
	server->taken = NULL;
	n = PQgetCopyData(server->conn, &server->taken, 1);
	if (!n)
		return EAGAIN;
	if (n == -1)
		return pgwal_server_ended(server);
	if (n < 0)
		return pgwal_server_fail(server, EIO, "%s",
					 PQerrorMessage(server->conn));
	if (pgwal_message_parse(message, server->taken, (size_t)n))
		return pgwal_server_fail(server, EPROTO,
			"a message of %d bytes is not understood", n);
	return 0;
}

int pgwal_server_report(struct pgwal_server *server, uint64_t flushed,
			bool reply)
{
	uint8_t status[PGWAL_STATUS_BYTES];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	pgwal_status_make(status, flushed, (uint64_t)now.tv_sec * 1000000 +
			  (uint64_t)now.tv_nsec / 1000, reply);
	if (PQputCopyData(server->conn, (const char *)status,
			  sizeof(status)) == 1 && !PQflush(server->conn))
		return 0;
	return pgwal_server_fail(server, EIO, "%s",
				 PQerrorMessage(server->conn));
}
