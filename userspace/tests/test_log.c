// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The example's log: its format, and the decisions of writers and targets, step by
 * step. test_log_crash.c has the schedules.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ktap.h"
#include "log_sim.h"
#include "log_text.h"

#define SIZE	65536

static const struct log_id some_id = { { 1, 2, 3 } };
static const struct log_header some_header = { .id = { { 1, 2, 3 } } };
static uint64_t log_words[SIZE / 8], crashed[SIZE / 8], scratch[SIZE / 8];

static void start(struct log_tail *tail)
{
	memset(log_words, 0, sizeof(log_words));
	log_tail_init(tail, &some_header);
	tail->epoch = 1;
}

/* Appends one record of random length; returns its seq, 0 if it does not fit. */
static uint64_t add(struct log_tail *tail)
{
	uint32_t length = ktap_below(300);
	size_t at = tail->offset;
	uint8_t data[300];

	if (at + log_record_size(length) > SIZE)
		return 0;
	for (uint32_t i = 0; i < length; i++)
		data[i] = (uint8_t)ktap_rand();
	log_record_make((void *)scratch, tail, 1, tail->seq, data, length);
	memcpy((uint8_t *)log_words + at, scratch, log_record_size(length));
	return tail->seq - 1;
}

static uint64_t records_in(const void *log)
{
	struct log_tail tail;

	log_tail_init(&tail, &some_header);
	while (log_record_next(log, 0, SIZE, &tail))
		;
	return tail.seq - 1;
}

static void fills_up(void)
{
	struct log_tail tail, again;
	uint64_t n = 0, last;

	start(&tail);
	while ((last = add(&tail)))
		n = last;
	ktap_ok(n > 100);
	ktap_eq(records_in(log_words), n);
	log_tail_init(&again, &some_header);
	while (log_record_next(log_words, 0, SIZE, &again))
		;
	ktap_eq(memcmp(&tail, &again, sizeof(tail)), 0);
}

/* Every single bit of a record counts. */
static void flipped_bits(void)
{
	struct log_tail tail;
	uint64_t n;

	start(&tail);
	add(&tail);
	n = add(&tail);
	add(&tail);
	ktap_eq(records_in(log_words), n + 1);
	for (size_t bit = LOG_START * 8; bit < tail.offset * 8; bit++) {
		uint8_t *byte = (uint8_t *)log_words + bit / 8;

		*byte ^= (uint8_t)(1u << bit % 8);
		/* the pad behind a record is the only exception */
		if (records_in(log_words) == n + 1)
			ktap_eq(*byte, 1u << bit % 8);
		*byte ^= (uint8_t)(1u << bit % 8);
	}
}

static void hostile(void)
{
	struct log_record *record = (void *)log_words;
	struct log_tail tail;

	for (int round = 0; round < 1000; round++) {
		for (size_t i = 0; i < 64; i++)
			log_words[i] = ktap_rand();
		log_tail_init(&tail, &some_header);
		record->magic = LOG_RECORD;
		record->seq = 1;
		record->epoch = 1;
		record->previous = tail.previous;
		if (round & 1)
			record->length = ktap_below(2 * LOG_MAX_RECORD);
		tail.offset = round & 2 ? 0 : ktap_rand();
		ktap_ok(!log_record_next(log_words, 0, SIZE, &tail));
	}
}

/* One slot of each header is whole, whatever part of the next was written. */
static void header_slots(void)
{
	struct log_header header = { .id = some_id, .size = SIZE }, found;

	memset(log_words, 0, sizeof(log_words));
	ktap_eq(log_header_find(log_words, &found), LOG_EMPTY);
	for (uint64_t generation = 1; generation < 200; generation++) {
		uint8_t *slot = (uint8_t *)log_words +
				log_header_offset(generation);
		size_t written = ktap_below(sizeof(header));

		header.generation = generation;
		header.epoch = 10 * generation;
		log_header_seal(&header);
		memcpy(slot, &header, written);
		ktap_eq(log_header_find(log_words, &found),
			generation > 1 ? LOG_READY :
			written ? LOG_DAMAGED : LOG_EMPTY);
		if (generation > 1)
			ktap_eq(found.epoch, 10 * (generation - 1));
		memcpy(slot, &header, sizeof(header));
		ktap_eq(log_header_find(log_words, &found), LOG_READY);
		ktap_eq(found.epoch, header.epoch);
	}
	memset(log_words, 0, LOG_START);
	log_words[LOG_MARK / 8] = 1;
	ktap_eq(log_header_find(log_words, &found), LOG_DAMAGED);
}

