// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The standby between a server and a log of this file, with a clock of its own. Each status is
 * judged when it is sent: what it calls flushed must be durable in the log.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "ktap.h"
#include "pgwal_archive.h"
#include "pgwal_receive.h"

#define MIB		(1u << 20)
#define SYSTEM		7000000000000000001u
#define BEGIN		(3ull * MIB)
#define MAX_RECORDS	400
#define NEVER		UINT64_MAX
#define ROUNDS		1000000	/* of a standby that does not end */

enum act {
	END,		/* of the test */
	DATA,		/* @n bytes of WAL */
	BUFFERED,	/* ... that libpq gets at its next look: the socket is empty */
	ELSEWHERE,	/* @n bytes from another position */
	ASKS,		/* for a status */
	SILENCE,	/* @n ms */
	DONE,		/* the timeline ends, @n is the next */
	BREAKS,		/* the connection */
};

/* A step of the server. */
struct step {
	enum act act;
	uint32_t n;
};

static const char history[] = "1\t0/300200\tno recovery target specified\n";

static struct world {
	/* the server */
	const struct step *steps;
	uint32_t timeline;	/* of the connection that comes */
	uint64_t began, lsn;	/* of what it sends first, and next */
	uint64_t skips;		/* its slot is so far ahead of an empty log */
	uint64_t since;		/* its silence began; 0: it is not silent */
	bool heard;		/* libpq has what the server has sent */
	bool fresh;		/* ... since it has looked the last time */
	int opened, gave_up;
	size_t history_length;
	uint8_t bytes[2 * LOG_MAX_RECORD];
	uint64_t reports, asked, last;
	uint64_t last_at;	/* ms: the position had changed */
	/* the log */
	struct log_record *records[MAX_RECORDS];
	uint64_t num, durable;	/* in all sessions */
	uint64_t before;	/* this one */
	uint64_t most;		/* the log has room for so many */
	uint64_t hold;		/* polls until something is durable */
	uint64_t arms;
	bool armed, event;
	uint64_t ahead;		/* records are released before they are seen to be durable */
	uint64_t fails_at;	/* the session ends instead of this record */
	uint64_t until;		/* ms: the session ends */
	uint64_t promised;	/* the last epoch that a target has let in */
	int taken_at;		/* another writer was there before this session */
	uint32_t in_part;	/* bits: sessions that reach too few targets */
	int sessions, most_sessions, archived, emptied;
	uint64_t archive_end;
	uint64_t now, rounds;
} world;

static struct pgwal_receiver receiver;
static uint64_t rooms[LOG_LINK_WINDOW][LOG_MAX_RECORD / 8];

static uint8_t byte_at(uint32_t timeline, uint64_t lsn)
{
	return (uint8_t)(lsn * 31 + (lsn >> 8) * 7 + timeline);
}

/* The end of the WAL of a timeline that is durable. */
static uint64_t durable_end(uint32_t timeline)
{
	uint64_t end = 0;

	for (uint64_t i = 0; i < world.durable; i++) {
		const struct pgwal_entry *entry = pgwal_entry_of(world.records[i]);

		if (entry->kind == PGWAL_ENTRY_WAL && entry->timeline == timeline)
			end = entry->lsn + world.records[i]->length - sizeof(*entry);
	}
	return end;
}

/* ---- time ---- */

static uint64_t now(void)
{
	return world.now;
}

unsigned int sleep(unsigned int seconds)
{
	world.now += 1000ull * seconds;
	return 0;
}

