// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "log_target.h"

/*
 * After a failed fdatasync() the kernel may call pages clean that are not on the
 * disk, and the next call succeeds. So there is no next call.
 */
int log_target_persist(struct log_target *target, uint64_t offset,
		       uint64_t length)
{
	int err = target->failed;

	if (err)
		return err;
	if (offset > target->size || length > target->size - offset)
		return ERANGE;
	err = target->ops->persist(target->medium, offset, length);
	target->failed = err;
	return err;
}

static void log_target_read_mark(struct log_target *target)
{
	target->marked = target->state;
	if (target->state == LOG_READY)
		target->marked = log_mark_find(target->memory, &target->header,
					       &target->mark);
}

/*
 * Moves @tail over a record in @length bytes from @base on. A record whose blocks do not
 * fit is none: the log would end behind its memory.
 */
static bool log_target_next(const struct log_target *target, uint64_t base,
			    uint64_t length, struct log_tail *tail)
{
	struct log_tail next = *tail;

	if (!log_record_next(target->memory + base, base, length, &next) ||
	    next.offset > target->header.size)
		return false;
	*tail = next;
	return true;
}

static void log_target_look(struct log_target *target)
{
	while (log_target_next(target, 0, target->header.size, &target->seen))
		;
}

/* Memory may have more records than the medium: make them durable first. */
static int log_target_settle(struct log_target *target)
{
	uint64_t from = target->tail.offset;
	int err;

	target->seen = target->tail;
	log_target_look(target);
	err = log_target_persist(target, LOG_MARK, 2 * LOG_BLOCK);
	if (!err)
		err = log_target_persist(target, from,
					 target->seen.offset - from);
	if (!err)
		target->tail = target->seen;
	return err;
}

int log_target_open(struct log_target *target,
		    const struct log_target_ops *ops, void *medium,
		    void *memory, uint64_t size)
{
	int err;

	*target = (struct log_target){
		.ops = ops, .medium = medium, .memory = memory, .size = size,
	};
	if (size < LOG_MIN_SIZE)
		return EINVAL;
	target->state = log_header_find(memory, &target->header);
	if (target->state != LOG_READY)
		return 0;
	if (target->header.size > size)
		return EFBIG;
	log_tail_init(&target->tail, &target->header);
	log_target_read_mark(target);
	/* the next header overwrites the one before this */
	err = log_target_persist(target, 0, LOG_START);
	return err ? err : log_target_settle(target);
}

/* No record begins at @offset any more. */
static int log_target_end(struct log_target *target, uint64_t offset)
{
	uint64_t length = sizeof(struct log_record);

	if (length > target->header.size - offset)
		return 0;	/* none fits there */
	memset(target->memory + offset, 0, length);
	return log_target_persist(target, offset, length);
}

/* Nothing that is here counts: a new log, or a new copy, begins. */
static int log_target_begin(struct log_target *target,
			    const struct log_ask *ask)
{
	int err;

	/* Empty in memory: cairn_log wipe may not have got that to the medium. */
	err = log_target_persist(target, 0, LOG_START);
	if (err)
		return err;
	target->header.id = ask->id;
	target->header.size = target->size;
	target->header.member = ask->member;
	target->header.shift = ask->shift;
	log_tail_init(&target->tail, &target->header);
	return log_target_end(target, LOG_START);
}

/* As soon as this is durable, no smaller epoch may write. */
static int log_target_promise(struct log_target *target,
			      const struct log_ask *ask)
{
	struct log_header *next = &target->header;
	uint64_t offset;
	int err;

	next->epoch = ask->epoch;
	next->client = ask->client;
	next->generation++;
	log_header_seal(next);
	offset = log_header_offset(next->generation);
	memcpy(target->memory + offset, next, sizeof(*next));
	err = log_target_persist(target, offset, sizeof(*next));
	if (!err)
		target->state = LOG_READY;
	return err;
}

/* The tail that is at @offset, if a record or the first one begins there. */
static bool log_target_find(const struct log_target *target, uint64_t offset,
			    struct log_tail *tail)
{
	log_tail_init(tail, &target->header);
	while (tail->offset < offset && tail->offset < target->tail.offset &&
	       log_target_next(target, 0, target->header.size, tail))
		;
	return tail->offset == offset;
}

/* The copy will end at @tail, and that is no loss. */
static int log_target_lower(struct log_target *target,
			    const struct log_tail *tail)
{
	struct log_mark *mark = &target->mark;
	uint64_t offset;

	if (mark->base <= tail->seq)
		return 0;
	mark->base = tail->seq;
	mark->generation++;
	log_mark_seal(mark, &target->header.id);
	offset = log_mark_offset(mark->generation);
	memcpy(target->memory + offset, mark, sizeof(*mark));
	return log_target_persist(target, offset, sizeof(*mark));
}

/* The rest was abandoned: the writer knows that from the other copies. */
static int log_target_cut(struct log_target *target, uint64_t offset)
{
	struct log_tail tail;
	int err;

	if (!log_target_find(target, offset, &tail))
		return EINVAL;
	err = log_target_lower(target, &tail);
	if (!err)
		err = log_target_end(target, offset);
	if (!err)
		target->tail = tail;
	return err;
}

static uint64_t log_target_epoch(const struct log_target *target)
{
	return target->tail.epoch > target->header.epoch ?
	       target->tail.epoch : target->header.epoch;
}