/* A log of another version is no log, and is not called damaged. */
static void header_version(void)
{
	struct log_header header = { .id = some_id, .size = SIZE }, found;

	memset(log_words, 0, sizeof(log_words));
	ktap_eq(log_header_version(log_words), 0);
	log_header_seal(&header);
	header.version = LOG_VERSION - 1;
	memcpy((uint8_t *)log_words + log_header_offset(1), &header,
	       sizeof(header));
	ktap_eq(log_header_find(log_words, &found), LOG_DAMAGED);
	ktap_eq(log_header_version(log_words), LOG_VERSION - 1);
	log_words[LOG_BLOCK / 8] = 1;
	ktap_eq(log_header_version(log_words), 0);
}

/* Records that many clients wrote again are read once. */
static void reads_once(void)
{
	struct log_header header = { .id = some_id, .size = SIZE };
	uint64_t last[100] = {}, unique = 0, n = 0;
	const struct log_record *record;
	struct log_reader reader;
	struct log_tail tail;

	start(&tail);
	for (; n < 500; n++) {
		uint32_t client = ktap_below(100);
		uint64_t number = last[client] + 1;

		if (last[client] && ktap_below(2))
			number = 1 + ktap_below((uint32_t)last[client]);
		unique += number > last[client];
		if (number > last[client])
			last[client] = number;
		log_record_make((void *)scratch, &tail, client, number, "x", 1);
		memcpy((uint8_t *)log_words + tail.offset - log_record_size(1),
		       scratch, log_record_size(1));
	}
	log_header_seal(&header);
	memcpy(log_words, &header, sizeof(header));
	memset(last, 0, sizeof(last));
	ktap_eq(log_reader_open(&reader, log_words, SIZE - 8), EFBIG);
	ktap_eq(log_reader_open(&reader, log_words, SIZE), 0);
	while ((record = log_reader_next(&reader)))
		ktap_eq(record->number, ++last[record->client]);
	ktap_eq(reader.records, unique);
	ktap_eq(reader.records + reader.duplicates, n);
	log_reader_close(&reader);
	memset(crashed, 0xff, sizeof(crashed));
	ktap_eq(log_reader_open(&reader, crashed, SIZE), EINVAL);
}

/* ---- writers and targets ---- */

struct desk {
	struct log_session session;
	struct sim_nic nic;
	uint64_t number;
	uint8_t buffer[SIM_WRITE];
};

static struct sim quiet;

static bool accept_all(struct sim_target *target)
{
	(void)target;
	return true;
}

static void setup(int num_targets, enum sim_mode mode)
{
	for (int i = 0; i < quiet.num_targets; i++)
		sim_target_close(&quiet.targets[i]);
	memset(&quiet, 0, sizeof(quiet));
	quiet.quiet = true;
	quiet.check = accept_all;
	quiet.num_targets = num_targets;
	sim = &quiet;
	for (int i = 0; i < num_targets; i++)
		sim_target_init(&quiet.targets[i], mode);
}

/* A writer of the targets @from to @to. */
static struct desk desk(uint64_t client, uint32_t flags)
{
	struct desk d = {
		.session = {
			.ops = &sim_link_ops,
			.client = client,
			.flags = flags,
			.buffer_size = SIM_WRITE,
			.depth = SIM_QUEUE,
		},
	};

	memset(&d.session.new_id, (int)client, sizeof(d.session.new_id));
	return d;
}

static void desk_close(struct desk *d)
{
	log_session_close(&d->session);
}

#define DESK	__attribute__((cleanup(desk_close))) struct desk

