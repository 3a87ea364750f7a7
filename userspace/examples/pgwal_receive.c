// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pgwal_archive.h"
#include "pgwal_receive.h"

#define TICK_MS		1000	/* members that are away are asked so often */
#define BUSY_MS		50	/* ... or while one of them answers */
#define REPORT_MS	10000	/* wal_receiver_status_interval of a standby */
#define SILENT_MS	30000	/* then the server is asked ... */
#define DEAD_MS		60000	/* ... and given up: wal_sender_timeout */
#define FULL_PERCENT	90
#define ARCHIVE_S	10	/* until the next try to write an archive */

static uint64_t pgwal_receive_now(const struct pgwal_receiver *receiver)
{
	return receiver->log.session.ops->now();
}

/* ---- records ---- */

static uint64_t pgwal_receive_in_flight(const struct pgwal_receiver *receiver)
{
	return receiver->posted - receiver->before - receiver->durable;
}

/*
 * Whether the next record has memory. A record may be released before it was seen to be
 * durable; its place in ->ends is needed until then.
 */
static bool pgwal_receive_has_room(const struct pgwal_receiver *receiver)
{
	uint64_t free_from = log_session_released(&receiver->log.session);

	if (free_from > receiver->durable)
		free_from = receiver->durable;
	return receiver->posted - receiver->before <
	       free_from + LOG_LINK_WINDOW;
}

static void pgwal_receive_warn(struct pgwal_receiver *receiver)
{
	const struct log_session *session = &receiver->log.session;
	char end[PGWAL_LSN_TEXT];

	if (receiver->nearly_full ||
	    session->tail.offset < session->size / 100 * FULL_PERCENT)
		return;
	receiver->nearly_full = true;
	fprintf(stderr, "cairn_pgwal: the log is nearly full at %s: %" PRIu64
		" of %" PRIu64 " bytes are used\n",
		pgwal_lsn_format(end, receiver->state.end),
		session->tail.offset, session->size);
}

static void pgwal_receive_measure(struct pgwal_receiver *receiver, bool connected)
{
	const struct log_session *session = &receiver->log.session;
	struct pgwal_metrics *metrics = &receiver->metrics;
	bool changed = metrics->connected != connected;

	metrics->connected = connected;
	metrics->targets = session->num_peers;
	metrics->left = session->left;
	metrics->timeline = receiver->timeline;
	metrics->received = receiver->received;
	metrics->flushed = receiver->flushed;
	metrics->records = receiver->posted;
	metrics->used = session->tail.offset;
	metrics->size = session->size;
	pgwal_metrics_write(metrics, changed ? 0 : pgwal_receive_now(receiver));
}

/*
 * Commits of the primary wait until there is room: nothing more is read or reported.
 * Return: EAGAIN; EXFULL: the session ends, and the log goes to the archive.
 */
static int pgwal_receive_full(struct pgwal_receiver *receiver)
{
	char end[PGWAL_LSN_TEXT];

	if (receiver->archive)
		return EXFULL;
	if (!receiver->metrics.full)
		fprintf(stderr, "cairn_pgwal: the log is full at %s, and commits"
			" wait: copy it (cairn_pgwal archive), make the targets"
			" empty (cairn_log wipe), begin another log"
			" (cairn_pgwal receive -c)\n",
			pgwal_lsn_format(end, receiver->state.end));
	receiver->metrics.full = true;
	return EAGAIN;
}

/* Return: 0; EAGAIN: not now; another errno: the session has ended. */
static int pgwal_receive_append(struct pgwal_receiver *receiver,
				enum pgwal_entry_kind kind, uint32_t timeline,
				uint64_t lsn, uint32_t length)
{
	struct pgwal_entry *entry = &receiver->batch.entry;
	uint64_t number = receiver->posted + 1;
	struct log_record *record = log_writer_record(&receiver->log, number);
	int err;

	if (!pgwal_receive_has_room(receiver))
		return EAGAIN;
	*entry = (struct pgwal_entry){
		.magic = PGWAL_ENTRY_MAGIC,
		.kind = kind,
		.system = receiver->server.system.id,
		.lsn = lsn,
		.timeline = timeline,
		.segment = receiver->server.system.segment,
	};
	err = log_session_append(&receiver->log.session, record, number, entry,
				 (uint32_t)sizeof(*entry) + length);
	if (err == ENOSPC)
		return pgwal_receive_full(receiver);
	if (err)
		return err;
	receiver->posted = number;
	receiver->metrics.bytes += kind == PGWAL_ENTRY_WAL ? length : 0;
	receiver->ends[number % LOG_LINK_WINDOW] =
		kind == PGWAL_ENTRY_WAL ? lsn + length : 0;
	pgwal_receive_warn(receiver);
	return pgwal_log_add(&receiver->state, record);
}