/* ms until the server sends something */
static uint64_t silence_left(void)
{
	const struct step *step = world.steps;

	if (step->act == BUFFERED)
		return NEVER;
	if (step->act != SILENCE)
		return 0;
	if (!world.since)
		world.since = world.now;
	return world.now - world.since < step->n ? step->n - (world.now - world.since) : 0;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	uint64_t left;

	if (++world.rounds > ROUNDS)
		exit(1);
	left = fds[0].fd < 0 ? NEVER : silence_left();
	world.event = n == 2 && world.armed && world.num > world.durable;
	if (world.event)
		world.armed = false;
	fds[0].revents = left ? 0 : POLLIN;
	if (n == 2)
		fds[1].revents = world.event ? POLLIN : 0;
	if (!left || world.event) {
		world.now++;
		return !left + world.event;
	}
	world.now += left < (uint64_t)ms ? left : (uint64_t)ms;
	fds[0].revents = left <= (uint64_t)ms ? POLLIN : 0;
	return !!fds[0].revents;
}

/* ---- the server ---- */

int PQsocket(const PGconn *conn)
{
	(void)conn;
	return 5;
}

int pgwal_server_open(struct pgwal_server *server)
{
	world.opened++;
	if (world.steps->act == END) {
		strcpy(server->error, "the test is over");
		return EINVAL;
	}
	server->system = (struct pgwal_system){
		.id = SYSTEM, .restart = world.lsn + (world.emptied ? world.skips : 0),
		.timeline = world.timeline,
		.segment = MIB, .history = world.timeline > 1 ? history : NULL,
		.history_length = world.timeline > 1 ? strlen(history) : 0,
	};
	return 0;
}

void pgwal_server_close(struct pgwal_server *server)
{
	world.gave_up += !!strstr(server->error, "silent");
	server->error[0] = '\0';
}

int pgwal_server_history(struct pgwal_server *server, uint32_t timeline, const char **text,
			 size_t *length)
{
	(void)server;
	ktap_eq(timeline, 2);
	*text = history;
	*length = world.history_length ? world.history_length : strlen(history);
	return 0;
}

int pgwal_server_start(struct pgwal_server *server, uint32_t timeline, uint64_t lsn)
{
	(void)server;
	/* nothing of before may be in flight: its end would be taken for one of this stream */
	ktap_eq(world.durable, world.num);
	ktap_eq(timeline, world.timeline);
	world.began = lsn;
	world.lsn = lsn;
	world.last = 0;
	world.heard = false;
	return 0;
}

int pgwal_server_consume(struct pgwal_server *server)
{
	(void)server;
	ktap_ok(!receiver.metrics.full);
	world.heard = true;
	world.fresh = true;
	return 0;
}

static int message_of(struct pgwal_message *message, uint64_t start, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		world.bytes[i] = byte_at(world.timeline, start + i);
	*message = (struct pgwal_message){
		.kind = PGWAL_DATA, .start = start, .bytes = world.bytes, .length = n,
	};
	return 0;
}

/* Return: whether the server's next step can be seen. */
static bool hears(void)
{
	if (world.steps->act == SILENCE && !silence_left()) {
		world.since = 0;
		world.steps++;
	}
	if (world.steps->act == SILENCE || (world.steps->act == BUFFERED && !world.fresh))
		world.heard = false;
	return world.heard;
}

int pgwal_server_take(struct pgwal_server *server, struct pgwal_message *message)
{
	const struct step *step;

	memset(message, 0, sizeof(*message));
	if (!world.heard || !hears())
		return EAGAIN;
	world.fresh = false;
	step = world.steps;
	if (step->act != END)
		world.steps++;
	switch (step->act) {
	case DATA:
	case BUFFERED:
		world.lsn += step->n;
		return message_of(message, world.lsn - step->n, step->n);
	case ELSEWHERE:
		return message_of(message, world.lsn + 1, step->n);
	case ASKS:
		message->kind = PGWAL_KEEPALIVE;
		message->reply = true;
		return 0;
	case DONE:
		world.timeline = step->n;
		return ENODATA;
	default:
		strcpy(server->error, "the connection is lost");
		return ECONNRESET;
	}
}