static int desk_open(struct desk *d, int from, int to)
{
	static const char * const names[] = { "first", "second", "third" };

	log_session_close(&d->session);
	sim_nic_init(&d->nic);
	d->session.buffer = d->buffer;
	d->session.num_peers = 0;
	for (int i = from; i <= to; i++) {
		struct log_peer *peer =
			&d->session.peers[d->session.num_peers++];

		peer->link = &d->nic.links[i];
		peer->name = names[i];
	}
	return log_session_open(&d->session);
}

static int desk_append(struct desk *d, int count)
{
	uint64_t record[64], durable = 0, want;
	int err = 0;

	want = d->session.tail.seq - d->session.first + (uint64_t)count;
	while (!err && durable < want) {
		while (count && !err) {
			err = log_session_append(&d->session, (void *)record,
						 d->number + 1, "data", 4);
			d->number += !err;
			count -= !err;
		}
		if (!err || err == EAGAIN)
			err = log_session_poll(&d->session, &durable);
	}
	return err;
}

static uint64_t durable_at(int target)
{
	struct log_reader reader;
	uint64_t n;

	if (log_reader_open(&reader, quiet.targets[target].medium, SIM_SIZE))
		return UINT64_MAX;
	while (log_reader_next(&reader))
		;
	n = reader.tail.seq - 1;
	log_reader_close(&reader);
	return n;
}

static uint64_t epoch_at(int target)
{
	return quiet.targets[target].core.header.epoch;
}

static bool all_equal(void)
{
	for (int i = 1; i < quiet.num_targets; i++)
		if (memcmp(quiet.targets[0].medium + LOG_START,
			   quiet.targets[i].medium + LOG_START,
			   SIM_USED - LOG_START) != 0)
			return false;
	return true;
}

static void restart(int target)
{
	sim_target_kill(&quiet.targets[target]);
	sim_target_start(&quiet.targets[target]);
}

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

		setup(1, mode);
		target = &quiet.targets[0];
		view = mode == SIM_FILE ? target->memory : target->cache;
		ktap_eq(desk_open(&a, 0, 0), 0);
		ktap_eq(desk_append(&a, 10), 0);
		/* record 11 is placed and not flushed */
		tail = a.session.tail;
		log_record_make((void *)record, &tail, 1, 11, "data", 4);
		memcpy(view + a.session.tail.offset, record,
		       log_record_size(4));
		ktap_eq(durable_at(0), 10);
		ktap_eq(desk_open(&b, 0, 0), 0);
		ktap_eq(b.session.first, 12);
		ktap_eq(durable_at(0), 11);
		ktap_eq(desk_append(&b, 2), 0);
		ktap_eq(durable_at(0), 13);
	}
}

static void replaced_target(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_CREATE),
		    c = desk(3, LOG_ASK_FILL), d = desk(4, LOG_ASK_CREATE);

	setup(2, SIM_FILE);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 40), 0);
	sim_target_replace(&quiet.targets[1]);
	sim_target_start(&quiet.targets[1]);
	restart(0);
	ktap_eq(desk_open(&b, 0, 1), ENOENT);
	ktap_ok(strstr(b.session.error, "second: is empty (-f"));
	ktap_eq(durable_at(0), 40);
	ktap_eq(desk_open(&c, 0, 1), 0);
	ktap_eq(c.session.copied, 40);
	ktap_eq(desk_append(&c, 3), 0);
	ktap_eq(durable_at(0), 43);
	ktap_eq(durable_at(1), 43);
	ktap_eq(memcmp(quiet.targets[0].medium + LOG_START,
		       quiet.targets[1].medium + LOG_START,
		       SIM_USED - LOG_START), 0);
	/* another log */
	sim_target_replace(&quiet.targets[1]);
	sim_target_start(&quiet.targets[1]);
	ktap_eq(desk_open(&d, 1, 1), 0);
	ktap_eq(desk_append(&d, 2), 0);
	c.session.flags |= LOG_ASK_TAKEOVER;
	ktap_eq(desk_open(&c, 0, 1), EINVAL);
	ktap_ok(strstr(c.session.error, "second: has another log than first"));
	ktap_eq(durable_at(1), 2);
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

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 20), 0);
	/* the filling begins, and the writer dies */
	ask.id = a.session.id;
	ktap_eq(log_target_ask(&quiet.targets[1].core, &ask, sizeof(ask),
			       &answer), LOG_GRANTED);
	ktap_eq(answer.mark_epoch, 0);
	ktap_eq(log_reader_open(&reader, quiet.targets[1].medium, SIM_SIZE), 0);
	ktap_eq(log_mark_find(quiet.targets[1].medium, &reader.header, &mark),
		LOG_EMPTY);
	log_reader_close(&reader);
	restart(0);
	restart(1);
	/* it is no log of its own, and it makes no member of itself */
	ktap_eq(desk_open(&b, 1, 1), ENOENT);
	ktap_ok(strstr(b.session.error, "second: is empty (-c"));
	ktap_eq(desk_open(&b, 0, 1), EINVAL);
	b.session.change = true;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(durable_at(1), 20);
	ktap_eq(log_config_count(b.session.config.now), 2);
}

