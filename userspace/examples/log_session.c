// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log_session.h"
#include "log_session_parts.h"

#define PATIENCE	5000	/* ms for an answer, without a deadline */

int log_session_fail(struct log_session *session, int err, const char *format, ...)
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

uint32_t log_session_patience(const struct log_session *session)
{
	return session->deadline ? session->deadline : PATIENCE;
}

/* ---- peers ---- */

static const char *log_peer_reason(const struct log_peer *peer)
{
	static const char * const reasons[LOG_VERDICTS] = {
		[LOG_NOT_UNDERSTOOD] = "does not understand this writer",
		[LOG_IS_BUSY] = "has another writer (-t takes over)",
		[LOG_IS_STALE] = "has let in a newer writer",
		[LOG_IS_FOREIGN] = "has another log",
		[LOG_IS_EMPTY] = "is empty",
		[LOG_IS_DAMAGED] = "has a log of another version, or"
				   " something that is no log"
				   " (cairn_log wipe would lose it)",
		[LOG_HAS_FAILED] = "has failed to make something durable",
		[LOG_IS_FAR] = "has an epoch that is far behind",
	};
	const char *reason = peer->verdict < LOG_VERDICTS ?
			     reasons[peer->verdict] : NULL;

	if (peer->error)
		return strerror(peer->error);
	return reason ? reason : "is not understood";
}

void log_peer_leave(struct log_session *session, struct log_peer *peer,
		    int err, uint8_t verdict)
{
	session->ops->close(peer->link);
	peer->state = LOG_PEER_ABSENT;
	peer->error = err;
	peer->verdict = verdict;
}

/* A copy that is finished. */
static bool log_peer_has_mark(const struct log_peer *peer)
{
	return peer->state >= LOG_PEER_TOLD && !peer->is_new;
}

static bool log_answer_is_new(const struct log_answer *answer)
{
	return answer->state == LOG_EMPTY ||
	       (answer->state == LOG_READY && !answer->mark_epoch);
}

/* Whether the numbers of an answer can be those of a log. */
static bool log_answer_is_sane(const struct log_answer *answer)
{
	const struct log_tail *tail = &answer->tail;

	if (answer->state == LOG_EMPTY || answer->state == LOG_DAMAGED)
		return true;
	return answer->shift <= LOG_MAX_SHIFT &&
	       tail->align == log_align(answer->shift) &&
	       tail->offset >= LOG_START && tail->offset <= answer->size &&
	       tail->offset % LOG_ALIGN == 0 && tail->seq &&
	       (!answer->mark_epoch || log_config_is_valid(&answer->config));
}

/* Its bit in the configuration, or 0. */
static uint8_t log_peer_bit(const struct log_session *session,
			    const struct log_peer *peer)
{
	int index = log_config_index(&session->config, peer->answer.member);

	return index < 0 ? 0 : (uint8_t)(1 << index);
}

/* The peers in that state or beyond, with all records that they ever had. */
static uint8_t log_session_set(const struct log_session *session,
			       enum log_peer_state state)
{
	uint8_t set = 0;

	for (int i = 0; i < session->num_peers; i++) {
		const struct log_peer *peer = &session->peers[i];

		if (peer->state >= state && (state >= LOG_PEER_MARKED ||
		    (!peer->is_new && peer->answer.state == LOG_READY)))
			set |= log_peer_bit(session, peer);
	}
	return set;
}

/* The first that is not there, for a message. */
static const struct log_peer *
log_session_absent(const struct log_session *session)
{
	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].state == LOG_PEER_ABSENT)
			return &session->peers[i];
	return NULL;
}

static int log_session_missing(struct log_session *session, int have, int need)
{
	const struct log_peer *peer = log_session_absent(session);

	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].state != LOG_PEER_ABSENT &&
		    session->peers[i].answer.state == LOG_SHORT)
			return log_session_fail(session, EIO,
				"%s: has lost records, and no other member has them",
				session->peers[i].name);
	return log_session_fail(session, EIO,
		"%d of %d member(s) answer, %d needed%s%s%s%s", have,
		log_config_count(session->config.now), need, peer ? "; " : "",
		peer ? peer->name : "", peer ? ": " : "",
		peer ? log_peer_reason(peer) : "");
}

