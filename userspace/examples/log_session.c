// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log_session.h"

static __attribute__((format(printf, 3, 4))) int
log_session_fail(struct log_session *session, int err, const char *format, ...)
{
	va_list args;

	if (!session->failed) {
		session->failed = err;
		va_start(args, format);
		vsnprintf(session->error, sizeof(session->error), format, args);
		va_end(args);
	}
	return err;
}

static int log_session_lost(struct log_session *session,
			    const struct log_peer *peer, int err)
{
	return log_session_fail(session, err, "%s: %s", peer->name,
				strerror(err));
}

static int log_session_refused(struct log_session *session,
			       const struct log_peer *peer)
{
	static const char * const reasons[LOG_VERDICTS] = {
		[LOG_NOT_UNDERSTOOD] = "does not understand this writer",
		[LOG_IS_BUSY] = "has another writer (-t takes over)",
		[LOG_IS_STALE] = "has let in a newer writer",
		[LOG_IS_FOREIGN] = "has another log",
		[LOG_IS_EMPTY] = "is empty",
		[LOG_IS_DAMAGED] = "has something that is no log",
		[LOG_HAS_FAILED] = "has failed to make something durable",
	};
	uint32_t verdict = peer->answer.verdict;
	const char *reason = verdict < LOG_VERDICTS ? reasons[verdict] : NULL;

	return log_session_fail(session, verdict == LOG_IS_BUSY ||
				verdict == LOG_IS_STALE ? EBUSY : ECONNREFUSED,
				"%s: %s", peer->name,
				reason ? reason : "is not understood");
}

static int log_session_query(struct log_session *session)
{
	struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC, .client = session->client,
	};
	int err;

	for (int i = 0; i < session->num_peers; i++) {
		struct log_peer *peer = &session->peers[i];

		err = session->ops->query(peer->link, &ask, &peer->answer);
		if (err)
			return log_session_lost(session, peer, err);
		if (peer->answer.magic != LOG_WIRE_MAGIC ||
		    peer->answer.verdict != LOG_TOLD)
			return log_session_refused(session, peer);
		if (peer->answer.busy && !(session->flags & LOG_ASK_TAKEOVER)) {
			peer->answer.verdict = LOG_IS_BUSY;
			return log_session_refused(session, peer);
		}
	}
	return 0;
}

/* The log that all targets have to have: that of the first one that has any. */
static int log_session_identify(struct log_session *session, bool *create)
{
	struct log_peer *peer;
	int known = -1;

	for (int i = 0; i < session->num_peers && known < 0; i++)
		if (session->peers[i].answer.state == LOG_READY)
			known = i;
	*create = known < 0;
	session->id = *create ? session->new_id :
				session->peers[known].answer.id;
	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->answer.state == LOG_DAMAGED)
			return log_session_fail(session, EINVAL, "%s: %s",
				peer->name, "has something that is no log"
				" (cairn_log wipe makes it empty)");
		if (peer->answer.state == LOG_READY &&
		    memcmp(&peer->answer.id, &session->id,
			   sizeof(session->id)) != 0)
			return log_session_fail(session, EINVAL,
				"%s: has another log than %s", peer->name,
				session->peers[known].name);
		if (peer->answer.state == LOG_EMPTY && *create &&
		    !(session->flags & LOG_ASK_CREATE))
			return log_session_fail(session, ENOENT,
				"%s: is empty (-c creates a log)", peer->name);
		if (peer->answer.state == LOG_EMPTY && !*create &&
		    !(session->flags & LOG_ASK_FILL))
			return log_session_fail(session, ENOENT,
				"%s: is empty (-f fills it from %s)",
				peer->name, session->peers[known].name);
	}
	return 0;
}

static int log_session_claim(struct log_session *session, bool create)
{
	struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC,
		.flags = LOG_ASK_CLAIM |
			 (session->flags & LOG_ASK_TAKEOVER) |
			 (create ? LOG_ASK_CREATE :
				   session->flags & LOG_ASK_FILL),
		.id = session->id,
		.client = session->client,
	};
	struct log_peer *peer;
	int err;

	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].answer.epoch > ask.epoch)
			ask.epoch = session->peers[i].answer.epoch;
	ask.epoch++;
	session->tail.epoch = ask.epoch;
	session->size = UINT64_MAX;
	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		peer->posted = 0;
		peer->completed = 0;
		err = session->ops->claim(peer->link, &ask, &peer->answer);
		if (err)
			return log_session_lost(session, peer, err);
		if (peer->answer.magic != LOG_WIRE_MAGIC ||
		    peer->answer.verdict != LOG_GRANTED)
			return log_session_refused(session, peer);
		if (peer->answer.size < session->size)
			session->size = peer->answer.size;
	}
	return 0;
}