/* The records that have become durable. */
static int pgwal_receive_poll(struct pgwal_receiver *receiver)
{
	struct log_session *session = &receiver->log.session;
	uint64_t durable = receiver->durable, end;
	int left = session->left, err;

	err = log_session_poll(session, &durable);
	if (session->left > left) {
		receiver->metrics.returned += (uint64_t)(session->left - left);
		printf("a target is back, %d of %d\n", session->left,
		       session->num_peers);
	}
	while (receiver->durable < durable) {
		receiver->durable++;
		end = receiver->ends[(receiver->before + receiver->durable) %
				     LOG_LINK_WINDOW];
		if (end)
			receiver->flushed = end;
	}
	return err;
}

/* No event is asked for while nothing is waited for: a commit would pay for it. */
static bool pgwal_receive_awaits_log(const struct pgwal_receiver *receiver)
{
	return pgwal_receive_in_flight(receiver) || receiver->batched;
}

/* Return: 0, EAGAIN: sleep; or an errno. The last look is behind the request for an event. */
static int pgwal_receive_arm(struct pgwal_receiver *receiver)
{
	uint64_t durable = receiver->durable;
	int err = log_group_arm(&receiver->log.session.group);

	if (!err)
		err = pgwal_receive_poll(receiver);
	return err || receiver->durable != durable ? err : EAGAIN;
}

/* Sleeps until a record is durable or something else happens. */
static int pgwal_receive_sleep(struct pgwal_receiver *receiver, int fd)
{
	const struct log_session *session = &receiver->log.session;
	bool busy = pgwal_receive_in_flight(receiver) ||
		    session->left < session->num_peers;
	bool awaits = pgwal_receive_awaits_log(receiver);
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = receiver->log.nic.channel->fd, .events = POLLIN },
	};
	int n, err = awaits ? pgwal_receive_arm(receiver) : EAGAIN;

	receiver->arrived = false;
	if (err != EAGAIN)
		return err;
	n = poll(fds, awaits ? 2 : 1, busy ? BUSY_MS : TICK_MS);
	if (n < 0 && errno != EINTR)
		return errno;
	/* libpq may hold bytes that came with others: it is asked in each tick, too */
	receiver->arrived = n <= 0 || fds[0].revents;
	if (n > 0 && fds[1].revents)
		log_nic_woken(&receiver->log.nic);
	return 0;
}

static int pgwal_receive_drain(struct pgwal_receiver *receiver)
{
	int err = 0;

	while (!err && pgwal_receive_in_flight(receiver)) {
		err = pgwal_receive_poll(receiver);
		if (!err && pgwal_receive_in_flight(receiver))
			err = pgwal_receive_sleep(receiver, -1);
	}
	return err;
}

/* ---- the stream ---- */

static int pgwal_receive_message(struct pgwal_receiver *receiver)
{
	struct pgwal_server *server = &receiver->server;
	struct pgwal_message *message = &receiver->message;
	char got[PGWAL_LSN_TEXT], want[PGWAL_LSN_TEXT];
	int err;

	err = pgwal_server_take(server, message);
	if (err)
		return err;
	receiver->heard_at = pgwal_receive_now(receiver);
	receiver->answer |= message->reply;
	if (message->kind == PGWAL_DATA && message->start != receiver->received) {
		snprintf(server->error, sizeof(server->error),
			 "the server sends WAL of %s, not of %s",
			 pgwal_lsn_format(got, message->start),
			 pgwal_lsn_format(want, receiver->received));
		message->length = 0;
		return EPROTO;
	}
	return 0;
}