/* ---- asking ---- */

static int log_session_told(struct log_session *session, struct log_peer *peer)
{
	const struct log_answer *answer = &peer->answer;

	peer->error = 0;
	peer->verdict = answer->magic == LOG_WIRE_MAGIC ? answer->verdict :
							  LOG_NOT_UNDERSTOOD;
	if (peer->verdict != LOG_TOLD)
		return 0;
	if (answer->state == LOG_DAMAGED) {
		peer->verdict = LOG_IS_DAMAGED;
		return 0;
	}
	if (!log_answer_is_sane(answer)) {
		peer->error = EPROTO;
		return 0;
	}
	peer->state = LOG_PEER_TOLD;
	peer->is_new = log_answer_is_new(answer);
	if (!answer->busy || session->flags & LOG_ASK_TAKEOVER)
		return 0;
	peer->verdict = LOG_IS_BUSY;
	return log_session_fail(session, EBUSY, "%s: %s", peer->name,
				log_peer_reason(peer));
}

/* The member whose configuration is the last one. */
static struct log_peer *log_session_latest(struct log_session *session,
					   enum log_peer_state state)
{
	struct log_peer *latest = NULL, *peer;

	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->state < state || !log_peer_has_mark(peer))
			continue;
		if (!latest ||
		    peer->answer.mark_epoch > latest->answer.mark_epoch ||
		    (peer->answer.mark_epoch == latest->answer.mark_epoch &&
		     peer->answer.config.version >
		     latest->answer.config.version))
			latest = peer;
	}
	return latest;
}

/* Whether those that have answered are enough, so that the others may be late. */
static bool log_session_is_answered(struct log_session *session)
{
	const struct log_peer *known;

	known = log_session_latest(session, LOG_PEER_TOLD);
	if (!known)
		return false;
	session->config = known->answer.config;
	return log_config_is_enough(&session->config,
				    log_session_set(session, LOG_PEER_TOLD));
}

/* All at the same time; some may not answer. */
static int log_session_query(struct log_session *session)
{
	const struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC, .client = session->client,
	};
	uint64_t until = session->ops->now() + log_session_patience(session);
	struct log_peer *peer;
	int waiting, err = 0;

	for (int i = 0; i < session->num_peers; i++)
		log_peer_leave(session, &session->peers[i], EAGAIN, 0);
	do {
		waiting = 0;
		for (int i = 0; i < session->num_peers && !err; i++) {
			peer = &session->peers[i];
			if (peer->error != EAGAIN)
				continue;
			peer->error = session->ops->probe(peer->link, &ask,
							  &peer->answer, true);
			waiting += peer->error == EAGAIN;
			if (!peer->error)
				err = log_session_told(session, peer);
		}
		if (session->ops->now() > until &&
		    log_session_is_answered(session))
			break;
	} while (waiting && !err);
	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].error == EAGAIN)
			log_peer_leave(session, &session->peers[i], ETIMEDOUT,
				       0);
	return err;
}

static int log_session_check_peer(struct log_session *session,
				  const struct log_peer *peer,
				  const struct log_peer *known)
{
	if (peer->answer.domain == CAIRNDV_DOMAIN_EMULATED &&
	    !session->emulated)
		return log_session_fail(session, EINVAL,
			"%s: keeps nothing: its persistence is emulated"
			" (-e lets it count)", peer->name);
	if (peer->is_new && !known && !(session->flags & LOG_ASK_CREATE))
		return log_session_fail(session, ENOENT,
			"%s: is empty (-c creates a log)", peer->name);
	if (peer->is_new && known && !(session->flags & LOG_ASK_FILL))
		return log_session_fail(session, ENOENT,
			"%s: is empty (-f fills it from %s)", peer->name,
			known->name);
	if (peer->is_new)
		return 0;
	if (memcmp(&peer->answer.id, &session->id, sizeof(session->id)) != 0)
		return log_session_fail(session, EINVAL,
			"%s: has another log than %s", peer->name,
			known->name);
	if (!log_peer_bit(session, peer))
		return log_session_fail(session, EINVAL,
			"%s: is not a member of the log any more"
			" (cairn_log wipe makes it empty)", peer->name);
	for (const struct log_peer *other = session->peers; other != peer;
	     other++)
		if (log_peer_has_mark(other) &&
		    other->answer.member == peer->answer.member)
			return log_session_fail(session, EINVAL,
				"%s: has the same copy as %s", peer->name,
				other->name);
	return 0;
}