static uint64_t marked_epoch, marked_records;

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

	setup(3, SIM_PMEM);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 5), 0);
	sim_target_kill(&quiet.targets[2]);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.left, 2);
	ktap_eq(desk_append(&b, 40), 0);
	ktap_eq(durable_at(2), 5);
	sim_target_start(&quiet.targets[2]);
	marked_epoch = b.session.tail.epoch;
	marked_records = 45;
	quiet.check = marked_has_all;
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_ok(!quiet.failed);
	ktap_eq(b.session.left, 3);
	ktap_eq(b.session.copied, 40);
	ktap_eq(b.session.cut, 0);
	ktap_eq(durable_at(2), 45);
	ktap_ok(all_equal());
}

/* A writer that reaches target @only, and dies with @count records there alone. */
static void write_at_one(struct desk *d, int only, int count)
{
	uint64_t record[64], durable = 0;

	ktap_eq(desk_open(d, 0, quiet.num_targets - 1), 0);
	for (int i = 0; i < quiet.num_targets; i++)
		quiet.targets[i].hung = i != only;
	for (int i = 1; i <= count; i++)
		ktap_eq(log_session_append(&d->session, (void *)record,
					   d->number + (uint64_t)i, "lost", 4),
			0);
	for (int i = 0; i < 1000; i++)
		sim_step();
	ktap_eq(log_session_poll(&d->session, &durable), 0);
	ktap_eq(durable, 0);
	for (int i = 0; i < quiet.num_targets; i++)
		if (i != only)
			restart(i);
}

/*
 * The third target has records that no other one has, more than were reported since.
 * The copy of the later epoch is right, not the longer one.
 */
static void cuts_what_was_abandoned(enum sim_mode mode)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER),
		    c = desk(3, LOG_ASK_TAKEOVER), d = desk(4, LOG_ASK_TAKEOVER);

	setup(3, mode);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 10), 0);
	write_at_one(&b, 2, 5);
	ktap_eq(durable_at(2), 15);
	sim_target_kill(&quiet.targets[2]);
	ktap_eq(desk_open(&c, 0, 2), 0);
	ktap_eq(c.session.first, 11);
	ktap_eq(desk_append(&c, 2), 0);
	sim_target_start(&quiet.targets[2]);
	ktap_eq(desk_open(&d, 0, 2), 0);
	ktap_eq(d.session.first, 13);
	ktap_eq(d.session.cut, 1);
	ktap_eq(d.session.copied, 2);
	for (int i = 0; i < 3; i++)
		ktap_eq(durable_at(i), 12);
	ktap_eq(desk_append(&d, 3), 0);
	for (int i = 0; i < 3; i++)
		ktap_eq(durable_at(i), 15);
	/* also when its process begins again */
	restart(2);
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

	setup(1, SIM_FILE);
	target = &quiet.targets[0];
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
	ktap_eq(durable_at(0), 2);
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

	setup(1, SIM_PMEM);
	target = &quiet.targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 2), 0);
	torn = a.session.tail.offset;
	ktap_eq(desk_append(&a, 3), 0);
	target->medium[torn] ^= 1;
	target->cache[torn] ^= 1;
	restart(0);
	a.number = 2;
	ktap_eq(desk_open(&b, 0, 0), 0);
	ktap_eq(b.session.first, 3);
	/* the same client, number and data: only the epoch differs */
	b.session.client = 1;
	b.number = 2;
	ktap_eq(desk_append(&b, 1), 0);
	ktap_eq(durable_at(0), 3);
}