/* The messages that have arrived go into the batch as far as it has room. */
static int pgwal_receive_fill(struct pgwal_receiver *receiver)
{
	struct pgwal_message *message = &receiver->message;
	size_t n;
	int err;

	while (receiver->batched < PGWAL_ENTRY_MAX) {
		if (!message->length) {
			err = pgwal_receive_message(receiver);
			if (err)
				return err;
			continue;
		}
		n = PGWAL_ENTRY_MAX - receiver->batched;
		if (n > message->length)
			n = message->length;
		memcpy(receiver->batch.bytes + receiver->batched,
		       message->bytes, n);
		receiver->batched += (uint32_t)n;
		receiver->received += n;
		message->bytes += n;
		message->length -= n;
	}
	return 0;
}

/* Return: as of pgwal_receive_append() */
static int pgwal_receive_post(struct pgwal_receiver *receiver)
{
	int err;

	if (!receiver->batched)
		return EAGAIN;
	err = pgwal_receive_append(receiver, PGWAL_ENTRY_WAL,
				   receiver->timeline,
				   receiver->received - receiver->batched,
				   receiver->batched);
	if (!err)
		receiver->batched = 0;
	return err;
}

/*
 * All that has arrived is posted, while there is memory.
 * @ended: set when the stream has, to an errno of the server
 */
static int pgwal_receive_take(struct pgwal_receiver *receiver, int *ended)
{
	int err = 0;

	if (receiver->metrics.full)
		return 0;
	if (receiver->arrived)
		*ended = pgwal_server_consume(&receiver->server);
	while (!err && !*ended) {
		*ended = pgwal_receive_fill(receiver);
		err = pgwal_receive_post(receiver);
	}
	if (*ended == EAGAIN)
		*ended = 0;
	/* the end of the stream is no reason to drop what has come before */
	while (*ended && receiver->batched && (!err || err == EAGAIN) &&
	       !receiver->metrics.full) {
		err = pgwal_receive_drain(receiver);
		if (!err)
			err = pgwal_receive_post(receiver);
	}
	return err == EAGAIN ? 0 : err;
}

static int pgwal_receive_report(struct pgwal_receiver *receiver)
{
	uint64_t now = pgwal_receive_now(receiver);
	uint64_t silent = now - receiver->heard_at;
	bool ask = silent > SILENT_MS && !receiver->metrics.full;
	int err;

	if (silent > DEAD_MS && !receiver->metrics.full) {
		snprintf(receiver->server.error, sizeof(receiver->server.error),
			 "the server has been silent for %d s", DEAD_MS / 1000);
		return ETIMEDOUT;
	}
	if (!receiver->answer && receiver->reported == receiver->flushed &&
	    now - receiver->reported_at < (ask ? TICK_MS : REPORT_MS))
		return 0;
	err = pgwal_server_report(&receiver->server, receiver->flushed, ask);
	receiver->answer = false;
	receiver->reported = receiver->flushed;
	receiver->reported_at = now;
	return err;
}

/*
 * Until the stream ends or the session does.
 * @ended: set as by pgwal_receive_take()
 * Return: 0, or an errno of the session
 */
static int pgwal_receive_stream(struct pgwal_receiver *receiver, int *ended)
{
	int err = 0, fd;

	*ended = 0;
	while (!err && !*ended) {
		err = pgwal_receive_take(receiver, ended);
		if (!err)
			err = pgwal_receive_poll(receiver);
		if (!err && !*ended)
			*ended = pgwal_receive_report(receiver);
		pgwal_receive_measure(receiver, !err && !*ended);
		fd = receiver->metrics.full || receiver->batched ? -1 :
		     PQsocket(receiver->server.conn);
		if (!err && !*ended)
			err = pgwal_receive_sleep(receiver, fd);
	}
	return err;
}

/* ---- the server ---- */