/* Every address is that of a member, and the quorum is what the log says. */
static int log_session_check_config(struct log_session *session)
{
	const struct log_config *config = &session->config;
	int members = log_config_count(config->now);
	int most = log_config_count(config->now | config->before);

	if (session->change)
		return 0;
	if (session->num_peers < members || session->num_peers > most)
		return log_session_fail(session, EINVAL,
			"the log has %d members, and %d are given"
			" (cairn_log members changes them)", members,
			session->num_peers);
	if (session->quorum && session->quorum != config->quorum)
		return log_session_fail(session, EINVAL,
			"the log has a quorum of %d, not %" PRIu32
			" (cairn_log members changes it)", config->quorum,
			session->quorum);
	return 0;
}

/* The log that all targets have to have. */
static int log_session_identify(struct log_session *session, bool *create)
{
	const struct log_peer *known;
	int err = 0;

	known = log_session_latest(session, LOG_PEER_TOLD);
	*create = !known;
	session->id = known ? known->answer.id : session->new_id;
	if (known) {
		session->config = known->answer.config;
		session->shift = known->answer.shift;
	} else {
		session->config = (struct log_config){};
	}
	for (int i = 0; i < session->num_peers && !err; i++)
		if (session->peers[i].state == LOG_PEER_TOLD)
			err = log_session_check_peer(session,
						     &session->peers[i], known);
	if (!err && known)
		err = log_session_check_config(session);
	return err;
}

/* ---- the right to write ---- */

static bool log_session_has_new(const struct log_session *session)
{
	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].state && session->peers[i].is_new)
			return true;
	return false;
}

/*
 * Whether those in @state are enough to go on.
 * @forced: only because the user says so
 */
static int log_session_gather(struct log_session *session,
			      enum log_peer_state state, bool *forced)
{
	bool has_new = log_session_has_new(session);
	const struct log_config *config = &session->config;
	const struct log_peer *peer = log_session_absent(session);
	enum log_force force = session->force;
	uint8_t set = log_session_set(session, state);
	bool change = session->change || has_new || !config->now;

	*forced = false;
	if (change && peer)
		return log_session_fail(session, EIO, config->now ?
			"a change needs all targets that are given; %s: %s" :
			"no target has a log, and a new one needs all that are given; %s: %s",
			peer->name, log_peer_reason(peer));
	if (!config->now)	/* a new log */
		return 0;
	if (log_config_is_enough(config, set))
		return 0;
	/* an empty target takes the place of a lost one */
	if (has_new && force < LOG_FORCE_GONE)
		force = LOG_FORCE_GONE;
	*forced = change &&
		  ((force >= LOG_FORCE_GONE &&
		    log_config_sees_all(config, set)) ||
		   (force >= LOG_FORCE_LOSS && set));
	if (*forced)
		return 0;
	return log_session_missing(session,
				   log_config_count(set & config->now),
				   log_config_claims(config));
}

struct log_ask log_session_ask(const struct log_session *session)
{
	return (struct log_ask){
		.magic = LOG_WIRE_MAGIC,
		.flags = LOG_ASK_CLAIM | (session->flags & LOG_ASK_TAKEOVER),
		.id = session->id,
		.epoch = session->tail.epoch,
		.client = session->client,
	};
}

