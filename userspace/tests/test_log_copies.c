// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A session makes its targets equal: records that one lacks, has lost or must give up, and
 * the marks of finished copies.
 */
#include <errno.h>
#include <string.h>

#include "ktap.h"
#include "log_desk.h"

static uint64_t marked_epoch, marked_records;

/* Records in memory only are made durable before a target counts on them. */
static void persists_on_accept(void)
{
	for (int mode = SIM_PMEM; mode <= SIM_FILE; mode++) {
		DESK a = desk(1, LOG_ASK_CREATE), b = desk(2,
							LOG_ASK_TAKEOVER);
		struct log_tail tail;
		uint64_t record[64];
		struct sim_target *target;
		uint8_t *view;

		desk_setup(1, mode);
		target = &sim->targets[0];
		view = mode == SIM_FILE ? target->memory : target->cache;
		ktap_eq(desk_open(&a, 0, 0), 0);
		ktap_eq(desk_append(&a, 10), 0);
		/* record 11 is placed and not flushed */
		tail = a.session.tail;
		log_record_make((void *)record, &tail, 1, 11, "data", 4);
		memcpy(view + a.session.tail.offset, record,
		       log_record_size(4));
		ktap_eq(desk_durable_at(0), 10);
		ktap_eq(desk_open(&b, 0, 0), 0);
		ktap_eq(b.session.first, 12);
		ktap_eq(desk_durable_at(0), 11);
		ktap_eq(desk_append(&b, 2), 0);
		ktap_eq(desk_durable_at(0), 13);
	}
}

static void replaced_target(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_CREATE),
		    c = desk(3, LOG_ASK_FILL), d = desk(4, LOG_ASK_CREATE);

	desk_setup(2, SIM_FILE);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 40), 0);
	sim_target_replace(&sim->targets[1]);
	sim_target_start(&sim->targets[1]);
	desk_restart(0);
	ktap_eq(desk_open(&b, 0, 1), ENOENT);
	ktap_ok(strstr(b.session.error, "second: is empty (-f"));
	ktap_eq(desk_durable_at(0), 40);
	ktap_eq(desk_open(&c, 0, 1), 0);
	ktap_eq(c.session.copied, 40);
	ktap_eq(desk_append(&c, 3), 0);
	ktap_eq(desk_durable_at(0), 43);
	ktap_eq(desk_durable_at(1), 43);
	ktap_eq(memcmp(sim->targets[0].medium + LOG_START,
		       sim->targets[1].medium + LOG_START,
		       SIM_USED - LOG_START), 0);
	/* another log */
	sim_target_replace(&sim->targets[1]);
	sim_target_start(&sim->targets[1]);
	ktap_eq(desk_open(&d, 1, 1), 0);
	ktap_eq(desk_append(&d, 2), 0);
	c.session.flags |= LOG_ASK_TAKEOVER;
	ktap_eq(desk_open(&c, 0, 1), EINVAL);
	ktap_ok(strstr(c.session.error, "second: has another log than first"));
	ktap_eq(desk_durable_at(1), 2);
}

/* A wipe that has not reached the medium: its header does not come back after a crash. */
static void wiped_in_memory(void)
{
	for (int mode = SIM_PMEM; mode <= SIM_FILE; mode++) {
		DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER),
		     c = desk(3, LOG_ASK_CREATE);
		struct sim_target *target;

		desk_setup(1, mode);
		target = &sim->targets[0];
		ktap_eq(desk_open(&a, 0, 0), 0);
		ktap_eq(desk_open(&b, 0, 0), 0);
		ktap_eq(desk_append(&b, 5), 0);
		sim_target_kill(target);
		memset(target->cache, 0, LOG_START);
		/* after a failed fdatasync() the kernel calls these clean */
		for (uint32_t i = 0; i < LOG_START / SIM_LINE; i++)
			target->lost[i] = mode == SIM_FILE;
		sim_target_start(target);
		ktap_eq(desk_open(&c, 0, 0), 0);
		ktap_eq(desk_append(&c, 3), 0);
		sim_target_crash(target);
		sim_target_start(target);
		ktap_eq(desk_durable_at(0), 3);
		c.session.flags |= LOG_ASK_TAKEOVER;
		ktap_eq(desk_open(&c, 0, 0), 0);
		ktap_eq(c.session.first, 4);
	}
}