static enum log_verdict log_target_judge_epoch(const struct log_target *target,
					       const struct log_ask *ask)
{
	uint64_t epoch = log_target_epoch(target);
	uint64_t step = target->state == LOG_EMPTY ? LOG_EPOCH_FIRST :
						     LOG_EPOCH_STEP;

	if (ask->epoch < epoch || !ask->epoch ||
	    (ask->epoch == epoch && ask->client != target->header.client))
		return LOG_IS_STALE;
	return ask->epoch - epoch > step ? LOG_IS_FAR : LOG_GRANTED;
}

/* A new copy, or one that was not finished: nothing reported is in it. */
static enum log_verdict log_target_judge_new(const struct log_ask *ask)
{
	if (!(ask->flags & (LOG_ASK_CREATE | LOG_ASK_FILL)))
		return LOG_IS_EMPTY;
	return !ask->member || ask->cut || ask->shift > LOG_MAX_SHIFT ?
	       LOG_NOT_UNDERSTOOD : LOG_GRANTED;
}

static enum log_verdict log_target_judge_copy(const struct log_target *target,
					      const struct log_ask *ask)
{
	struct log_tail tail;

	if (ask->flags & LOG_ASK_CREATE ||
	    memcmp(&ask->id, &target->header.id, sizeof(ask->id)) != 0)
		return LOG_IS_FOREIGN;
	return ask->cut && !log_target_find(target, ask->cut, &tail) ?
	       LOG_NOT_UNDERSTOOD : LOG_GRANTED;
}

static enum log_verdict log_target_judge(const struct log_target *target,
					 const struct log_ask *ask)
{
	enum log_verdict verdict;

	if (target->failed)
		return LOG_HAS_FAILED;
	if (!(ask->flags & LOG_ASK_CLAIM))
		return LOG_TOLD;
	if (target->marked == LOG_DAMAGED)
		return LOG_IS_DAMAGED;
	verdict = target->marked == LOG_READY ?
		  log_target_judge_copy(target, ask) :
		  log_target_judge_new(ask);
	if (verdict == LOG_GRANTED)
		verdict = log_target_judge_epoch(target, ask);
	if (verdict != LOG_GRANTED)
		return verdict;
	return target->busy && target->client != ask->client &&
	       !(ask->flags & LOG_ASK_TAKEOVER) ? LOG_IS_BUSY : LOG_GRANTED;
}

static enum log_verdict log_target_grant(struct log_target *target,
					 const struct log_ask *ask)
{
	enum log_verdict verdict;
	int err = 0;

	/* fenced first: settled records do not change afterwards */
	target->ops->fence(target->medium);
	target->busy = false;
	/* the writer of before may have finished the copy meanwhile */
	log_target_read_mark(target);
	verdict = log_target_judge(target, ask);
	if (verdict != LOG_GRANTED)
		return verdict;
	if (target->marked == LOG_EMPTY)
		err = log_target_begin(target, ask);
	if (!err)
		err = log_target_promise(target, ask);
	if (!err && ask->cut)
		err = log_target_cut(target, ask->cut);
	if (!err)
		err = log_target_settle(target);
	if (err)
		return LOG_HAS_FAILED;
	target->busy = true;
	target->client = ask->client;
	return LOG_GRANTED;
}

static enum log_state log_target_state(const struct log_target *target)
{
	if (target->marked == LOG_DAMAGED)
		return LOG_DAMAGED;
	return target->marked == LOG_READY &&
	       target->seen.seq < target->mark.base ? LOG_SHORT : target->state;
}

static void log_target_answer(const struct log_target *target,
			      const struct log_ask *ask,
			      struct log_answer *answer)
{
	*answer = (struct log_answer){
		.magic = LOG_WIRE_MAGIC,
		.state = (uint8_t)log_target_state(target),
		.busy = target->busy && target->client != ask->client,
		.shift = (uint8_t)target->header.shift,
		.id = target->header.id,
		.epoch = log_target_epoch(target),
		.size = target->state == LOG_READY ? target->header.size :
						     target->size,
		.tail = target->tail,
		.member = target->header.member,
	};
	if (target->marked != LOG_READY)
		return;
	answer->mark_epoch = target->mark.epoch;
	answer->mark_generation = target->mark.generation;
	answer->config = target->mark.config;
}

enum log_verdict log_target_ask(struct log_target *target,
				const void *ask, size_t length,
				struct log_answer *answer)
{
	enum log_verdict verdict = LOG_NOT_UNDERSTOOD;
	struct log_ask question = {};

	if (length >= sizeof(question))
		memcpy(&question, ask, sizeof(question));
	log_target_read_mark(target);
	if (target->state == LOG_READY)
		log_target_look(target);
	if (question.magic == LOG_WIRE_MAGIC)
		verdict = log_target_judge(target, &question);
	if (verdict == LOG_GRANTED)
		verdict = log_target_grant(target, &question);
	log_target_answer(target, &question, answer);
	answer->verdict = (uint8_t)verdict;
	return verdict;
}

int log_target_flush(struct log_target *target, uint64_t offset,
		     uint64_t length)
{
	int err = log_target_persist(target, offset, length);

	if (!err && target->state == LOG_READY)
		while (log_target_next(target, offset, length, &target->tail))
			;
	return err;
}

void log_target_release(struct log_target *target)
{
	target->busy = false;
}
