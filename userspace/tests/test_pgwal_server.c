// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The description that a server gives of itself; this file answers in place of libpq. */
#include <errno.h>
#include <string.h>

#include "ktap.h"
#include "pgwal_server.h"

#define FIELDS	3

/* One row. */
struct pg_result {
	const char *command;	/* it begins with that */
	int fields;
	const char *values[FIELDS];
};

static struct pg_result answers[] = {
	{ "IDENTIFY_SYSTEM", 3, { "7000000000000000001", "2", "0/5000000" } },
	{ "SHOW", 1, { "16MB" } },
	{ "READ_REPLICATION_SLOT", 2, { "physical", "0/3000028" } },
	{ "TIMELINE_HISTORY", 2, { "00000002.history", "1\t0/3000000\tno\n" } },
};

static struct pg_result slot_made = { "CREATE_REPLICATION_SLOT", 4, { "cairn" } };
static struct pg_result slot_is_there = { "", 0, { NULL } };
static bool made;	/* the slot is new */
static int version = 150000;

#define ANSWERS	(sizeof(answers) / sizeof(answers[0]))

/* ---- libpq ---- */

PGconn *PQconnectdbParams(const char *const *keywords, const char *const *values, int expand)
{
	(void)keywords;
	(void)values;
	(void)expand;
	return (PGconn *)answers;
}

ConnStatusType PQstatus(const PGconn *conn)
{
	(void)conn;
	return CONNECTION_OK;
}

int PQserverVersion(const PGconn *conn)
{
	(void)conn;
	return version;
}

char *PQerrorMessage(const PGconn *conn)
{
	(void)conn;
	return (char *)"made up\n";
}

PGresult *PQexec(PGconn *conn, const char *command)
{
	(void)conn;
	if (!strncmp(command, slot_made.command, strlen(slot_made.command)))
		return made ? &slot_made : &slot_is_there;
	for (size_t i = 0; i < ANSWERS; i++)
		if (!strncmp(command, answers[i].command, strlen(answers[i].command)))
			return &answers[i];
	return NULL;
}

ExecStatusType PQresultStatus(const PGresult *result)
{
	return result && result != &slot_is_there ? PGRES_TUPLES_OK :
						    PGRES_FATAL_ERROR;
}

int PQntuples(const PGresult *result)
{
	return result ? 1 : 0;
}

int PQnfields(const PGresult *result)
{
	return result ? result->fields : 0;
}

char *PQgetvalue(const PGresult *result, int row, int field)
{
	return row || field >= result->fields ? NULL : (char *)result->values[field];
}

int PQgetlength(const PGresult *result, int row, int field)
{
	return (int)strlen(PQgetvalue(result, row, field));
}

char *PQresultErrorField(const PGresult *result, int field)
{
	(void)field;
	return result == &slot_is_there ? (char *)"42710" : NULL;
}

char *PQresultErrorMessage(const PGresult *result)
{
	(void)result;
	return (char *)"";
}

void PQclear(PGresult *result)
{
	(void)result;
}

void PQfreemem(void *memory)
{
	(void)memory;
}

void PQfinish(PGconn *conn)
{
	(void)conn;
}

/* the stream is not tested here */

int PQconsumeInput(PGconn *conn)
{
	(void)conn;
	return 0;
}

PGresult *PQgetResult(PGconn *conn)
{
	(void)conn;
	return NULL;
}

int PQgetCopyData(PGconn *conn, char **buffer, int async)
{
	(void)conn;
	(void)buffer;
	(void)async;
	return -2;
}

int PQputCopyData(PGconn *conn, const char *buffer, int bytes)
{
	(void)conn;
	(void)buffer;
	(void)bytes;
	return -1;
}

int PQflush(PGconn *conn)
{
	(void)conn;
	return -1;
}

/* ---- the tests ---- */

static struct pgwal_server server = { .conninfo = "", .slot = "cairn" };

static void understood(void)
{
	ktap_eq(pgwal_server_open(&server), 0);
	ktap_eq(server.system.id, 7000000000000000001u);
	ktap_eq(server.system.timeline, 2);
	ktap_eq(server.system.segment, 16u << 20);
	ktap_eq(server.system.restart, 0x3000028);
	ktap_eq(server.system.history_length, strlen(answers[3].values[1]));
}

/* Each answer with too few columns, also with none at all. */
static void answers_lack_columns(void)
{
	for (size_t i = 0; i < ANSWERS; i++) {
		const int fields = answers[i].fields;

		for (answers[i].fields = 0; answers[i].fields < fields; answers[i].fields++)
			/* a slot that is not there has no position */
			ktap_eq(pgwal_server_open(&server), i == 2 ? 0 : EINVAL);
	}
}

/* An old server does not tell what its slot has kept; a new slot has kept nothing before. */
static void old_server(void)
{
	version = 140000;
	ktap_eq(pgwal_server_open(&server), 0);
	ktap_eq(server.system.restart, 0);
	server.create = true;
	ktap_eq(pgwal_server_open(&server), 0);
	ktap_eq(server.system.restart, 0);
	made = true;
	ktap_eq(pgwal_server_open(&server), 0);
	ktap_eq(server.system.restart, 0x5000000);
	/* the first connection to it was lost */
	made = false;
	ktap_eq(pgwal_server_open(&server), 0);
	ktap_eq(server.system.restart, 0x5000000);
	version = 150000;
	ktap_eq(pgwal_server_open(&server), 0);
	ktap_eq(server.system.restart, 0x3000028);
	server.create = false;
}

static const struct ktap_test tests[] = {
	KTAP(understood),
	KTAP(old_server),
	KTAP(answers_lack_columns),
};

KTAP_MAIN(tests)