int log_peer_claim(struct log_session *session, struct log_peer *peer,
		   const struct log_ask *ask)
{
	int err;

	peer->posted = 0;
	peer->completed = 0;
	/* nothing waits for the first claim; records wait for the return of one */
	err = session->ops->claim(peer->link, ask, &peer->answer,
				  session->group.num ?
				  log_session_patience(session) : 0);
	if (!err && peer->answer.verdict == LOG_GRANTED &&
	    (peer->answer.magic != LOG_WIRE_MAGIC ||
	     !log_answer_is_sane(&peer->answer)))
		err = EPROTO;
	if (!err && peer->answer.verdict == LOG_GRANTED) {
		peer->state = LOG_PEER_CLAIMED;
		return 0;
	}
	log_peer_leave(session, peer, err, peer->answer.verdict);
	return err ? err : ECONNREFUSED;
}

static int log_session_claim(struct log_session *session)
{
	struct log_ask ask = log_session_ask(session);
	struct log_peer *peer;

	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->state != LOG_PEER_TOLD)
			continue;
		ask.flags &= ~(uint32_t)(LOG_ASK_CREATE | LOG_ASK_FILL);
		ask.member = 0;
		ask.shift = 0;
		if (peer->is_new) {
			ask.flags |= session->config.now ? LOG_ASK_FILL :
							   LOG_ASK_CREATE;
			ask.member = log_config_number(&session->config,
						       session->client + i,
						       ask.epoch);
			ask.shift = session->shift;
		}
		if (!log_peer_claim(session, peer, &ask))
			continue;
		if (!peer->error && (peer->verdict == LOG_IS_BUSY ||
				     peer->verdict == LOG_IS_STALE))
			return log_session_fail(session, EBUSY, "%s: %s",
						peer->name,
						log_peer_reason(peer));
	}
	return 0;
}

/* Larger than any that was promised, unless a coordinator gives it. */
static void log_session_choose_epoch(struct log_session *session, bool forced)
{
	uint64_t epoch = 0;

	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].state == LOG_PEER_TOLD &&
		    session->peers[i].answer.epoch > epoch)
			epoch = session->peers[i].answer.epoch;
	session->seen = epoch;
	/* lost members may have seen later ones, and may come back */
	epoch += forced ? LOG_EPOCH_STEP / 2 : 1;
	session->tail.epoch = session->epoch ? session->epoch : epoch;
}

/* Between the question and the claim another writer may have been there. */
static int log_session_recheck(struct log_session *session)
{
	const struct log_peer *known;

	known = log_session_latest(session, LOG_PEER_CLAIMED);
	for (int i = 0; i < session->num_peers; i++) {
		const struct log_peer *peer = &session->peers[i];

		if (peer->state == LOG_PEER_CLAIMED &&
		    peer->is_new != log_answer_is_new(&peer->answer))
			return log_session_fail(session, EIO,
				"%s: has changed meanwhile", peer->name);
	}
	if (session->config.now && known &&
	    memcmp(&known->answer.config, &session->config,
		   sizeof(session->config)) != 0)
		return log_session_fail(session, EIO,
			"%s: the members have changed meanwhile", known->name);
	return 0;
}

/* ---- marks: the epoch and the members become durable ---- */

/* Only when all of its records are durable a target is called equal. */
static int log_session_mark_one(struct log_session *session,
				struct log_peer *peer)
{
	struct log_mark mark = {
		.generation = peer->answer.mark_generation + 1,
		.epoch = session->tail.epoch,
		.base = session->tail.seq,
		.config = session->config,
	};
	int err;

	log_mark_seal(&mark, &session->id);
	memcpy(session->buffer, &mark, sizeof(mark));
	err = log_session_write(session, peer,
				log_mark_offset(mark.generation),
				session->buffer, sizeof(mark));
	if (err) {
		log_peer_leave(session, peer, err, 0);
		return err;
	}
	peer->answer.mark_generation++;
	peer->state = LOG_PEER_MARKED;
	return 0;
}

/* The new ones come first: what names them must find them finished. */
static int log_session_mark(struct log_session *session, bool all)
{
	const struct log_config *config = &session->config;
	int missing = 0;
	uint8_t set;

	for (int new = 1; new >= 0; new--)
		for (int i = 0; i < session->num_peers; i++) {
			struct log_peer *peer = &session->peers[i];

			if (peer->state >= LOG_PEER_CLAIMED &&
			    peer->is_new == new && log_peer_bit(session, peer))
				missing += log_session_mark_one(session,
								peer) != 0;
		}
	set = log_session_set(session, LOG_PEER_MARKED);
	if (log_config_is_enough(config, set) && !(all && missing))
		return 0;
	return log_session_missing(session,
				   log_config_count(set & config->now),
				   log_config_claims(config));
}

