// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pgwal_client CONNINFO CLIENTS FILE: clients of PostgreSQL that insert rows, each with
 * numbers of its own from what FILE.CLIENT has on, and keep there the last number that was
 * reported as committed. It ends when a client has lost its connection.
 */
#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CLIENTS	64

struct client {
	const char *conninfo;
	int number, fd;
};

static long client_last(const struct client *client)
{
	char text[32] = "";

	return pread(client->fd, text, sizeof(text) - 1, 0) > 0 ? atol(text) : 0;
}

static void client_note(const struct client *client, long last)
{
	char text[32];

	snprintf(text, sizeof(text), "%20ld\n", last);
	if (pwrite(client->fd, text, strlen(text), 0) < 0)
		perror("the record of a client");
}

static void *client_run(void *ctx)
{
	const struct client *client = ctx;
	PGconn *conn = PQconnectdb(client->conninfo);
	long last = client_last(client);
	PGresult *result;
	char insert[160];
	int good = PQstatus(conn) == CONNECTION_OK;

	while (good) {
		/* one that was not reported may be there */
		snprintf(insert, sizeof(insert), "INSERT INTO told VALUES (%d, %ld,"
			 " repeat('x', %ld)) ON CONFLICT DO NOTHING",
			 client->number, last + 1, last * 37 % 1000);
		result = PQexec(conn, insert);
		good = PQresultStatus(result) == PGRES_COMMAND_OK;
		PQclear(result);
		if (good)
			client_note(client, ++last);
	}
	fprintf(stderr, "client %d: %s", client->number, PQerrorMessage(conn));
	PQfinish(conn);
	exit(0);
}

int main(int argc, char **argv)
{
	static struct client clients[MOST_CLIENTS];
	int count = argc == 4 ? atoi(argv[2]) : 0;
	char name[4096];
	pthread_t thread;

	if (count < 1 || count > MOST_CLIENTS)
		return 2;
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s.%d", argv[3], i);
		clients[i] = (struct client){
			.conninfo = argv[1], .number = i,
			.fd = open(name, O_RDWR | O_CREAT, 0644),
		};
		if (clients[i].fd < 0 ||
		    pthread_create(&thread, NULL, client_run, &clients[i])) {
			perror(name);
			return 1;
		}
	}
	pause();
	return 0;
}