/*
 * The target that is ahead. One that is being filled does not count. If another
 * one has other records than that, log_session_check() finds it.
 */
static struct log_peer *log_session_source(struct log_session *session)
{
	struct log_peer *source = NULL, *peer;

	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->answer.complete &&
		    (!source ||
		     peer->answer.tail.seq > source->answer.tail.seq))
			source = peer;
	}
	return source;
}

static int log_session_diverged(struct log_session *session,
				const struct log_peer *peer,
				const struct log_peer *source, uint64_t seq)
{
	return log_session_fail(session, EINVAL,
		"%s: has other records than %s, from number %" PRIu64
		" on or just before it; keep one, wipe the other",
		peer->name, source->name, seq);
}

static int log_session_wait(struct log_session *session, struct log_peer *peer)
{
	int err = 0;

	while (!err && peer->completed < peer->posted)
		err = session->ops->poll(peer->link, &peer->completed);
	return err ? log_session_lost(session, peer, err) : 0;
}

static int log_session_write(struct log_session *session,
			     struct log_peer *peer, uint64_t offset,
			     const void *bytes, uint32_t length)
{
	int err = session->ops->write(peer->link, offset, bytes, length);

	if (err)
		return log_session_lost(session, peer, err);
	peer->posted++;
	return 0;
}

/* Reads what fits of the source's records from @tail on, and moves it. */
static int log_session_read(struct log_session *session,
			    const struct log_peer *source,
			    struct log_tail *tail)
{
	const struct log_tail *end = &source->answer.tail;
	uint64_t base = tail->offset, length = session->buffer_size;
	int err;

	if (base >= end->offset)
		return 0;
	if (length > end->offset - base)
		length = end->offset - base;
	err = session->ops->read(source->link, base, session->buffer,
				 (uint32_t)length);
	if (err)
		return log_session_lost(session, source, err);
	while (log_record_next(session->buffer, base, length, tail))
		;
	return 0;
}

/*
 * Walks from the end of @peer's log to the end of @source's, along the chain. If
 * it gets there, @peer has the beginning of what @source has.
 */
static int log_session_check(struct log_session *session,
			     const struct log_peer *peer,
			     const struct log_peer *source)
{
	const struct log_tail *end = &source->answer.tail;
	struct log_tail tail = peer->answer.tail;
	uint64_t base = 0;
	int err;

	while (tail.seq < end->seq && tail.offset != base) {
		base = tail.offset;
		err = log_session_read(session, source, &tail);
		if (err)
			return err;
	}
	if (!log_tail_equal(&tail, end))
		return log_session_diverged(session, peer, source, tail.seq);
	return 0;
}

/* No record begins at @offset any more. */
static int log_session_end(struct log_session *session, struct log_peer *peer,
			   uint64_t offset)
{
	uint32_t length = sizeof(struct log_record);
	int err;

	if (length > peer->answer.size - offset)
		return 0;	/* none fits there */
	memset(session->buffer, 0, length);
	err = log_session_write(session, peer, offset, session->buffer, length);
	return err ? err : log_session_wait(session, peer);
}

/* Copies records from @tail to @end. */
static int log_session_copy(struct log_session *session, struct log_peer *peer,
			    const struct log_peer *source,
			    struct log_tail tail, uint64_t end)
{
	uint64_t base, stop;
	int err;

	while (tail.offset < end) {
		base = tail.offset;
		err = log_session_read(session, source, &tail);
		if (err)
			return err;
		stop = tail.offset < end ? tail.offset : end;
		if (stop == base)
			return log_session_fail(session, EIO,
				"%s: has changed", source->name);
		err = log_session_write(session, peer, base, session->buffer,
					(uint32_t)(stop - base));
		if (!err)
			err = log_session_wait(session, peer);
		if (err)
			return err;
	}
	return 0;
}

/*
 * @peer may have parts of an abandoned record at its end, and whole ones behind. New
 * bytes there could complete the first one with the few bytes that it lacks. So
 * its header is cleared before. The first record that is missing is written last: it
 * is the link to those behind it.
 */
static int log_session_update(struct log_session *session,
			      struct log_peer *peer,
			      const struct log_peer *source)
{
	const struct log_tail *end = &source->answer.tail;
	struct log_tail first = peer->answer.tail;
	struct log_tail second = first, ahead = first;
	int err;

	err = log_session_end(session, peer, first.offset);
	if (err || first.seq == end->seq)
		return err;
	err = log_session_read(session, source, &ahead);
	if (err)
		return err;
	log_record_next(session->buffer, first.offset, session->buffer_size,
			&second);
	err = log_session_end(session, peer, end->offset);
	if (!err)
		err = log_session_copy(session, peer, source, second,
				       end->offset);
	if (!err)
		err = log_session_copy(session, peer, source, first,
				       second.offset);
	if (!err)
		session->copied += end->seq - first.seq;
	return err;
}