static int log_session_set_config(struct log_session *session, bool force)
{
	uint32_t member[LOG_MAX_TARGETS], quorum = session->quorum;
	struct log_config old = session->config;
	int num = session->num_peers, err;

	for (int i = 0; i < num; i++)
		member[i] = session->peers[i].answer.member;
	if (!quorum)
		quorum = old.now ? old.quorum : (uint32_t)num;
	if (old.now && !log_config_differs(&old, member, num, quorum))
		return 0;
	err = log_config_change(&session->config, &old, member, num, quorum,
				force);
	if (err)
		return log_session_fail(session, EINVAL, err == E2BIG ?
			"too many members change at a time" :
			"%d targets make no quorum of %" PRIu32, num, quorum);
	return 0;
}

static int log_session_end_change(struct log_session *session)
{
	if (!session->config.before)
		return 0;
	log_config_end_change(&session->config);
	return log_session_mark(session, false);
}

/* @forced: without the old members that are not here */
static int log_session_configure(struct log_session *session, bool forced)
{
	bool create = !session->config.now;
	bool change = session->change || log_session_has_new(session);
	int err;

	if (create || forced) {
		err = log_session_set_config(session, true);
		return err ? err : log_session_mark(session, true);
	}
	err = log_session_mark(session, false);
	if (!err)
		err = log_session_end_change(session);
	if (err || !change)
		return err;
	err = log_session_set_config(session, false);
	if (!err && session->config.before)
		err = log_session_mark(session, false);
	return err ? err : log_session_end_change(session);
}

/* ---- records ---- */

static int log_session_too_few(struct log_session *session)
{
	return log_session_fail(session, EIO,
		"%d of %d target(s) left, %" PRIu32 " needed", session->left,
		session->num_peers, session->group.quorum);
}

/* From now on a record is one post. */
static int log_session_join(struct log_session *session)
{
	struct log_group *group = &session->group;
	struct log_peer *peer;
	int err;

	group->num = 0;
	group->quorum = session->config.quorum;
	/* whatever a target has said about itself, its completions tell */
	group->durability = session->emulated ? 0 : CAIRNDV_DURABILITY_HOST;
	for (int i = 0; i < session->num_peers; i++) {
		peer = &session->peers[i];
		if (peer->state < LOG_PEER_MARKED ||
		    !(log_peer_bit(session, peer) & session->config.now))
			continue;
		peer->state = LOG_PEER_JOINED;
		peer->error = 0;
		session->ops->path(peer->link, &group->paths[group->num]);
		session->joined[group->num++] = peer;
	}
	session->left = group->num;
	session->ailing = false;
	session->released = 0;
	session->since = session->ops->now();
	if ((uint32_t)group->num < group->quorum)
		return log_session_too_few(session);
	err = log_group_open(group, session->depth);
	if (err)
		return log_session_fail(session, err,
			"the targets make no group: %s", strerror(err));
	return 0;
}

static void log_session_reset(struct log_session *session)
{
	log_session_close(session);
	session->group.num = 0;
	session->failed = 0;
	session->copied = 0;
	session->cut = 0;
	session->durable = 0;
	session->settled = 0;
	session->returned = 0;
	session->error[0] = '\0';
}

int log_session_open(struct log_session *session)
{
	bool create, forced;
	int err;

	log_session_reset(session);
	err = log_session_query(session);
	if (!err)
		err = log_session_identify(session, &create);
	if (!err)
		err = log_session_gather(session, LOG_PEER_TOLD, &forced);
	if (err)
		return err;
	log_session_choose_epoch(session, forced);
	if (session->empties && session->seen != session->empties)
		return log_session_fail(session, EBUSY,
			"another writer has been there meanwhile");
	err = log_session_claim(session);
	if (!err)
		err = log_session_recheck(session);
	if (!err)
		err = log_session_gather(session, LOG_PEER_CLAIMED, &forced);
	if (!err)
		err = log_session_level(session);
	if (!err)
		err = log_session_configure(session, forced);
	return err ? err : log_session_join(session);
}