static void flip(int target, uint64_t offset)
{
	quiet.targets[target].medium[offset] ^= 1;
	quiet.targets[target].cache[offset] ^= 1;
	restart(target);
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

	setup(3, SIM_PMEM);
	quiet.random = seed;
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 1), 0);
	fourth = a.session.tail.offset;
	ktap_eq(desk_append(&a, 2), 0);
	flip(0, fourth);
	flip(1, third);
	flip(2, fourth);
	ktap_eq(durable_at(0), 3);
	ktap_eq(durable_at(1), 2);
	sim_target_kill(&quiet.targets[1]);
	b.number = 3;
	ktap_eq(desk_open(&b, 0, 2), 0);
	quiet.check = none_abandoned;
	ktap_eq(desk_append(&b, 1), 0);
	sim_target_start(&quiet.targets[1]);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_ok(!quiet.failed);
	for (int i = 0; i < 3; i++)
		ktap_eq(durable_at(i), 4);
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

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 1), 0);
	fourth = a.session.tail.offset;
	ktap_eq(desk_append(&a, 2), 0);
	flip(0, fourth);
	flip(1, third);
	quiet.check = none_abandoned;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_ok(!quiet.failed);
	ktap_eq(durable_at(0), 3);
	ktap_eq(durable_at(1), 3);
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
		struct sim_target *target = &quiet.targets[0];
		uint64_t offset = log_mark_offset(mark.generation);
		struct log_answer answer;

		setup(1, mode);
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

static void takes_over(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0);

	setup(2, SIM_FILE);
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
	ktap_eq(durable_at(0), 6);
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

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	restart(0);
	epoch = quiet.targets[0].core.header.epoch;
	ktap_eq(desk_open(&b, 0, 1), EBUSY);
	ktap_eq(quiet.targets[0].core.header.epoch, epoch);
	ktap_ok(!quiet.targets[0].core.busy);
	/* also if it has not asked before */
	ask.id = a.session.id;
	ktap_eq(log_target_ask(&quiet.targets[1].core, &ask, sizeof(ask),
			       &answer), LOG_IS_BUSY);
	ask.client = 1;
	ktap_eq(log_target_ask(&quiet.targets[1].core, &ask, sizeof(ask),
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

	setup(1, SIM_FILE);
	core = &quiet.targets[0].core;
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 3), 0);
	ask.id = a.session.id;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ask.client = 8;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_STALE);
	sim_target_crash(&quiet.targets[0]);
	sim_target_start(&quiet.targets[0]);
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

/* A failed flush is not tried again, and no later one counts. */
static void failed_flush(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct sim_target *target;

	setup(1, SIM_FILE);
	target = &quiet.targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 3), 0);
	target->fails = true;
	ktap_ok(desk_append(&a, 1));
	ktap_ok(!target->fails);
	ktap_eq(log_target_persist(&target->core, 0, 8), EIO);
	ktap_ok(desk_open(&b, 0, 0));
	ktap_ok(strstr(b.session.error, "has failed"));
	/* the process begins again: it makes all records durable first */
	restart(0);
	ktap_eq(desk_open(&b, 0, 0), 0);
	ktap_eq(desk_append(&b, 1), 0);
	ktap_eq(durable_at(0), b.session.first);
}

/* With a quorum a target may fail; the next session brings it up to date. */
static void goes_on_without_one(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	uint64_t behind;

	setup(2, SIM_FILE);
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	ktap_eq(a.session.left, 2);
	quiet.targets[1].fails = true;
	ktap_eq(desk_append(&a, 3), 0);
	ktap_eq(a.session.left, 1);
	ktap_eq(a.nic.links[0].lost, 0);
	ktap_eq(a.nic.links[1].lost, 1);
	ktap_eq(log_session_released(&a.session), 5);
	ktap_eq(durable_at(0), 5);
	restart(1);
	/* the third may be there or not */
	behind = durable_at(1);
	ktap_ok(behind == 2 || behind == 3);
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(b.session.first, 6);
	ktap_eq(b.session.copied, 5 - behind);
	ktap_eq(durable_at(1), 5);
}