/* Only when all of its records are durable a target is called complete. */
static int log_session_mark(struct log_session *session, struct log_peer *peer)
{
	uint64_t seed = log_seed(&session->id);
	int err;

	memcpy(session->buffer, &seed, sizeof(seed));
	err = log_session_write(session, peer, LOG_MARK, session->buffer,
				sizeof(seed));
	return err ? err : log_session_wait(session, peer);
}

/* Nothing is written before all targets are known to fit. */
static int log_session_level(struct log_session *session)
{
	const struct log_peer *source = log_session_source(session);
	struct log_peer *peer;
	int err = 0;

	if (!source)
		return log_session_fail(session, EINVAL,
			"%s: none of the targets has a complete copy",
			session->peers[0].name);
	for (int i = 0; i < session->num_peers && !err; i++) {
		peer = &session->peers[i];
		if (peer->answer.size < source->answer.tail.offset)
			err = log_session_fail(session, ENOSPC,
				"%s: is too small", peer->name);
		else
			err = log_session_check(session, peer, source);
	}
	for (int i = 0; i < session->num_peers && !err; i++) {
		peer = &session->peers[i];
		err = log_session_update(session, peer, source);
		if (!err && !peer->answer.complete)
			err = log_session_mark(session, peer);
	}
	session->tail.offset = source->answer.tail.offset;
	session->tail.seq = source->answer.tail.seq;
	session->tail.previous = source->answer.tail.previous;
	session->first = session->tail.seq;
	return err;
}

/* From now on a record is one post. */
static int log_session_join(struct log_session *session)
{
	struct log_group *group = &session->group;
	int err;

	group->num = session->num_peers;
	group->quorum = session->quorum ? session->quorum :
					  (uint32_t)session->num_peers;
	for (int i = 0; i < session->num_peers; i++)
		session->ops->path(session->peers[i].link, &group->paths[i]);
	err = log_group_open(group, session->depth);
	if (err)
		return log_session_fail(session, err,
			"the targets make no group: %s", strerror(err));
	session->left = session->num_peers;
	return 0;
}

int log_session_open(struct log_session *session)
{
	bool create;
	int err;

	log_session_close(session);
	session->failed = 0;
	session->copied = 0;
	session->durable = 0;
	session->error[0] = '\0';
	err = log_session_query(session);
	if (!err)
		err = log_session_identify(session, &create);
	if (!err)
		err = log_session_claim(session, create);
	if (!err)
		err = log_session_level(session);
	return err ? err : log_session_join(session);
}

void log_session_close(struct log_session *session)
{
	log_group_close(&session->group);
}

static int log_session_too_few(struct log_session *session)
{
	return log_session_fail(session, EIO,
		"%d of %d target(s) left, %" PRIu32 " needed", session->left,
		session->num_peers, session->group.quorum);
}

int log_session_append(struct log_session *session, struct log_record *record,
		       uint64_t number, const void *data, uint32_t length)
{
	uint64_t offset = session->tail.offset;
	struct log_tail tail = session->tail;
	int err;

	if (session->failed)
		return session->failed;
	if (offset + log_record_size(length) > session->size)
		return ENOSPC;	/* what was posted goes on */
	log_record_make(record, &tail, session->client, number, data, length);
	err = log_group_post(&session->group, offset, record,
			     (uint32_t)log_record_size(length));
	if (!err)
		session->tail = tail;
	if (err == ENOTCONN)
		return log_session_too_few(session);
	if (err && err != EAGAIN)
		return log_session_fail(session, err, "posting: %s",
					strerror(err));
	return err;
}

static int log_session_event(struct log_session *session,
			     const struct cairndv_group_wc *event)
{
	switch (event->kind) {
	case CAIRNDV_GROUP_DURABLE:
		session->durable++;	/* they come in order */
		return 0;
	case CAIRNDV_GROUP_TARGET:
		session->left--;
		session->ops->lost(session->peers[event->target].link,
				   event->status);
		return 0;
	default:
		return log_session_too_few(session);
	}
}

int log_session_poll(struct log_session *session, uint64_t *durable)
{
	struct cairndv_group_wc event;
	int n = 1, err = session->failed;

	for (int i = 0; i < session->num_peers && !err; i++)
		session->ops->watch(session->peers[i].link);
	while (!err && n == 1) {
		n = log_group_poll(&session->group, &event);
		if (n < 0)
			err = log_session_fail(session, -n, "polling: %s",
					       strerror(-n));
		else if (n)
			err = log_session_event(session, &event);
	}
	*durable = session->durable;
	return err;
}

uint64_t log_session_released(const struct log_session *session)
{
	return log_group_released(&session->group);
}