int pgwal_server_report(struct pgwal_server *server, uint64_t flushed, bool reply)
{
	(void)server;
	ktap_ok(flushed == world.began || flushed <= durable_end(world.timeline));
	ktap_ok(flushed >= world.last);
	world.reports++;
	world.asked += reply;
	if (flushed != world.last)
		world.last_at = world.now;
	world.last = flushed;
	return 0;
}

/* ---- the log ---- */

int log_session_open(struct log_session *session)
{
	uint64_t last = session->tail.epoch;

	if (world.sessions++ == world.most_sessions)
		return EINVAL;
	world.promised += world.sessions == world.taken_at;
	session->seen = world.promised;
	session->tail.epoch = ++world.promised;
	if (world.in_part & 1u << world.sessions) {
		strcpy(session->error, "too few targets");
		return EIO;
	}
	if (session->empties) {
		ktap_ok(world.archived);
		ktap_eq(session->empties, last);
		for (; world.num; world.num--)
			free(world.records[world.num - 1]);
		world.durable = 0;
		world.emptied++;
	}
	session->size = 100;
	session->tail.offset = 0;
	session->left = session->num_peers;
	world.before = world.num;
	world.durable = world.num;
	return 0;
}

int log_session_walk(struct log_session *session,
		     int (*visit)(void *ctx, const struct log_record *record), void *ctx)
{
	int err = 0;

	(void)session;
	for (uint64_t i = 0; i < world.num && !err; i++)
		err = visit(ctx, world.records[i]);
	return err;
}

int log_session_append(struct log_session *session, struct log_record *record, uint64_t number,
		       const void *data, uint32_t length)
{
	const struct pgwal_entry *entry = data;
	const uint8_t *bytes = (const void *)(entry + 1);

	if (world.num == world.most)
		return ENOSPC;
	if (world.num + 1 == world.fails_at) {
		world.fails_at = 0;
		/* some of what was in flight is lost */
		for (; world.num > world.durable; world.num--)
			free(world.records[world.num - 1]);
		strcpy(session->error, "too few targets");
		return EIO;
	}
	ktap_eq(number, receiver.posted + 1);
	ktap_ok(world.num - log_session_released(session) - world.before < LOG_LINK_WINDOW);
	ktap_ok(world.num < MAX_RECORDS);
	if (entry->kind == PGWAL_ENTRY_WAL)
		for (uint32_t i = 0; i < length - sizeof(*entry); i++)
			if (bytes[i] != byte_at(entry->timeline, entry->lsn + i))
				ktap_eq(i, UINT32_MAX);
	record->length = length;
	memcpy(record + 1, data, length);
	world.records[world.num] = malloc(sizeof(*record) + length);
	memcpy(world.records[world.num++], record, sizeof(*record) + length);
	session->tail.offset = world.num;
	return 0;
}

int log_session_poll(struct log_session *session, uint64_t *durable)
{
	bool ends = world.until && world.now > world.until;

	if (world.hold)
		world.hold--;
	else if (world.durable < world.num)
		world.durable++;
	*durable = world.durable - world.before;
	if (ends)
		strcpy(session->error, "a target is gone");
	return ends ? EIO : 0;
}

uint64_t log_session_released(const struct log_session *session)
{
	uint64_t released = world.durable - world.before + world.ahead;

	(void)session;
	return released < world.num - world.before ? released : world.num - world.before;
}

struct log_record *log_writer_record(const struct log_writer *writer, uint64_t number)
{
	(void)writer;
	return (void *)rooms[number % LOG_LINK_WINDOW];
}

void log_writer_greet(const struct log_writer *writer)
{
	(void)writer;
}

void log_writer_close(struct log_writer *writer)
{
	(void)writer;
}

int log_group_arm(struct log_group *group)
{
	(void)group;
	world.arms++;
	world.armed = true;
	return 0;
}

void log_nic_woken(struct log_nic *nic)
{
	(void)nic;
	ktap_ok(world.event);
	world.event = false;
}