/* A new log needs all its targets for a record, unless it is told otherwise. */
static void all_by_default(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	setup(2, SIM_FILE);
	ktap_eq(desk_open(&a, 0, 1), 0);
	quiet.targets[0].fails = true;
	ktap_eq(desk_append(&a, 1), EIO);
	ktap_ok(strstr(a.session.error, "1 of 2 target(s) left, 2 needed"));
	ktap_eq(a.session.durable, 0);
}

static void too_few_left(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t record[64], durable;

	setup(2, SIM_FILE);
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 1), 0);
	quiet.targets[0].fails = true;
	ktap_eq(desk_append(&a, 1), 0);
	quiet.targets[1].fails = true;
	ktap_eq(desk_append(&a, 1), EIO);
	ktap_eq(a.session.left, 0);
	ktap_ok(strstr(a.session.error, "0 of 2 target(s) left, 1 needed"));
	/* the session stays closed */
	ktap_eq(log_session_append(&a.session, (void *)record, 4, "data", 4),
		EIO);
	ktap_eq(log_session_poll(&a.session, &durable), EIO);
	ktap_eq(durable, 2);
}

/* A post without room changes nothing, and leaves no gap in the chain. */
static void waits_for_room(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t record[64], durable = 0;

	setup(2, SIM_PMEM);
	a.session.depth = 3;
	ktap_eq(desk_open(&a, 0, 1), 0);
	for (int i = 1; i <= 3; i++)
		ktap_eq(log_session_append(&a.session, (void *)record,
					   (uint64_t)i, "data", 4), 0);
	ktap_eq(log_session_append(&a.session, (void *)record, 4, "data", 4),
		EAGAIN);
	while (durable < 3)
		ktap_eq(log_session_poll(&a.session, &durable), 0);
	a.number = 3;
	ktap_eq(desk_append(&a, 2), 0);
	ktap_eq(durable_at(0), 5);
	ktap_eq(durable_at(1), 5);
}

/* There is one whole header at any time, also if an earlier one was not written. */
static void failed_header(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0);
	struct sim_target *target;
	struct log_header header;

	setup(1, SIM_FILE);
	target = &quiet.targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	for (int i = 0; i < 20; i++) {
		restart(0);
		target->fails = true;
		ktap_ok(desk_open(&b, 0, 0));
		restart(0);
		ktap_eq(log_header_find(target->medium, &header), LOG_READY);
		ktap_eq(header.generation, target->core.header.generation);
	}
}

static void full_log(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t record[64], durable, n = 0;
	int err;

	setup(1, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 0), 0);
	a.session.size = SIM_USED;
	do {
		err = log_session_append(&a.session, (void *)record, n + 1,
					 "data", 4);
		n += !err;
		log_session_poll(&a.session, &durable);
	} while (!err || err == EAGAIN);
	ktap_eq(err, ENOSPC);
	while (durable < n && !log_session_poll(&a.session, &durable))
		;
	ktap_eq(durable, n);
	ktap_eq(durable_at(0), n);
}

/* ---- members ---- */

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

	setup(3, SIM_PMEM);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 3), 0);
	sim_target_kill(&quiet.targets[2]);
	ktap_eq(desk_append(&a, 7), 0);
	sim_target_kill(&quiet.targets[0]);
	sim_target_kill(&quiet.targets[1]);
	sim_target_start(&quiet.targets[2]);
	ktap_eq(epoch_at(2), a.session.tail.epoch);
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
	ktap_eq(epoch_at(2), a.session.tail.epoch);
	/* but not when it is told to lose records */
	b.session.force = LOG_FORCE_LOSS;
	ktap_eq(desk_open(&b, 2, 2), 0);
	ktap_eq(b.session.first, 4);
	sim_target_start(&quiet.targets[0]);
	b.session.change = false;
	ktap_eq(desk_open(&b, 0, 2), EINVAL);
}