/* The history of a timeline comes before its WAL. */
static int pgwal_receive_history(struct pgwal_receiver *receiver,
				 uint32_t timeline, int *ended)
{
	const char *text;
	size_t length;
	int err;

	if (timeline == 1 || timeline <= receiver->state.history)
		return 0;
	*ended = pgwal_server_history(&receiver->server, timeline, &text,
				      &length);
	if (*ended)
		return 0;
	if (length > PGWAL_ENTRY_MAX) {
		snprintf(receiver->server.error, sizeof(receiver->server.error),
			 "the history of timeline %" PRIu32
			 " has more than %zu bytes", timeline, PGWAL_ENTRY_MAX);
		*ended = EINVAL;
		return 0;
	}
	memcpy(receiver->batch.bytes, text, length);
	err = pgwal_receive_append(receiver, PGWAL_ENTRY_HISTORY, timeline, 0,
				   (uint32_t)length);
	if (err == EAGAIN)	/* none is in flight: the log is full */
		*ended = EAGAIN;
	return err == EAGAIN ? 0 : err;
}

static void pgwal_receive_begin(struct pgwal_receiver *receiver,
				const struct pgwal_plan *plan)
{
	const struct log_session *session = &receiver->log.session;
	char lsn[PGWAL_LSN_TEXT], end[PGWAL_LSN_TEXT];

	receiver->timeline = plan->timeline;
	receiver->received = plan->lsn;
	receiver->flushed = plan->lsn;
	receiver->message.length = 0;
	receiver->batched = 0;
	receiver->arrived = true;
	receiver->answer = true;
	receiver->heard_at = pgwal_receive_now(receiver);
	if (plan->left)
		fprintf(stderr, "cairn_pgwal: %" PRIu64 " bytes of timeline %"
			PRIu32 " up to %s are not in timeline %" PRIu32 "\n",
			plan->left, receiver->state.timeline,
			pgwal_lsn_format(end, receiver->state.end),
			plan->timeline);
	printf("receiving timeline %" PRIu32 " from %s, system %" PRIu64
	       ", %d of %d target(s)\n", plan->timeline,
	       pgwal_lsn_format(lsn, plan->lsn), receiver->server.system.id,
	       session->left, session->num_peers);
}

/* Nothing is in flight: each position that is durable is one of the new stream. */
static int pgwal_receive_connect(struct pgwal_receiver *receiver, int *ended)
{
	struct pgwal_server *server = &receiver->server;
	struct pgwal_plan plan;
	int err;

	err = pgwal_receive_drain(receiver);
	if (err)
		return err;
	*ended = pgwal_server_open(server);
	if (*ended)
		return 0;
	*ended = pgwal_log_plan(&receiver->state, &server->system, &plan);
	if (*ended) {
		snprintf(server->error, sizeof(server->error), "%s",
			 receiver->state.error);
		return 0;
	}
	err = pgwal_receive_history(receiver, plan.timeline, ended);
	if (!err && !*ended)
		err = pgwal_receive_drain(receiver);
	if (!err && !*ended)
		*ended = pgwal_server_start(server, plan.timeline, plan.lsn);
	if (!err && !*ended)
		pgwal_receive_begin(receiver, &plan);
	return err;
}

/* One session of the log, with as many connections to the server as it takes. */
static int pgwal_receive_session(struct pgwal_receiver *receiver)
{
	struct pgwal_server *server = &receiver->server;
	char said[sizeof(server->error)] = "";
	int ended, err = 0;

	while (!err) {
		ended = 0;
		err = pgwal_receive_connect(receiver, &ended);
		if (!err && !ended) {
			said[0] = '\0';
			err = pgwal_receive_stream(receiver, &ended);
		}
		pgwal_server_close(server);
		if (err || ended == ENODATA)
			continue;	/* the next timeline */
		if (ended == EINVAL)
			return pgwal_fail(server->error, EINVAL);
		if (ended != EAGAIN && strcmp(said, server->error))
			pgwal_fail(server->error, ended);
		strcpy(said, server->error);
		err = pgwal_receive_sleep(receiver, -1);
		if (!err)
			sleep(1);
	}
	return err == EXFULL ? err :
	       pgwal_fail(receiver->log.session.error, err);
}

/* ---- the log ---- */

static int pgwal_receive_visit(void *ctx, const struct log_record *record)
{
	struct pgwal_receiver *receiver = ctx;

	return pgwal_log_add(&receiver->state, record);
}

