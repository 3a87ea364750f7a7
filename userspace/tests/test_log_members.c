// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which writer a target lets in, and how many members of the log it has to reach. */
#include <errno.h>
#include <string.h>

#include "ktap.h"
#include "log_desk.h"

static void takes_over(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0);

	desk_setup(2, SIM_FILE);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 3), 0);
	ktap_eq(desk_open(&b, 0, 1), EBUSY);
	ktap_ok(strstr(b.session.error, "has another writer"));
	/* the first still writes */
	ktap_eq(desk_append(&a, 1), 0);
	b.session.flags = LOG_ASK_TAKEOVER;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(desk_append(&b, 2), 0);
	ktap_ok(desk_append(&a, 1));
	ktap_eq(desk_durable_at(0), 6);
	/* it does not take the log back by itself */
	ktap_eq(desk_open(&a, 0, 1), EBUSY);
	/* but a writer that has lost its connection may claim it again */
	b.session.flags = 0;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(b.session.first, 7);
}

/* A writer that is refused at one target is not granted at another. */
static void refused_everywhere(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0);
	struct log_ask ask = { .magic = LOG_WIRE_MAGIC, .epoch = 100,
			       .client = 3, .flags = LOG_ASK_CLAIM };
	struct log_answer answer;
	uint64_t epoch;

	desk_setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	desk_restart(0);
	epoch = sim->targets[0].core.header.epoch;
	ktap_eq(desk_open(&b, 0, 1), EBUSY);
	ktap_eq(sim->targets[0].core.header.epoch, epoch);
	ktap_ok(!sim->targets[0].core.busy);
	/* also if it has not asked before */
	ask.id = a.session.id;
	ktap_eq(log_target_ask(&sim->targets[1].core, &ask, sizeof(ask),
			       &answer), LOG_IS_BUSY);
	ask.client = 1;
	ktap_eq(log_target_ask(&sim->targets[1].core, &ask, sizeof(ask),
			       &answer), LOG_GRANTED);
}

/* A smaller epoch is refused, even after a crash. */
static void stale_epoch(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	struct log_ask ask = { .magic = LOG_WIRE_MAGIC, .epoch = 50,
			       .client = 7,
			       .flags = LOG_ASK_CLAIM | LOG_ASK_TAKEOVER };
	struct log_target *core;
	struct log_answer answer;

	desk_setup(1, SIM_FILE);
	core = &sim->targets[0].core;
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 3), 0);
	ask.id = a.session.id;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ask.client = 8;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_STALE);
	sim_target_crash(&sim->targets[0]);
	sim_target_start(&sim->targets[0]);
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_STALE);
	/* an epoch has one client */
	ask.client = 7;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ask.client = 8;
	ask.epoch++;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask) - 1, &answer),
		LOG_NOT_UNDERSTOOD);
	ask.id.bytes[0] ^= 1;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer),
		LOG_IS_FOREIGN);
	ask.id.bytes[0] ^= 1;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
}

/* An epoch is not used up by one request. */
static void far_epochs(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC, .client = 9, .epoch = UINT64_MAX,
		.flags = LOG_ASK_CLAIM | LOG_ASK_TAKEOVER | LOG_ASK_CREATE,
		.member = 1,
	};
	struct log_answer answer;
	struct log_target *core;

	desk_setup(1, SIM_FILE);
	core = &sim->targets[0].core;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_FAR);
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 3), 0);
	ask.id = a.session.id;
	ask.flags &= ~(uint32_t)LOG_ASK_CREATE;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_FAR);
	ask.epoch = core->header.epoch + LOG_EPOCH_STEP + 1;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_FAR);
	/* the writer is not cut off by that */
	ktap_eq(desk_append(&a, 3), 0);
	ask.epoch--;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ktap_eq(desk_open(&b, 0, 0), 0);
	ktap_eq(b.session.tail.epoch, ask.epoch + 1);
}

/* A target that answers with impossible numbers is left out. */
static void impossible_answers(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct log_target *core;

	desk_setup(2, SIM_PMEM);
	core = &sim->targets[1].core;
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	core->tail.align = 0;
	ktap_eq(desk_open(&b, 0, 1), EIO);
	ktap_ok(strstr(b.session.error, "second: Protocol error"));
	core->tail.align = LOG_ALIGN;
	core->tail.offset = core->size + LOG_ALIGN;
	ktap_eq(desk_open(&b, 0, 1), EIO);
	core->tail.offset = LOG_START + 1;
	ktap_eq(desk_open(&b, 0, 1), EIO);
	core->tail.offset = LOG_START;
	ktap_eq(desk_open(&b, 0, 1), 0);
}