/* Visits the records from @tail on that fit in the buffer, and moves @tail. */
static int log_session_visit(struct log_session *session,
			     struct log_tail *tail,
			     int (*visit)(void *ctx,
					  const struct log_record *record),
			     void *ctx)
{
	uint64_t base = tail->offset, length = session->tail.offset - base;
	struct log_peer *source = session->joined[0];
	const struct log_record *record;
	int err;

	if (length > session->buffer_size)
		length = session->buffer_size;
	err = log_session_fetch(session, source, base, session->buffer,
				(uint32_t)length);
	if (err)
		return log_session_fail(session, err, "%s: %s", source->name,
					strerror(err));
	while (!err && (record = log_record_next(session->buffer, base, length,
						 tail)))
		err = visit(ctx, record);
	if (!err && tail->offset == base)
		return log_session_fail(session, EIO,
			"%s: record %" PRIu64 " is not what it was",
			source->name, tail->seq);
	return err;
}

int log_session_walk(struct log_session *session,
		     int (*visit)(void *ctx, const struct log_record *record),
		     void *ctx)
{
	struct log_tail tail = {
		.offset = LOG_START,
		.seq = 1,
		.previous = log_seed(&session->id),
		.align = session->tail.align,
	};
	int err = 0;

	while (!err && tail.seq < session->first)
		err = log_session_visit(session, &tail, visit, ctx);
	return err;
}

void log_session_close(struct log_session *session)
{
	log_group_close(&session->group);
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
	struct log_peer *peer;

	switch (event->kind) {
	case CAIRNDV_GROUP_DURABLE:
		session->durable++;	/* they come in order */
		return 0;
	case CAIRNDV_GROUP_TARGET:
		peer = session->joined[event->target];
		session->left--;
		session->ailing = true;
		peer->error = EIO;
		session->ops->lost(peer->link, 0, event->status);
		return 0;
	default:
		return log_session_too_few(session);
	}
}

/* ---- members that go and come ---- */

static uint64_t log_session_posted(const struct log_session *session)
{
	return session->tail.seq - session->first;
}

uint64_t log_session_released(const struct log_session *session)
{
	return session->settled + (session->group.group ?
				   log_group_released(&session->group) : 0);
}

/* Whether a member has kept a record waiting for too long. */
static bool log_session_is_late(struct log_session *session)
{
	uint64_t released = log_session_released(session);

	if (released != session->released ||
	    released == log_session_posted(session)) {
		session->released = released;
		session->since = session->ops->now();
	}
	return session->deadline &&
	       session->ops->now() - session->since > session->deadline;
}

/* Return: a member that is left out and answers again, or NULL. */
static struct log_peer *log_session_visitor(struct log_session *session)
{
	const struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC, .client = session->client,
	};
	struct log_answer answer;

	for (int i = 0; i < session->num_peers; i++) {
		struct log_peer *peer = &session->peers[i];

		if (peer->state != LOG_PEER_ABSENT ||
		    peer->verdict == LOG_IS_STALE ||
		    session->ops->probe(peer->link, &ask, &answer, false) ||
		    answer.magic != LOG_WIRE_MAGIC ||
		    answer.verdict != LOG_TOLD || answer.busy ||
		    !answer.mark_epoch || answer.state == LOG_DAMAGED ||
		    answer.epoch > session->tail.epoch ||
		    answer.size < session->tail.offset ||
		    memcmp(&answer.id, &session->id, sizeof(answer.id)) != 0 ||
		    (answer.domain == CAIRNDV_DOMAIN_EMULATED &&
		     !session->emulated))
			continue;
		peer->answer = answer;
		peer->is_new = false;
		/* a copy that another target has, too, is not taken twice */
		if (log_peer_bit(session, peer) & session->config.now &
		    ~log_session_set(session, LOG_PEER_MARKED))
			return peer;
	}
	return NULL;
}