static int archive_visit(void *ctx, const struct log_record *record)
{
	return pgwal_log_add(ctx, record);
}

int pgwal_archive_session(struct log_session *session, const char *directory,
			  struct pgwal_log *state)
{
	ktap_ok(!strcmp(directory, "archive"));
	world.archived++;
	*state = (struct pgwal_log){};
	ktap_eq(log_session_walk(session, archive_visit, state), 0);
	world.archive_end = state->end;
	return 0;
}

void pgwal_metrics_write(struct pgwal_metrics *metrics, uint64_t at)
{
	(void)metrics;
	(void)at;
}

/* ---- the tests ---- */

static void begin(const struct step *steps)
{
	static const struct log_link_ops ops = { .now = now };
	static struct ibv_comp_channel channel;

	while (world.num)
		free(world.records[--world.num]);
	world = (struct world){
		.steps = steps, .timeline = 1, .lsn = BEGIN + 77, .now = 1000, .most = NEVER,
		.most_sessions = 10,
	};
	memset(&receiver, 0, sizeof(receiver));
	receiver.log.session.ops = &ops;
	receiver.log.session.num_peers = 2;
	receiver.log.nic.channel = &channel;
}

static uint64_t wal_bytes(void)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < world.num; i++)
		if (pgwal_entry_of(world.records[i])->kind == PGWAL_ENTRY_WAL)
			bytes += world.records[i]->length - sizeof(struct pgwal_entry);
	return bytes;
}

static void reports_what_is_durable(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 200 }, { DATA, 5000 }, { DATA, 60000 },
		{ DATA, 70000 }, { SILENCE, 400 }, { DATA, 1 }, { SILENCE, 400 }, {},
	};

	begin(steps);
	world.hold = 5;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(wal_bytes(), 135101);
	ktap_eq(world.last, BEGIN + 135101);
	/* what arrives together is together */
	ktap_eq(world.num, 1 + 3 + 1);
}

/* Nothing is durable for a long time. Records may be released before they are seen to be. */
static void window(void)
{
	static struct step steps[193];

	for (int i = 0; i < 190; i++)
		steps[i] = i % 2 ? (struct step){ SILENCE, 1 } : (struct step){ DATA, 64 };
	steps[190] = (struct step){ SILENCE, 9000 };
	for (uint64_t ahead = 0; ahead <= 20; ahead += 20) {
		begin(steps);
		world.hold = 300;
		world.ahead = ahead;
		ktap_eq(pgwal_receive(&receiver), EINVAL);
		ktap_eq(world.last, BEGIN + 95 * 64);
	}
}

static void server_asks(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 500 }, { ASKS, 0 }, { SILENCE, 500 }, {},
	};

	begin(steps);
	world.hold = 3;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	/* at the beginning, for the record, for the question */
	ktap_eq(world.reports, 3);
	ktap_eq(world.asked, 0);
}

static void silent_server(void)
{
	static const struct step steps[] = { { DATA, 100 }, { SILENCE, 59000 }, { ASKS, 0 }, {}, };
	static const struct step longer[] = { { DATA, 100 }, { SILENCE, 70000 }, {}, };

	begin(steps);
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_ok(world.asked >= 25);
	ktap_eq(world.gave_up, 0);
	/* three by itself, those with a question, and for the question of the server */
	ktap_ok(world.reports >= world.asked + 4);
	begin(longer);
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.gave_up, 1);
	ktap_eq(wal_bytes(), 100);
}

static void wal_of_another_place(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 100 }, { ELSEWHERE, 50 }, { DATA, 10 },
		{ SILENCE, 100 }, {},
	};

	begin(steps);
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.opened, 3);
	ktap_eq(wal_bytes(), 110);
	ktap_eq(world.last, BEGIN + 110);
}

