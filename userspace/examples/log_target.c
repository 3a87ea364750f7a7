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

/* Memory may have more than the medium: only what is made durable here counts. */
static int log_target_settle(struct log_target *target)
{
	struct log_tail tail = target->tail;
	int err;

	while (log_record_next(target->memory, 0, target->header.size, &tail))
		;
	err = log_target_persist(target, LOG_MARK, LOG_BLOCK);
	if (!err)
		err = log_target_persist(target, target->tail.offset,
					 tail.offset - target->tail.offset);
	if (!err)
		target->tail = tail;
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
	log_tail_init(&target->tail, &target->header.id);
	/* the next header goes where the one before this is */
	err = log_target_persist(target, 0, LOG_START);
	return err ? err : log_target_settle(target);
}

/* From the moment that this is durable no smaller epoch writes. */
static int log_target_promise(struct log_target *target,
			      const struct log_ask *ask)
{
	struct log_header next = target->header;
	uint64_t offset;
	int err;

	if (target->state == LOG_EMPTY)
		next = (struct log_header){
			.id = ask->id,
			.size = target->size,
			.flags = ask->flags & LOG_ASK_CREATE ? 0 : LOG_FILLING,
		};
	next.epoch = ask->epoch;
	next.generation++;
	log_header_seal(&next);
	offset = log_header_offset(next.generation);
	memcpy(target->memory + offset, &next, sizeof(next));
	err = log_target_persist(target, offset, sizeof(next));
	if (err)
		return err;
	if (target->state == LOG_EMPTY)
		log_tail_init(&target->tail, &next.id);
	target->state = LOG_READY;
	target->header = next;
	return 0;
}

static uint64_t log_target_epoch(const struct log_target *target)
{
	return target->tail.epoch > target->header.epoch ?
	       target->tail.epoch : target->header.epoch;
}

static enum log_verdict log_target_judge(const struct log_target *target,
					 const struct log_ask *ask)
{
	if (target->failed)
		return LOG_HAS_FAILED;
	if (!(ask->flags & LOG_ASK_CLAIM))
		return LOG_TOLD;
	if (target->state == LOG_DAMAGED)
		return LOG_IS_DAMAGED;
	if (target->state == LOG_EMPTY &&
	    !(ask->flags & (LOG_ASK_CREATE | LOG_ASK_FILL)))
		return LOG_IS_EMPTY;
	if (target->state == LOG_READY &&
	    memcmp(&ask->id, &target->header.id, sizeof(ask->id)) != 0)
		return LOG_IS_FOREIGN;
	if (ask->epoch <= log_target_epoch(target))
		return LOG_IS_STALE;
	if (target->busy && target->client != ask->client &&
	    !(ask->flags & LOG_ASK_TAKEOVER))
		return LOG_IS_BUSY;
	return LOG_GRANTED;
}

enum log_verdict log_target_ask(struct log_target *target,
				const void *ask, size_t length,
				struct log_answer *answer)
{
	enum log_verdict verdict = LOG_NOT_UNDERSTOOD;
	struct log_ask question = {};

	if (length >= sizeof(question))
		memcpy(&question, ask, sizeof(question));
	if (question.magic == LOG_WIRE_MAGIC)
		verdict = log_target_judge(target, &question);
	if (verdict == LOG_GRANTED) {
		/* fenced first: what is settled then stays as it is */
		target->ops->fence(target->medium);
		target->busy = false;
		if (log_target_promise(target, &question) ||
		    log_target_settle(target))
			verdict = LOG_HAS_FAILED;
	}
	if (verdict == LOG_GRANTED) {
		target->busy = true;
		target->client = question.client;
	}
	*answer = (struct log_answer){
		.magic = LOG_WIRE_MAGIC,
		.verdict = verdict,
		.state = target->state,
		.id = target->header.id,
		.epoch = log_target_epoch(target),
		.busy = target->busy && target->client != question.client,
		.size = target->header.size,
		.tail = target->tail,
	};
	if (target->state == LOG_READY)
		answer->complete = log_is_complete(target->memory,
						   &target->header);
	return verdict;
}

void log_target_release(struct log_target *target)
{
	target->busy = false;
}