/* The only complete copy is lost while the other is being filled. */
static void incomplete_copy(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_FILL);
	struct log_ask ask = { .magic = LOG_WIRE_MAGIC, .epoch = 100,
			       .flags = LOG_ASK_CLAIM | LOG_ASK_FILL,
			       .member = 7 };
	struct log_answer answer;
	struct log_reader reader;
	struct log_mark mark;

	desk_setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 20), 0);
	/* the filling begins, and the writer dies */
	ask.id = a.session.id;
	ktap_eq(log_target_ask(&sim->targets[1].core, &ask, sizeof(ask),
			       &answer), LOG_GRANTED);
	ktap_eq(answer.mark_epoch, 0);
	ktap_eq(log_reader_open(&reader, sim->targets[1].medium, SIM_SIZE), 0);
	ktap_eq(log_mark_find(sim->targets[1].medium, &reader.header, &mark),
		LOG_EMPTY);
	log_reader_close(&reader);
	desk_restart(0);
	desk_restart(1);
	/* it is no log of its own, and it makes no member of itself */
	ktap_eq(desk_open(&b, 1, 1), ENOENT);
	ktap_ok(strstr(b.session.error, "second: is empty (-c"));
	ktap_eq(desk_open(&b, 0, 1), EINVAL);
	b.session.change = true;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(desk_durable_at(1), 20);
	ktap_eq(log_config_count(b.session.config.now), 2);
}

/* A copy with a later mark has all records that were reported before. */
static bool marked_has_all(struct sim_target *target)
{
	struct log_reader reader;
	struct log_mark mark;
	bool good;

	if (log_reader_open(&reader, target->medium, SIM_SIZE))
		return false;
	while (log_reader_next(&reader))
		;
	good = log_mark_find(target->medium, &reader.header, &mark) ==
	       LOG_READY && (mark.epoch <= marked_epoch ||
			     reader.tail.seq > marked_records);
	log_reader_close(&reader);
	return good;
}

/* One that was away is brought up to date, also if it has nothing of an epoch. */
static void behind(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	desk_setup(3, SIM_PMEM);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 5), 0);
	sim_target_kill(&sim->targets[2]);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.left, 2);
	ktap_eq(desk_append(&b, 40), 0);
	ktap_eq(desk_durable_at(2), 5);
	sim_target_start(&sim->targets[2]);
	marked_epoch = b.session.tail.epoch;
	marked_records = 45;
	sim->check = marked_has_all;
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_ok(!sim->failed);
	ktap_eq(b.session.left, 3);
	ktap_eq(b.session.copied, 40);
	ktap_eq(b.session.cut, 0);
	ktap_eq(desk_durable_at(2), 45);
	ktap_ok(desk_all_equal());
}

/* A writer that reaches target @only, and dies with @count records there alone. */
static void write_at_one(struct desk *d, int only, int count)
{
	uint64_t record[64], durable = 0;

	ktap_eq(desk_open(d, 0, sim->num_targets - 1), 0);
	for (int i = 0; i < sim->num_targets; i++)
		sim->targets[i].hung = i != only;
	for (int i = 1; i <= count; i++)
		ktap_eq(log_session_append(&d->session, (void *)record,
					   d->number + (uint64_t)i, "lost", 4),
			0);
	for (int i = 0; i < 1000; i++)
		sim_step();
	ktap_eq(log_session_poll(&d->session, &durable), 0);
	ktap_eq(durable, 0);
	for (int i = 0; i < sim->num_targets; i++)
		if (i != only)
			desk_restart(i);
}

/*
 * The third target has records that no other one has, more than were reported since.
 * The copy of the later epoch is right, not the longer one.
 */