/*
 * @epoch: of our last session, 0: none; becomes that of this one, whether it opens or not.
 * One that does not may have let its epoch in at some targets. Another writer since then
 * has cut us off on purpose: a later session of ours would let commits of an old primary
 * pass.
 */
static int pgwal_receive_claim(struct pgwal_receiver *receiver, uint64_t *epoch)
{
	struct log_session *session = &receiver->log.session;
	uint64_t last = *epoch;
	int err = log_session_open(session);

	*epoch = session->tail.epoch;
	if (err)
		pgwal_fail(session->error, err);
	if (last && session->seen > last)
		return pgwal_fail("another writer has taken over", ESTALE);
	return last && err == EBUSY ? ESTALE : err;
}

/* All of the log is durable in the archive before a session makes it empty. */
static int pgwal_receive_archive(struct pgwal_receiver *receiver, uint64_t *epoch)
{
	struct log_session *session = &receiver->log.session;
	int err;

	err = pgwal_receive_claim(receiver, epoch);
	if (err)
		return err;
	if (pgwal_archive_session(session, receiver->archive,
				  &receiver->archived)) {
		sleep(ARCHIVE_S);
		return EIO;
	}
	log_writer_close(&receiver->log);
	session->empties = *epoch;
	err = pgwal_receive_claim(receiver, epoch);
	session->empties = 0;
	if (err)
		return err;
	receiver->metrics.emptied++;
	printf("the log was full: it is in %s, and empty now\n", receiver->archive);
	return 0;
}

/* The WAL that follows begins with its segment: less than one would come again and again. */
static int pgwal_receive_drain_log(struct pgwal_receiver *receiver, uint64_t *epoch)
{
	const struct pgwal_log *state = &receiver->state;
	int err;

	if (state->end - state->first < state->segment)
		return pgwal_fail("the log has no room for a segment of WAL:"
					  " make it larger", EINVAL);
	err = pgwal_receive_archive(receiver, epoch);
	log_writer_close(&receiver->log);
	return err;
}

/*
 * A log that was emptied goes on where its archive ends, with the whole segment. The
 * server may be far ahead of that, or on another timeline.
 */
static void pgwal_receive_go_on(struct pgwal_receiver *receiver)
{
	const struct pgwal_log *archived = &receiver->archived;
	struct pgwal_log *state = &receiver->state;

	if (state->timeline || !archived->timeline)
		return;
	state->system = archived->system;
	state->segment = archived->segment;
	state->timeline = archived->timeline;
	state->end = archived->end - archived->end % archived->segment;
	state->first = state->end;
}

static int pgwal_receive_open(struct pgwal_receiver *receiver, uint64_t *epoch)
{
	struct log_session *session = &receiver->log.session;
	int err = pgwal_receive_claim(receiver, epoch);

	if (err)
		return err;
	log_writer_greet(&receiver->log);
	/* the right to write and the members are ours from now on */
	session->flags &= ~(uint32_t)(LOG_ASK_TAKEOVER | LOG_ASK_CREATE |
				      LOG_ASK_FILL);
	receiver->before = receiver->posted;
	receiver->durable = 0;
	receiver->metrics.full = false;
	receiver->nearly_full = false;
	receiver->state = (struct pgwal_log){};
	err = log_session_walk(session, pgwal_receive_visit, receiver);
	if (err)
		pgwal_fail(err == EBADMSG ? receiver->state.error :
						    session->error, err);
	else
		pgwal_receive_go_on(receiver);
	return err;
}

/* Return: whether another session can succeed; after a refusal it cannot. */
static bool pgwal_receive_may_retry(int err)
{
	return err != EINVAL && err != ENOENT && err != ENOSPC &&
	       err != EBUSY && err != ESTALE && err != EBADMSG;
}

int pgwal_receive(struct pgwal_receiver *receiver)
{
	uint64_t epoch = 0;
	int err;

	for (;;) {
		err = pgwal_receive_open(receiver, &epoch);
		if (!err)
			err = pgwal_receive_session(receiver);
		pgwal_server_close(&receiver->server);
		log_writer_close(&receiver->log);
		if (err == EXFULL)
			err = pgwal_receive_drain_log(receiver, &epoch);
		if (!pgwal_receive_may_retry(err))
			return err;
		if (err)
			sleep(1);
	}
}