/* From three to two members and to three again, the third on another medium. */
static void members_change(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	setup(3, SIM_FILE);
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
	sim_target_replace(&quiet.targets[2]);
	sim_target_start(&quiet.targets[2]);
	b.session.change = true;
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(log_config_count(b.session.config.now), 3);
	ktap_eq(durable_at(2), 10);
	/* the change needs no other one: the third counts */
	sim_target_kill(&quiet.targets[0]);
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

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 5), 0);
	sim_target_kill(&quiet.targets[1]);
	memcpy(quiet.targets[1].medium, quiet.targets[0].medium, SIM_USED);
	memcpy(quiet.targets[1].cache, quiet.targets[0].medium, SIM_USED);
	sim_target_start(&quiet.targets[1]);
	ktap_eq(desk_open(&b, 0, 1), EINVAL);
	ktap_ok(strstr(b.session.error, "second: has the same copy as first"));
}

/* A target goes and comes back while the writer appends. */
static void taken_back(void)
{
	for (int mode = SIM_PMEM; mode <= SIM_FILE; mode++) {
		DESK a = desk(1, LOG_ASK_CREATE);

		setup(3, mode);
		a.session.quorum = 2;
		ktap_eq(desk_open(&a, 0, 2), 0);
		for (int i = 0; i < 3; i++) {
			ktap_eq(desk_append(&a, 3), 0);
			sim_target_kill(&quiet.targets[i]);
			ktap_eq(desk_append(&a, 3), 0);
			ktap_eq(a.session.left, 2);
			sim_target_start(&quiet.targets[i]);
			ktap_eq(desk_append(&a, 3), 0);
			ktap_eq(a.session.left, 3);
			ktap_eq(a.session.returned, i + 1);
		}
		ktap_eq(log_session_released(&a.session), 27);
		for (int i = 0; i < 3; i++)
			ktap_eq(durable_at(i), 27);
		ktap_ok(all_equal());
	}
}

/* A target that says nothing is waited for until the deadline, and then left out. */
static void laggard_is_dropped(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t durable;

	setup(3, SIM_FILE);
	a.session.quorum = 2;
	a.session.deadline = 300;
	a.session.depth = 4;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	quiet.targets[1].hung = true;
	/* more than fit in flight */
	ktap_eq(desk_append(&a, 20), 0);
	ktap_eq(a.session.left, 2);
	ktap_eq(a.nic.links[1].lost, 1);
	ktap_eq(durable_at(0), 22);
	ktap_eq(durable_at(2), 22);
	quiet.targets[1].hung = false;
	for (int i = 0; i < 5 && a.session.left < 3; i++)
		ktap_eq(log_session_poll(&a.session, &durable), 0);
	ktap_eq(a.session.left, 3);
	ktap_eq(durable_at(1), 22);
	/* and without enough others it is the end */
	quiet.targets[1].hung = true;
	quiet.targets[2].hung = true;
	ktap_eq(desk_append(&a, 20), EIO);
	ktap_ok(strstr(a.session.error, "1 of 3 target(s) left, 2 needed"));
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

	setup(1, SIM_FILE);
	core = &quiet.targets[0].core;
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

/* A copy that has lost a record is not the one that the others follow. */
static void lost_records(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	uint64_t third;

	setup(2, SIM_FILE);
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 5), 0);
	ktap_eq(desk_open(&a, 0, 1), 0);	/* the marks say 7 records */
	flip(1, third);
	ktap_eq(durable_at(1), 2);
	/* with one of two it may have been the only one */
	ktap_eq(desk_open(&b, 0, 1), EIO);
	ktap_ok(strstr(b.session.error, "second: has lost records"));
	ktap_eq(durable_at(0), 7);

	desk_close(&a);
	setup(3, SIM_FILE);
	a = desk(1, LOG_ASK_CREATE);
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	ktap_eq(desk_append(&a, 5), 0);
	ktap_eq(desk_open(&a, 0, 2), 0);
	flip(1, third);
	ktap_eq(durable_at(1), 2);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.first, 8);
	ktap_eq(durable_at(1), 7);
	ktap_ok(all_equal());
}