/* The connection breaks while a message is in two parts, and while records are in flight. */
static void connection_breaks(void)
{
	static const struct step steps[] = {
		{ DATA, 100000 }, { BREAKS, 0 }, { DATA, 10 }, { SILENCE, 100 }, { DATA, 30 },
		{ BREAKS, 0 }, { SILENCE, 100 }, {},
	};

	begin(steps);
	world.hold = 20;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(wal_bytes(), 100040);
	ktap_eq(world.last, BEGIN + 100040);
}

static void next_timeline(void)
{
	static const struct step steps[] = {
		{ DATA, 0x250 }, { DONE, 2 }, { DATA, 0x300 }, { SILENCE, 100 }, {},
	};
	static const uint32_t kinds[] = {
		PGWAL_ENTRY_WAL, PGWAL_ENTRY_HISTORY, PGWAL_ENTRY_WAL,
	};

	begin(steps);
	world.hold = 20;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.num, 3);
	for (uint64_t i = 0; i < world.num && i < 3; i++)
		ktap_eq(pgwal_entry_of(world.records[i])->kind, kinds[i]);
	ktap_eq(world.last, BEGIN + 0x300);
	begin(steps);
	world.history_length = PGWAL_ENTRY_MAX + 1;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.num, 1);
}

/* There is no memory for more when the timeline ends. */
static void no_memory_at_the_end(uint32_t rest)
{
	struct step steps[2 * LOG_LINK_WINDOW + 4] = {};
	int i;

	for (i = 0; i < 2 * LOG_LINK_WINDOW; i++)
		steps[i] = i % 2 ? (struct step){ SILENCE, 1 } : (struct step){ DATA, 16 };
	if (rest)
		steps[i++] = (struct step){ DATA, rest };
	steps[i++] = (struct step){ DONE, 2 };
	steps[i++] = (struct step){ SILENCE, 100 };
	begin(steps);
	world.hold = 500;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(wal_bytes(), 16 * LOG_LINK_WINDOW + rest);
	ktap_eq(world.opened, 3);
}

static void rest_is_kept(void)
{
	no_memory_at_the_end(0x200);
	no_memory_at_the_end(0);
}

/* Records that were not durable come again. */
static void session_fails(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 300 }, { DATA, 70000 }, { DATA, 80000 },
		{ SILENCE, 300 }, { DATA, 70000 }, { DATA, 80000 }, { SILENCE, 3000 }, {},
	};

	begin(steps);
	world.fails_at = 3;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.sessions, 2);
	ktap_eq(world.last, BEGIN + wal_bytes());
	ktap_eq(wal_bytes(), 150100);
}

static void taken_over(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 300 }, { DATA, 100 }, { SILENCE, 300 }, {},
	};

	begin(steps);
	world.fails_at = 2;
	world.taken_at = 2;
	ktap_eq(pgwal_receive(&receiver), ESTALE);
	ktap_eq(wal_bytes(), 100);
	ktap_eq(world.sessions, 2);
	/* the session that could notice it does not open */
	begin(steps);
	world.fails_at = 2;
	world.taken_at = 2;
	world.in_part = 1u << 2;
	ktap_eq(pgwal_receive(&receiver), ESTALE);
	ktap_eq(wal_bytes(), 100);
	ktap_eq(world.sessions, 2);
}

/* The epoch of a session that did not open is no other writer's. */
static void not_taken_over(void)
{
	static const struct step short_steps[] = {
		{ DATA, 100 }, { SILENCE, 300 }, { DATA, 100 }, { SILENCE, 300 }, {},
	};
	static struct step steps[60];

	begin(short_steps);
	world.fails_at = 2;
	world.in_part = 1u << 2 | 1u << 3;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.sessions, 4);
	for (int i = 0; i < 50; i++)
		steps[i] = i % 2 ? (struct step){ SILENCE, 100 } : (struct step){ DATA, 60000 };
	/* that which reads the full log for the archive, and that which empties it */
	for (int nth = 2; nth <= 3; nth++) {
		begin(steps);
		receiver.archive = "archive";
		world.most = 20;
		world.in_part = 1u << nth;
		ktap_eq(pgwal_receive(&receiver), EINVAL);
		ktap_eq(world.archived, nth - 1);
		ktap_eq(world.emptied, 1);
	}
}