static void cuts_what_was_abandoned(enum sim_mode mode)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER),
		    c = desk(3, LOG_ASK_TAKEOVER), d = desk(4, LOG_ASK_TAKEOVER);

	desk_setup(3, mode);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 10), 0);
	write_at_one(&b, 2, 5);
	ktap_eq(desk_durable_at(2), 15);
	sim_target_kill(&sim->targets[2]);
	ktap_eq(desk_open(&c, 0, 2), 0);
	ktap_eq(c.session.first, 11);
	ktap_eq(desk_append(&c, 2), 0);
	sim_target_start(&sim->targets[2]);
	ktap_eq(desk_open(&d, 0, 2), 0);
	ktap_eq(d.session.first, 13);
	ktap_eq(d.session.cut, 1);
	ktap_eq(d.session.copied, 2);
	for (int i = 0; i < 3; i++)
		ktap_eq(desk_durable_at(i), 12);
	ktap_eq(desk_append(&d, 3), 0);
	for (int i = 0; i < 3; i++)
		ktap_eq(desk_durable_at(i), 15);
	/* also when its process begins again */
	desk_restart(2);
	ktap_eq(desk_open(&a, 0, 2), EBUSY);
	ktap_eq(desk_open(&d, 0, 2), 0);
	ktap_eq(d.session.first, 16);
}

static void abandoned_tail(void)
{
	cuts_what_was_abandoned(SIM_PMEM);
	cuts_what_was_abandoned(SIM_FILE);
}

/* A copy that was cut and then lost its power is behind, and has lost nothing. */
static void cut_is_durable(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	struct log_ask ask = { .magic = LOG_WIRE_MAGIC, .epoch = 9,
			       .client = 1, .flags = LOG_ASK_CLAIM };
	struct sim_target *target;
	struct log_answer answer;
	uint64_t third;

	desk_setup(1, SIM_FILE);
	target = &sim->targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 3), 0);
	ktap_eq(desk_open(&a, 0, 0), 0);	/* the mark says 5 records */
	ask.id = a.session.id;
	ask.cut = third + 8;
	ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask), &answer),
		LOG_NOT_UNDERSTOOD);
	ask.cut = third;
	ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask), &answer),
		LOG_GRANTED);
	ktap_eq(answer.tail.offset, third);
	ktap_eq(desk_durable_at(0), 2);
	sim_target_crash(target);
	sim_target_start(target);
	ask.cut = 0;
	ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask), &answer),
		LOG_GRANTED);
	ktap_eq(answer.state, LOG_READY);
	ktap_eq(answer.tail.seq, 3);
}

/* The old records behind a torn one stay invalid, although their bytes are there. */
static void abandoned(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct sim_target *target;
	uint64_t torn;

	desk_setup(1, SIM_PMEM);
	target = &sim->targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 2), 0);
	torn = a.session.tail.offset;
	ktap_eq(desk_append(&a, 3), 0);
	target->medium[torn] ^= 1;
	target->cache[torn] ^= 1;
	desk_restart(0);
	a.number = 2;
	ktap_eq(desk_open(&b, 0, 0), 0);
	ktap_eq(b.session.first, 3);
	/* the same client, number and data: only the epoch differs */
	b.session.client = 1;
	b.number = 2;
	ktap_eq(desk_append(&b, 1), 0);
	ktap_eq(desk_durable_at(0), 3);
}

/* Records from number 4 on are of epoch 2, once it has begun. */
static bool none_abandoned(struct sim_target *target)
{
	const struct log_record *record;
	struct log_reader reader;
	bool good = true;

	if (log_reader_open(&reader, target->medium, SIM_SIZE))
		return false;
	while ((record = log_reader_next(&reader)))
		good &= record->seq < 4 || record->epoch > 1;
	log_reader_close(&reader);
	return good;
}

/*
 * The second target lacks record 3 and has those behind it, whole. The others have
 * gone on from number 3 in another epoch.
 */
static void gap_is_filled_once(uint64_t seed)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(1, 0);
	uint64_t third, fourth;

	desk_setup(3, SIM_PMEM);
	sim->random = seed;
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 1), 0);
	fourth = a.session.tail.offset;
	ktap_eq(desk_append(&a, 2), 0);
	desk_flip(0, fourth);
	desk_flip(1, third);
	desk_flip(2, fourth);
	ktap_eq(desk_durable_at(0), 3);
	ktap_eq(desk_durable_at(1), 2);
	sim_target_kill(&sim->targets[1]);
	b.number = 3;
	ktap_eq(desk_open(&b, 0, 2), 0);
	sim->check = none_abandoned;
	ktap_eq(desk_append(&b, 1), 0);
	sim_target_start(&sim->targets[1]);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_ok(!sim->failed);
	for (int i = 0; i < 3; i++)
		ktap_eq(desk_durable_at(i), 4);
}