static void log_session_drop(struct log_session *session,
			     struct log_peer *peer, int err)
{
	if (!peer->error)
		session->ops->lost(peer->link, err, 0);
	log_peer_leave(session, peer, err, 0);
}

/* All joined members have what was posted, or leave: each has the same time for it. */
static void log_session_drain(struct log_session *session)
{
	uint64_t until = session->ops->now() + log_session_patience(session);
	struct log_peer *peer;
	int waiting, err;

	for (int i = 0; i < session->group.num; i++) {
		peer = session->joined[i];
		err = peer->error;
		if (!err)
			err = session->ops->write(peer->link, 0,
						  session->buffer, 0);
		if (err)
			log_session_drop(session, peer, err);
		else
			peer->posted++;
	}
	do {
		waiting = 0;
		for (int i = 0; i < session->group.num; i++) {
			peer = session->joined[i];
			if (peer->state != LOG_PEER_JOINED ||
			    peer->completed >= peer->posted)
				continue;
			err = session->ops->poll(peer->link, &peer->completed);
			if (!err && peer->completed < peer->posted &&
			    session->ops->now() > until)
				err = ETIMEDOUT;
			if (err)
				log_session_drop(session, peer, err);
			waiting += !err && peer->completed < peer->posted;
		}
	} while (waiting);
}

/* Nothing is in flight at the members that are left. */
static int log_session_settle(struct log_session *session)
{
	int left = 0;

	log_session_drain(session);
	for (int i = 0; i < session->group.num; i++)
		left += session->joined[i]->state == LOG_PEER_JOINED;
	session->left = left;
	if ((uint32_t)left < session->group.quorum)
		return log_session_too_few(session);
	session->durable = log_session_posted(session);
	session->settled = session->durable;
	return 0;
}

/* No record goes behind the end of the smallest copy. */
static void log_session_fit(struct log_session *session,
			    const struct log_peer *peer)
{
	uint64_t size = peer->answer.size;

	size -= size % session->tail.align;
	if (size < session->size)
		session->size = size;
}

/* It gets what it lacks from a member that has all, and is taken back. */
static void log_session_return(struct log_session *session,
			       struct log_peer *peer)
{
	struct log_ask ask = log_session_ask(session);
	struct log_peer *source = NULL;
	int err;

	for (int i = 0; i < session->group.num && !source; i++)
		if (session->joined[i]->state == LOG_PEER_JOINED)
			source = session->joined[i];
	source->answer.tail = session->tail;
	source->error = 0;
	if (log_peer_claim(session, peer, &ask))
		return;
	err = log_session_bring(session, peer, source);
	if (source->error) {
		session->left--;
		log_session_drop(session, source, source->error);
	}
	if (err) {
		log_peer_leave(session, peer, err, peer->verdict);
	} else if (!log_session_mark_one(session, peer)) {
		log_session_fit(session, peer);
		session->returned++;
	}
}

/* Another group: without members that have failed, or with one that is back. */
static int log_session_regroup(struct log_session *session,
			       struct log_peer *visitor)
{
	int err;

	log_group_close(&session->group);
	err = log_session_settle(session);
	if (!err && visitor)
		log_session_return(session, visitor);
	return err ? err : log_session_join(session);
}

int log_session_poll(struct log_session *session, uint64_t *durable)
{
	struct cairndv_group_wc event;
	struct log_peer *visitor = NULL;
	int n = 1, err = session->failed;

	for (int i = 0; i < session->group.num && !err; i++)
		session->ops->watch(session->joined[i]->link);
	while (!err && n == 1) {
		n = log_group_poll(&session->group, &event);
		if (n < 0)
			err = log_session_fail(session, -n, "polling: %s",
					       strerror(-n));
		else if (n)
			err = log_session_event(session, &event);
	}
	if (!err)
		visitor = log_session_visitor(session);
	if (!err && (visitor || session->ailing ||
		     log_session_is_late(session)))
		err = log_session_regroup(session, visitor);
	*durable = session->durable;
	return err;
}