static void full_log_waits(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 100 }, { DATA, 100 }, { SILENCE, 100 }, { DATA, 100 },
		{ SILENCE, 1 }, { DATA, 100 }, {},
	};

	begin(steps);
	world.most = 2;
	world.until = 100000;
	world.most_sessions = 1;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.last, BEGIN + 200);
	ktap_ok(receiver.metrics.full);
	/* it gets statuses nevertheless */
	ktap_ok(world.reports >= 9);
	ktap_eq(world.opened, 1);
	ktap_eq(world.archived, 0);
}

static void full_log_is_archived(void)
{
	static struct step steps[60];

	for (int i = 0; i < 50; i++)
		steps[i] = i % 2 ? (struct step){ SILENCE, 100 } : (struct step){ DATA, 60000 };
	begin(steps);
	receiver.archive = "archive";
	world.most = 20;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.archived, 1);
	ktap_eq(world.emptied, 1);
	ktap_ok(world.num > 0 && world.num < 20);
	/* its segments would be in the archive with each record */
	begin(steps);
	receiver.archive = "archive";
	world.most = 10;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.archived, 0);
}

/* The server has more WAL, and the slot has not kept it for the log. */
static void emptied_log_goes_on(void)
{
	static struct step steps[60];
	const struct pgwal_entry *first;

	for (int i = 0; i < 50; i++)
		steps[i] = i % 2 ? (struct step){ SILENCE, 100 } : (struct step){ DATA, 60000 };
	begin(steps);
	receiver.archive = "archive";
	world.most = 20;
	world.skips = 8 * MIB;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.emptied, 1);
	ktap_ok(world.num > 0);
	first = pgwal_entry_of(world.records[0]);
	ktap_eq(first->lsn, world.archive_end - world.archive_end % MIB);
}

/* A record that is durable at the first look costs no event. */
static void event_when_needed(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { SILENCE, 5000 }, { DATA, 100 }, { SILENCE, 5000 }, {},
	};

	begin(steps);
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.last, BEGIN + 200);
	ktap_eq(world.arms, 0);
	/* it is reported at once nevertheless if it takes longer */
	begin(steps);
	world.hold = 20;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_eq(world.last, BEGIN + 200);
	ktap_ok(world.arms > 0);
	begin(steps + 2);
	world.hold = 20;
	ktap_eq(pgwal_receive(&receiver), EINVAL);
	ktap_ok(world.last_at < 1000 + 20 + 5);
}

/* Bytes that libpq has taken from the socket, and not looked at (TLS). */
static void bytes_in_libpq(void)
{
	static const struct step steps[] = {
		{ DATA, 100 }, { BUFFERED, 50 }, { SILENCE, 100 }, {},
	};

	for (uint64_t hold = 0; hold <= 3; hold += 3) {
		begin(steps);
		world.hold = hold;
		ktap_eq(pgwal_receive(&receiver), EINVAL);
		ktap_eq(world.last, BEGIN + 150);
		ktap_ok(world.last_at < 1000 + 1000 + 100);
	}
}

static const struct ktap_test tests[] = {
	KTAP(reports_what_is_durable),
	KTAP(event_when_needed),
	KTAP(bytes_in_libpq),
	KTAP(window),
	KTAP(server_asks),
	KTAP(silent_server),
	KTAP(wal_of_another_place),
	KTAP(connection_breaks),
	KTAP(next_timeline),
	KTAP(rest_is_kept),
	KTAP(session_fails),
	KTAP(taken_over),
	KTAP(not_taken_over),
	KTAP(full_log_waits),
	KTAP(full_log_is_archived),
	KTAP(emptied_log_goes_on),
};

KTAP_MAIN(tests)
