/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A replication connection to PostgreSQL, by libpq. */
#ifndef PGWAL_SERVER_H
#define PGWAL_SERVER_H

#include <libpq-fe.h>

#include "pgwal_log.h"

struct pgwal_server {
	/* the caller's */
	const char *conninfo;
	const char *slot;
	bool create;		/* the slot, if it is not there */
	/* the server's */
	PGconn *conn;
	PGresult *history;	/* has what system.history points to */
	struct pgwal_system system;
	bool made;		/* the slot, by this process: it has kept nothing before */
	char *taken;		/* the message that was taken last */
	char error[400];
};

/* All return 0 or an errno with the reason in ->error, if they return anything. */

/* Connects, and asks what the server is. EINVAL: it does not help to ask again. */
int pgwal_server_open(struct pgwal_server *server);
void pgwal_server_close(struct pgwal_server *server);

/* The history of a timeline; the bytes stay until the next call. */
int pgwal_server_history(struct pgwal_server *server, uint32_t timeline,
			 const char **text, size_t *length);
/* WAL arrives from now on. EINVAL as above: there is no slot, or no such WAL. */
int pgwal_server_start(struct pgwal_server *server, uint32_t timeline,
		       uint64_t lsn);

/* Bytes that have arrived become messages. */
int pgwal_server_consume(struct pgwal_server *server);
/*
 * The next message; its bytes stay until the next call. EAGAIN: none has arrived;
 * ENODATA: the timeline has ended.
 */
int pgwal_server_take(struct pgwal_server *server,
		      struct pgwal_message *message);
/* All before @flushed is durable. @reply: the server shall answer at once */
int pgwal_server_report(struct pgwal_server *server, uint64_t flushed,
			bool reply);

#endif /* PGWAL_SERVER_H */