/* Any two writers have a target in common, and so have a writer and each record. */
static void claims_overlap(void)
{
	for (uint32_t num = 1; num <= LOG_MAX_MEMBERS; num++)
		for (uint32_t quorum = 1; quorum <= num; quorum++) {
			const uint32_t member[] = { 1, 2, 3, 4, 5 };
			struct log_config config, none = {};

			ktap_eq(log_config_change(&config, &none, member,
						  (int)num, quorum, true), 0);
			ktap_ok(log_config_is_valid(&config));
			for (uint8_t i = 0; i < 1 << num; i++)
				for (uint8_t j = 0; j < 1 << num; j++) {
					if (!log_config_is_enough(&config, i))
						continue;
					ktap_ok(i & j ||
						!log_config_is_enough(&config,
								      j));
					ktap_ok(i & j || log_config_count(j) <
							 (int)quorum);
				}
		}
}

/* Each writer before a change, in it and behind it meets the next one. */
static void changes_overlap(void)
{
	const uint32_t before[] = { 1, 2, 3 }, after[] = { 1, 2, 4, 5 };
	struct log_config config[3], none = {};

	ktap_eq(log_config_change(&config[0], &none, before, 3, 2, true), 0);
	ktap_eq(log_config_change(&config[1], &config[0], after, 4, 2, false),
		0);
	ktap_ok(log_config_is_valid(&config[1]));
	config[2] = config[1];
	log_config_end_change(&config[2]);
	ktap_ok(log_config_is_valid(&config[2]));
	ktap_ok(!log_config_differs(&config[2], after, 4, 2));
	ktap_ok(log_config_differs(&config[2], after, 4, 3));
	ktap_ok(log_config_differs(&config[2], before, 3, 2));
	for (int step = 0; step < 2; step++)
		for (uint8_t i = 0; i < 32; i++)
			for (uint8_t j = 0; j < 32; j++)
				ktap_ok(i & j ||
					!log_config_is_enough(&config[step], i) ||
					!log_config_is_enough(&config[step + 1],
							      j));
	ktap_eq(log_config_change(&config[1], &config[0],
				  (uint32_t[]){ 4, 5, 6 }, 3, 2, false), E2BIG);
	ktap_eq(log_config_change(&config[1], &config[0], after, 4, 5, false),
		EINVAL);
	ktap_eq(log_config_change(&config[1], &config[0], after, 4, 0, false),
		EINVAL);
}

/* The media say how many are enough, not the writer. */
static void fewer_are_refused(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	desk_setup(3, SIM_PMEM);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 3), 0);
	sim_target_kill(&sim->targets[2]);
	ktap_eq(desk_append(&a, 7), 0);
	sim_target_kill(&sim->targets[0]);
	sim_target_kill(&sim->targets[1]);
	sim_target_start(&sim->targets[2]);
	ktap_eq(desk_epoch_at(2), a.session.tail.epoch);
	b.session.quorum = 1;
	ktap_eq(desk_open(&b, 2, 2), EINVAL);
	ktap_ok(strstr(b.session.error, "the log has 3 members, and 1 are"));
	ktap_eq(desk_open(&b, 0, 2), EINVAL);
	ktap_ok(strstr(b.session.error, "the log has a quorum of 2, not 1"));
	b.session.quorum = 0;
	ktap_eq(desk_open(&b, 0, 2), EIO);
	ktap_ok(strstr(b.session.error, "1 of 3 member(s) answer, 2 needed;"
					" first: Connection refused"));
	/* a command needs as many, also when it is told that they never come back */
	b.session.change = true;
	b.session.quorum = 1;
	b.session.force = LOG_FORCE_GONE;
	ktap_eq(desk_open(&b, 2, 2), EIO);
	ktap_eq(desk_epoch_at(2), a.session.tail.epoch);
	/* but not when it is told to lose records */
	b.session.force = LOG_FORCE_LOSS;
	ktap_eq(desk_open(&b, 2, 2), 0);
	ktap_eq(b.session.first, 4);
	sim_target_start(&sim->targets[0]);
	b.session.change = false;
	ktap_eq(desk_open(&b, 0, 2), EINVAL);
}