/* With blocks of their own, records begin where no other one is. */
static void blocks(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	setup(2, SIM_FILE);
	a.session.shift = 9;
	ktap_eq(desk_open(&a, 0, 1), 0);
	for (int i = 1; i <= 5; i++) {
		ktap_eq(a.session.tail.offset % 512, 0);
		ktap_eq(desk_append(&a, 1), 0);
	}
	ktap_eq(a.session.tail.offset, LOG_START + 5 * 512);
	ktap_eq(durable_at(1), 5);
	sim_target_replace(&quiet.targets[1]);
	sim_target_start(&quiet.targets[1]);
	/* also in a copy, and whatever the next writer says */
	b.session.flags |= LOG_ASK_FILL;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(b.session.tail.offset, LOG_START + 5 * 512);
	ktap_eq(desk_append(&b, 5), 0);
	ktap_eq(durable_at(1), 10);
}

/* A target that keeps nothing does not count, unless the writer wants that. */
static void emulated_refused(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	setup(2, SIM_PMEM);
	quiet.targets[1].emulated = true;
	ktap_eq(desk_open(&a, 0, 1), EINVAL);
	ktap_ok(strstr(a.session.error, "second: keeps nothing"));
	ktap_eq(epoch_at(0), 0);
	a.session.emulated = true;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
}

/* The kind of durability in the completions counts, not what a target says. */
static void emulated_unsaid(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	quiet.targets[1].lies = true;
	ktap_eq(desk_append(&a, 1), EIO);
	ktap_eq(a.session.durable, 2);
}

/* A text of any length is recognised; a wrong byte is noticed. */
static void text_of_any_length(void)
{
	static const uint64_t numbers[] = { 1, 9, 10, 12345, UINT64_MAX };
	const uint32_t longest = LOG_MAX_RECORD - sizeof(struct log_record);
	uint8_t *data = malloc(longest);

	for (int i = 0; i < 5; i++) {
		for (uint32_t length = 1; length < 100; length++) {
			memset(data, 0xee, 100);
			log_text_fill(data, length, numbers[i]);
			ktap_eq(data[length], 0xee);
			ktap_ok(log_text_matches(data, length, numbers[i]));
			data[ktap_below(length)] ^= 0x40;
			ktap_ok(!log_text_matches(data, length, numbers[i]));
		}
		log_text_fill(data, longest, numbers[i]);
		ktap_ok(log_text_matches(data, longest, numbers[i]));
		ktap_ok(!log_text_matches(data, longest, numbers[i] - 1));
	}
	free(data);
}

static const struct ktap_test tests[] = {
	KTAP(fills_up),
	KTAP(flipped_bits),
	KTAP(hostile),
	KTAP(header_slots),
	KTAP(header_version),
	KTAP(reads_once),
	KTAP(persists_on_accept),
	KTAP(replaced_target),
	KTAP(incomplete_copy),
	KTAP(behind),
	KTAP(abandoned_tail),
	KTAP(cut_is_durable),
	KTAP(abandoned),
	KTAP(gap_is_filled),
	KTAP(end_is_marked),
	KTAP(mark_is_persisted),
	KTAP(takes_over),
	KTAP(refused_everywhere),
	KTAP(stale_epoch),
	KTAP(failed_flush),
	KTAP(goes_on_without_one),
	KTAP(all_by_default),
	KTAP(too_few_left),
	KTAP(waits_for_room),
	KTAP(failed_header),
	KTAP(full_log),
	KTAP(claims_overlap),
	KTAP(changes_overlap),
	KTAP(fewer_are_refused),
	KTAP(members_change),
	KTAP(same_copy_twice),
	KTAP(taken_back),
	KTAP(laggard_is_dropped),
	KTAP(far_epochs),
	KTAP(lost_records),
	KTAP(blocks),
	KTAP(emulated_refused),
	KTAP(emulated_unsaid),
	KTAP(text_of_any_length),
};

KTAP_MAIN(tests)