static void gap_is_filled(void)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		gap_is_filled_once(seed);
}

/* Behind the last record that it gets it has more of the old ones. */
static void end_is_marked(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(1, 0);
	uint64_t third, fourth;

	desk_setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 1), 0);
	fourth = a.session.tail.offset;
	ktap_eq(desk_append(&a, 2), 0);
	desk_flip(0, fourth);
	desk_flip(1, third);
	sim->check = none_abandoned;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_ok(!sim->failed);
	ktap_eq(desk_durable_at(0), 3);
	ktap_eq(desk_durable_at(1), 3);
}

/* The mark was placed and not flushed: a target does not count on it. */
static void mark_is_persisted(void)
{
	for (int mode = SIM_PMEM; mode <= SIM_FILE; mode++) {
		struct log_ask ask = {
			.magic = LOG_WIRE_MAGIC, .epoch = 5, .member = 9,
			.flags = LOG_ASK_CLAIM | LOG_ASK_FILL,
		};
		struct log_mark mark = {
			.generation = 1, .epoch = 5, .base = 1,
			.config = { .member = { 9 }, .now = 1, .quorum = 1 },
		};
		uint64_t offset = log_mark_offset(mark.generation);
		struct sim_target *target;
		struct log_answer answer;

		desk_setup(1, mode);
		target = &sim->targets[0];
		ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask),
				       &answer), LOG_GRANTED);
		ktap_eq(answer.mark_epoch, 0);
		log_mark_seal(&mark, &ask.id);
		memcpy((mode == SIM_FILE ? target->memory : target->cache) +
		       offset, &mark, sizeof(mark));
		ask.epoch++;
		ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask),
				       &answer), LOG_GRANTED);
		ktap_eq(answer.mark_epoch, 5);
		ktap_eq(memcmp(target->medium + offset, &mark, sizeof(mark)),
			0);
	}
}

/* There is one whole header at any time, also if an earlier one was not written. */
static void failed_header(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0);
	struct sim_target *target;
	struct log_header header;

	desk_setup(1, SIM_FILE);
	target = &sim->targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	for (int i = 0; i < 20; i++) {
		desk_restart(0);
		target->fails = true;
		ktap_ok(desk_open(&b, 0, 0));
		desk_restart(0);
		ktap_eq(log_header_find(target->medium, &header), LOG_READY);
		ktap_eq(header.generation, target->core.header.generation);
	}
}

/* A copy that has lost a record is not the one that the others follow. */
static void lost_records(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	uint64_t third;

	desk_setup(2, SIM_FILE);
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 5), 0);
	ktap_eq(desk_open(&a, 0, 1), 0);	/* the marks say 7 records */
	desk_flip(1, third);
	ktap_eq(desk_durable_at(1), 2);
	/* with one of two it may have been the only one */
	ktap_eq(desk_open(&b, 0, 1), EIO);
	ktap_ok(strstr(b.session.error, "second: has lost records"));
	ktap_eq(desk_durable_at(0), 7);

	desk_close(&a);
	desk_setup(3, SIM_FILE);
	a = desk(1, LOG_ASK_CREATE);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	ktap_eq(desk_append(&a, 5), 0);
	ktap_eq(desk_open(&a, 0, 2), 0);
	desk_flip(1, third);
	ktap_eq(desk_durable_at(1), 2);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.first, 8);
	ktap_eq(desk_durable_at(1), 7);
	ktap_ok(desk_all_equal());
}

/* A log of three with 20 records, which @d has read in its last session. */
static void read_all(struct desk *d, enum sim_mode mode)
{
	desk_setup(3, mode);
	d->session.quorum = 2;
	ktap_eq(desk_open(d, 0, 2), 0);
	ktap_eq(desk_append(d, 20), 0);
	ktap_eq(desk_open(d, 0, 2), 0);
	ktap_eq(d->session.first, 21);
	d->session.empties = d->session.tail.epoch;
}