/* From three to two members and to three again, the third on another medium. */
static void members_change(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	desk_setup(3, SIM_FILE);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 5), 0);
	b.session.change = true;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(log_config_count(b.session.config.now), 2);
	ktap_eq(b.session.config.quorum, 2);
	ktap_eq(b.session.config.before, 0);
	ktap_eq(desk_append(&b, 5), 0);
	b.session.change = false;
	b.session.flags |= LOG_ASK_FILL;
	ktap_eq(desk_open(&b, 0, 2), EINVAL);
	ktap_ok(strstr(b.session.error, "third: is not a member"));
	sim_target_replace(&sim->targets[2]);
	sim_target_start(&sim->targets[2]);
	b.session.change = true;
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(log_config_count(b.session.config.now), 3);
	ktap_eq(desk_durable_at(2), 10);
	/* the change needs no other one: the third counts */
	sim_target_kill(&sim->targets[0]);
	b.session.change = false;
	b.session.flags = LOG_ASK_TAKEOVER;
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.first, 11);
	ktap_eq(b.session.left, 2);
}

/* The copy of a medium is no second member. */
static void same_copy_twice(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	desk_setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 5), 0);
	sim_target_kill(&sim->targets[1]);
	memcpy(sim->targets[1].medium, sim->targets[0].medium, SIM_USED);
	memcpy(sim->targets[1].cache, sim->targets[0].medium, SIM_USED);
	sim_target_start(&sim->targets[1]);
	ktap_eq(desk_open(&b, 0, 1), EINVAL);
	ktap_ok(strstr(b.session.error, "second: has the same copy as first"));
}

static int blocks_persist(void *medium, uint64_t offset, uint64_t length)
{
	(void)medium;
	(void)offset;
	(void)length;
	return 0;
}

static void blocks_fence(void *medium)
{
	(void)medium;
}

/* Places a record, as a peer that does not look where the log ends, and flushes it. */
static void blocks_add(struct log_target *target, struct log_tail *tail)
{
	static uint64_t record[16];
	uint64_t at = tail->offset;

	log_record_make((void *)record, tail, 1, tail->seq, "x", 1);
	memcpy(target->memory + at, record, log_record_size(1));
	ktap_eq(log_target_flush(target, at, log_record_size(1)), 0);
}

static void blocks_mark(struct log_target *target, const struct log_ask *ask)
{
	struct log_mark mark = {
		.generation = 1, .epoch = 1, .base = 1,
		.config = { .version = 1, .member = { 1 }, .now = 1, .quorum = 1 },
	};

	log_mark_seal(&mark, &ask->id);
	memcpy(target->memory + log_mark_offset(1), &mark, sizeof(mark));
}

/* The memory ends within a block of the last record. */
static void blocks_end_behind_the_log(void)
{
	static const struct log_target_ops ops = {
		.persist = blocks_persist, .fence = blocks_fence,
	};
	static uint8_t memory[4 * LOG_MAX_RECORD] __attribute__((aligned(8)));
	struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC, .flags = LOG_ASK_CLAIM | LOG_ASK_CREATE,
		.id = { { 1 } }, .epoch = 1, .client = 1, .member = 1,
		.shift = LOG_MAX_SHIFT,
	};
	const uint64_t size = LOG_MIN_SIZE + 1000;
	struct log_answer answer;
	struct log_target target;
	struct log_tail tail;

	memset(memory + size, 0xff, sizeof(memory) - size);
	ktap_eq(log_target_open(&target, &ops, NULL, memory, size), 0);
	ktap_eq(log_target_ask(&target, &ask, sizeof(ask), &answer), LOG_GRANTED);
	blocks_mark(&target, &ask);
	tail = answer.tail;
	tail.epoch = 1;
	blocks_add(&target, &tail);
	ask.flags = LOG_ASK_CLAIM;
	ktap_eq(log_target_ask(&target, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ktap_eq(answer.tail.seq, 2);
	blocks_add(&target, &tail);
	ktap_ok(tail.offset > size);
	ask.cut = tail.offset;
	ktap_eq(log_target_ask(&target, &ask, sizeof(ask), &answer), LOG_NOT_UNDERSTOOD);
	ask.cut = 0;
	ktap_eq(log_target_ask(&target, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ktap_eq(answer.tail.seq, 2);
	for (size_t i = size; i < sizeof(memory); i++)
		if (memory[i] != 0xff)
			ktap_eq(i, 0);
	ktap_eq(log_target_open(&target, &ops, NULL, memory, size), 0);
	ktap_eq(target.tail.seq, 2);
}

static const struct ktap_test tests[] = {
	KTAP(blocks_end_behind_the_log),
	KTAP(takes_over),
	KTAP(refused_everywhere),
	KTAP(stale_epoch),
	KTAP(impossible_answers),
	KTAP(claims_overlap),
	KTAP(changes_overlap),
	KTAP(fewer_are_refused),
	KTAP(members_change),
	KTAP(same_copy_twice),
	KTAP(far_epochs),
};

KTAP_MAIN(tests)
