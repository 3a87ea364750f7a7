// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Making the targets of a session equal. */
#include <errno.h>
#include <string.h>

#include "log_session_parts.h"

/*
 * The target that has all reported records: that with the latest mark, and of those
 * the longest. One that is new does not count, nor one that has lost records.
 */
static struct log_peer *log_session_source(struct log_session *session)
{
	struct log_peer *source = NULL, *peer;

	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->state != LOG_PEER_CLAIMED ||
		    (session->config.now &&
		     (peer->is_new || peer->answer.state != LOG_READY)))
			continue;
		if (!source ||
		    peer->answer.mark_epoch > source->answer.mark_epoch ||
		    (peer->answer.mark_epoch == source->answer.mark_epoch &&
		     peer->answer.tail.seq > source->answer.tail.seq))
			source = peer;
	}
	return source;
}

static int log_session_wait(struct log_session *session, struct log_peer *peer)
{
	uint64_t until = session->ops->now() + log_session_patience(session);
	int err = 0;

	while (!err && peer->completed < peer->posted) {
		err = session->ops->poll(peer->link, &peer->completed);
		if (!err && session->ops->now() > until)
			err = ETIMEDOUT;
	}
	return err;
}

int log_session_write(struct log_session *session,
		      struct log_peer *peer, uint64_t offset,
		      const void *bytes, uint32_t length)
{
	int err = session->ops->write(peer->link, offset, bytes, length);

	peer->posted += !err;
	return err ? err : log_session_wait(session, peer);
}

int log_session_fetch(struct log_session *session,
		      struct log_peer *peer, uint64_t offset,
		      void *buffer, uint32_t length)
{
	peer->error = session->ops->read(peer->link, offset, buffer, length);
	return peer->error;
}

/* Reads what fits of the source's records from @tail on, and moves it. */
static int log_session_read(struct log_session *session,
			    struct log_peer *source, struct log_tail *tail)
{
	const struct log_tail *end = &source->answer.tail;
	uint64_t base = tail->offset, length = session->buffer_size;
	int err;

	if (base >= end->offset)
		return 0;
	if (length > end->offset - base)
		length = end->offset - base;
	err = log_session_fetch(session, source, base, session->buffer,
				(uint32_t)length);
	while (!err && log_record_next(session->buffer, base, length, tail))
		;
	return err;
}

/*
 * Walks from the end of @peer's log to the end of @source's, along the chain. If
 * it gets there, @peer has the beginning of what @source has.
 */
static int log_session_compare(struct log_session *session,
			       const struct log_peer *peer,
			       struct log_peer *source, bool *fits)
{
	const struct log_tail *end = &source->answer.tail;
	struct log_tail tail = peer->answer.tail;
	uint64_t base = 0;
	int err = 0;

	while (!err && tail.seq < end->seq && tail.offset != base) {
		base = tail.offset;
		err = log_session_read(session, source, &tail);
	}
	*fits = log_tail_equal(&tail, end);
	return err;
}

/* Moves @tail over the records that are the same in both pieces. */
static void log_session_match(const uint8_t *first, const uint8_t *second,
			      uint64_t length, struct log_tail *tail)
{
	uint64_t base = tail->offset;
	struct log_tail other = *tail, next = *tail;

	while (log_record_next(first, base, length, &next) &&
	       log_record_next(second, base, length, &other) &&
	       log_tail_equal(&next, &other))
		*tail = next;
}

/* The end of the records that @peer and @source both have. */
static int log_session_common(struct log_session *session,
			      struct log_peer *peer, struct log_peer *source,
			      struct log_tail *tail)
{
	uint64_t end = peer->answer.tail.offset, base = 0, length;
	uint32_t half = session->buffer_size / 2 / 8 * 8;
	uint8_t *first = session->buffer, *second = first + half;
	int err = 0;

	if (end > source->answer.tail.offset)
		end = source->answer.tail.offset;
	*tail = (struct log_tail){
		.offset = LOG_START,
		.seq = 1,
		.previous = log_seed(&session->id),
		.align = source->answer.tail.align,
	};
	while (!err && tail->offset < end && tail->offset != base) {
		base = tail->offset;
		length = end - base < half ? end - base : half;
		err = log_session_fetch(session, source, base, first,
					(uint32_t)length);
		if (!err)
			err = log_session_fetch(session, peer, base, second,
						(uint32_t)length);
		if (!err)
			log_session_match(first, second, length, tail);
	}
	return err;
}