/* The log becomes empty, and goes on; one that was away gives up what it has. */
static void emptied(void)
{
	for (int mode = SIM_PMEM; mode <= SIM_FILE; mode++) {
		DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

		read_all(&a, mode);
		sim_target_kill(&sim->targets[2]);
		ktap_eq(desk_open(&a, 0, 2), 0);
		a.session.empties = 0;
		ktap_eq(a.session.first, 1);
		ktap_eq(desk_durable_at(0), 0);
		ktap_eq(desk_durable_at(1), 0);
		ktap_eq(desk_durable_at(2), 20);
		/* the old records behind these are no part of the log */
		ktap_eq(desk_append(&a, 5), 0);
		ktap_eq(desk_durable_at(0), 5);
		sim_target_start(&sim->targets[2]);
		desk_restart(0);
		ktap_eq(desk_open(&b, 0, 2), 0);
		ktap_eq(b.session.first, 6);
		ktap_eq(b.session.cut, 1);
		ktap_ok(desk_all_equal());
		ktap_eq(desk_append(&b, 30), 0);
		ktap_eq(desk_durable_at(2), 35);
	}
}

/* One was away in the last session, and is empty, too. */
static void emptied_behind(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	read_all(&a, SIM_PMEM);
	a.session.empties = 0;
	sim_target_kill(&sim->targets[0]);
	ktap_eq(desk_open(&a, 0, 2), 0);
	sim_target_start(&sim->targets[0]);
	a.session.empties = a.session.tail.epoch;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(a.session.first, 1);
	for (int i = 0; i < 3; i++)
		ktap_eq(desk_durable_at(i), 0);
}

/* The writer dies when one target is empty: the log has all records, and no other ones. */
static void emptied_in_part(void)
{
	for (int one = 0; one < 3; one++) {
		DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
		struct log_ask ask = { .magic = LOG_WIRE_MAGIC, .client = 1,
				       .flags = LOG_ASK_CLAIM, .cut = LOG_START };
		struct log_answer answer;

		read_all(&a, SIM_PMEM);
		ask.id = a.session.id;
		ask.epoch = a.session.tail.epoch + 1;
		ktap_eq(log_target_ask(&sim->targets[one].core, &ask, sizeof(ask),
				       &answer), LOG_GRANTED);
		ktap_eq(desk_durable_at(one), 0);
		desk_restart(one);
		ktap_eq(desk_open(&b, 0, 2), 0);
		ktap_eq(b.session.first, 21);
		ktap_eq(b.session.copied, 20);
		ktap_ok(desk_all_equal());
		ktap_eq(desk_durable_at(one), 20);
	}
}

/* Records that another writer has added since are not dropped. */
static void emptied_too_late(void)
{
	DESK a = desk(1, LOG_ASK_CREATE | LOG_ASK_TAKEOVER), b = desk(2, LOG_ASK_TAKEOVER);

	read_all(&a, SIM_FILE);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(desk_append(&b, 2), 0);
	ktap_eq(desk_open(&a, 0, 2), EBUSY);
	ktap_ok(strstr(a.session.error, "another writer"));
	for (int i = 0; i < 3; i++)
		ktap_eq(desk_durable_at(i), 22);
	/* nothing was claimed either */
	ktap_eq(desk_append(&b, 1), 0);
}

/* Too few can be made empty. */
static void emptied_by_too_few(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	read_all(&a, SIM_PMEM);
	sim_target_kill(&sim->targets[1]);
	sim_target_kill(&sim->targets[2]);
	ktap_eq(desk_open(&a, 0, 2), EIO);
	ktap_eq(desk_durable_at(0), 20);
}

static const struct ktap_test tests[] = {
	KTAP(persists_on_accept),
	KTAP(replaced_target),
	KTAP(wiped_in_memory),
	KTAP(incomplete_copy),
	KTAP(behind),
	KTAP(abandoned_tail),
	KTAP(cut_is_durable),
	KTAP(abandoned),
	KTAP(gap_is_filled),
	KTAP(end_is_marked),
	KTAP(mark_is_persisted),
	KTAP(failed_header),
	KTAP(lost_records),
	KTAP(emptied),
	KTAP(emptied_behind),
	KTAP(emptied_in_part),
	KTAP(emptied_too_late),
	KTAP(emptied_by_too_few),
};

KTAP_MAIN(tests)