/*
 * @peer has records of a writer that did not get them to enough targets: a later writer
 * had reached enough without them. They were never reported, and another one has been
 * made in their place.
 */
static int log_session_cut(struct log_session *session, struct log_peer *peer,
			   struct log_peer *source)
{
	struct log_ask ask = log_session_ask(session);
	struct log_tail common;
	int err;

	err = log_session_common(session, peer, source, &common);
	if (err)
		return err;
	ask.cut = common.offset;
	err = log_peer_claim(session, peer, &ask);
	if (err)
		return err;
	session->cut++;
	return log_tail_equal(&peer->answer.tail, &common) ? 0 : EIO;
}

/* No record begins at @offset any more. */
static int log_session_end(struct log_session *session, struct log_peer *peer,
			   uint64_t offset)
{
	uint32_t length = sizeof(struct log_record);

	if (length > peer->answer.size - offset)
		return 0;	/* none fits there */
	memset(session->buffer, 0, length);
	return log_session_write(session, peer, offset, session->buffer,
				 length);
}

/* Copies records from @tail to @end. */
static int log_session_copy(struct log_session *session, struct log_peer *peer,
			    struct log_peer *source, struct log_tail tail,
			    uint64_t end)
{
	uint64_t base, stop;
	int err = 0;

	while (!err && tail.offset < end) {
		base = tail.offset;
		err = log_session_read(session, source, &tail);
		if (err)
			return err;
		stop = tail.offset < end ? tail.offset : end;
		if (stop == base) {
			source->error = EIO;	/* not what it was */
			return EIO;
		}
		/* the room behind the last one may not be in the buffer */
		if (stop - base > session->buffer_size)
			stop = base + session->buffer_size;
		err = log_session_write(session, peer, base, session->buffer,
					(uint32_t)(stop - base));
	}
	return err;
}

/*
 * @peer may have parts of an abandoned record at its end, and whole ones behind. New
 * bytes there could complete the first one with the few bytes that it lacks. So
 * its header is cleared before. The first record that is missing is written last: it
 * is the link to those behind it.
 */
static int log_session_update(struct log_session *session,
			      struct log_peer *peer, struct log_peer *source)
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

int log_session_bring(struct log_session *session,
		      struct log_peer *peer, struct log_peer *source)
{
	bool fits = true;
	int err = 0;

	if (peer->answer.size < source->answer.tail.offset)
		return ENOSPC;
	if (peer != source)
		err = log_session_compare(session, peer, source, &fits);
	if (!err && !fits)
		err = log_session_cut(session, peer, source);
	return err ? err : log_session_update(session, peer, source);
}

/* A crash leaves it as it is, or empty: both are right. */
static int log_session_clear(struct log_session *session, struct log_peer *peer)
{
	struct log_ask ask = log_session_ask(session);
	int err;

	ask.cut = LOG_START;
	err = log_peer_claim(session, peer, &ask);
	return !err && peer->answer.tail.offset != LOG_START ? EIO : err;
}

int log_session_level(struct log_session *session)
{
	struct log_peer *source = log_session_source(session), *peer;
	int err;

	if (!source)
		return log_session_fail(session, EIO,
			"%s: none of the targets has a complete copy",
			session->peers[0].name);
	session->size = UINT64_MAX;
	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->state != LOG_PEER_CLAIMED)
			continue;
		source->error = 0;
		err = session->empties ? log_session_clear(session, peer) :
					 log_session_bring(session, peer, source);
		if (err == ENOSPC)
			return log_session_fail(session, ENOSPC,
				"%s: is too small", peer->name);
		if (err && (peer == source || source->error))
			return log_session_fail(session, EIO, "%s: %s",
						source->name, strerror(err));
		if (err)
			log_peer_leave(session, peer, err, peer->verdict);
		else if (peer->answer.size < session->size)
			session->size = peer->answer.size;
	}
	session->tail.offset = source->answer.tail.offset;
	session->tail.seq = source->answer.tail.seq;
	session->tail.previous = source->answer.tail.previous;
	session->tail.align = source->answer.tail.align;
	session->size -= session->size % session->tail.align;
	session->first = session->tail.seq;
	return 0;
}
