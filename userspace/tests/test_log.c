// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The example's log: its format, and what writers and targets decide, step by
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
static uint64_t log_words[SIZE / 8], crashed[SIZE / 8], scratch[SIZE / 8];

static void start(struct log_tail *tail)
{
	memset(log_words, 0, sizeof(log_words));
	log_tail_init(tail, &some_id);
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

	log_tail_init(&tail, &some_id);
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
	log_tail_init(&again, &some_id);
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
		log_tail_init(&tail, &some_id);
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

static bool accept_all(struct sim *s, struct sim_target *target)
{
	(void)s;
	(void)target;
	return true;
}

static void setup(int num_targets, enum sim_mode mode)
{
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
	log_session_close(&d->session);
	sim_nic_init(&d->nic);
	d->session.buffer = d->buffer;
	d->session.num_peers = 0;
	for (int i = from; i <= to; i++) {
		struct log_peer *peer =
			&d->session.peers[d->session.num_peers++];

		peer->link = &d->nic.links[i];
		peer->name = i ? "second" : "first";
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
	/* a log of its own */
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
			       .flags = LOG_ASK_CLAIM | LOG_ASK_FILL };
	struct log_answer answer;
	struct log_reader reader;

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 20), 0);
	/* the filling begins, and the writer dies */
	ask.id = a.session.id;
	ktap_eq(log_target_ask(&quiet.targets[1].core, &ask, sizeof(ask),
			       &answer), LOG_GRANTED);
	ktap_ok(!answer.complete);
	ktap_eq(log_reader_open(&reader, quiet.targets[1].medium, SIM_SIZE), 0);
	ktap_ok(!log_is_complete(quiet.targets[1].medium, &reader.header));
	log_reader_close(&reader);
	restart(0);
	restart(1);
	ktap_eq(desk_open(&b, 1, 1), EINVAL);
	ktap_ok(strstr(b.session.error, "complete copy"));
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(durable_at(1), 20);
	restart(1);
	ktap_eq(desk_open(&b, 1, 1), 0);
	ktap_eq(b.session.first, 21);
}

/* One that is behind is brought up to date. */
static void behind(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0);

	setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 5), 0);
	restart(0);
	restart(1);
	ktap_eq(desk_open(&b, 1, 1), 0);
	ktap_eq(desk_append(&b, 40), 0);
	ktap_eq(durable_at(0), 5);
	b.session.flags = LOG_ASK_TAKEOVER;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(durable_at(0), 45);
}

/* Records that only one target has, and others that only the other one has. */
static void diverged(void)
{
	static const int more[][2] = { { 2, 1 }, { 1, 1 }, { 1, 2 } };

	for (int i = 0; i < 3; i++) {
		DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, 0),
			    c = desk(3, 0);

		setup(2, SIM_PMEM);
		ktap_eq(desk_open(&a, 0, 1), 0);
		ktap_eq(desk_append(&a, 5), 0);
		restart(0);
		restart(1);
		ktap_eq(desk_open(&b, 0, 0), 0);
		ktap_eq(desk_append(&b, more[i][0]), 0);
		ktap_eq(desk_open(&c, 1, 1), 0);
		ktap_eq(desk_append(&c, more[i][1]), 0);
		restart(0);
		restart(1);
		ktap_eq(desk_open(&c, 0, 1), EINVAL);
		ktap_ok(strstr(c.session.error, "has other records than"));
		ktap_eq(durable_at(0), 5 + more[i][0]);
		ktap_eq(durable_at(1), 5 + more[i][1]);
	}
}

/* The old records behind a torn one stay dead, although their bytes are there. */
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
static bool none_abandoned(struct sim *s, struct sim_target *target)
{
	const struct log_record *record;
	struct log_reader reader;
	bool good = true;

	(void)s;
	if (log_reader_open(&reader, target->medium, SIM_SIZE))
		return false;
	while ((record = log_reader_next(&reader)))
		good &= record->seq < 4 || record->epoch > 1;
	log_reader_close(&reader);
	return good;
}

/*
 * The second target lacks record 3 and has those behind it, whole. The first has
 * gone on from number 3 in another epoch.
 */
static void gap_is_filled_once(uint64_t seed)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(1, 0);
	uint64_t third, fourth;

	setup(2, SIM_PMEM);
	quiet.random = seed;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	third = a.session.tail.offset;
	ktap_eq(desk_append(&a, 1), 0);
	fourth = a.session.tail.offset;
	ktap_eq(desk_append(&a, 2), 0);
	flip(0, fourth);
	flip(1, third);
	ktap_eq(durable_at(0), 3);
	ktap_eq(durable_at(1), 2);
	b.number = 3;
	ktap_eq(desk_open(&b, 0, 0), 0);
	quiet.check = none_abandoned;
	ktap_eq(desk_append(&b, 1), 0);
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_ok(!quiet.failed);
	ktap_eq(durable_at(0), 4);
	ktap_eq(durable_at(1), 4);
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
			.magic = LOG_WIRE_MAGIC, .epoch = 5,
			.flags = LOG_ASK_CLAIM | LOG_ASK_FILL,
		};
		struct sim_target *target = &quiet.targets[0];
		struct log_answer answer;
		uint64_t seed;

		setup(1, mode);
		ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask),
				       &answer), LOG_GRANTED);
		ktap_ok(!answer.complete);
		seed = log_seed(&ask.id);
		memcpy((mode == SIM_FILE ? target->memory : target->cache) +
		       LOG_MARK, &seed, sizeof(seed));
		ask.epoch++;
		ktap_eq(log_target_ask(&target->core, &ask, sizeof(ask),
				       &answer), LOG_GRANTED);
		ktap_ok(answer.complete);
		ktap_eq(memcmp(target->medium + LOG_MARK, &seed, sizeof(seed)),
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
	/* the first is still at it */
	ktap_eq(desk_append(&a, 1), 0);
	b.session.flags = LOG_ASK_TAKEOVER;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(desk_append(&b, 2), 0);
	ktap_ok(desk_append(&a, 1));
	ktap_eq(durable_at(0), 6);
	/* it does not take back by itself what was taken from it */
	ktap_eq(desk_open(&a, 0, 1), EBUSY);
	/* but a writer that has lost its connection needs no leave */
	b.session.flags = 0;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(b.session.first, 7);
}

/* A writer that is refused at one target has not been let in at another. */
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

/* A smaller epoch is never let in, not even after a crash. */
static void stale_epoch(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	struct log_ask ask = { .magic = LOG_WIRE_MAGIC, .epoch = 50,
			       .flags = LOG_ASK_CLAIM | LOG_ASK_TAKEOVER };
	struct log_target *core;
	struct log_answer answer;

	setup(1, SIM_FILE);
	core = &quiet.targets[0].core;
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 3), 0);
	ask.id = a.session.id;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_STALE);
	sim_target_crash(&quiet.targets[0]);
	sim_target_start(&quiet.targets[0]);
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_IS_STALE);
	ask.epoch++;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask) - 1, &answer),
		LOG_NOT_UNDERSTOOD);
	ask.id.bytes[0] ^= 1;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer),
		LOG_IS_FOREIGN);
	ask.id.bytes[0] ^= 1;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
}

/* A flush that has failed is not tried again, and nothing is believed after it. */
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
	/* the process begins again: what it sees it makes durable first */
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
	/* and without one, all targets are needed */
	quiet.targets[0].fails = true;
	ktap_eq(desk_append(&b, 1), EIO);
	ktap_ok(strstr(b.session.error, "1 of 2 target(s) left, 2 needed"));
	ktap_eq(b.session.durable, 0);
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
	/* the end is the end */
	ktap_eq(log_session_append(&a.session, (void *)record, 4, "data", 4),
		EIO);
	ktap_eq(log_session_poll(&a.session, &durable), EIO);
	ktap_eq(durable, 2);
}

/* A post that finds no room leaves nothing behind, also no gap in the chain. */
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
	KTAP(reads_once),
	KTAP(persists_on_accept),
	KTAP(replaced_target),
	KTAP(incomplete_copy),
	KTAP(behind),
	KTAP(diverged),
	KTAP(abandoned),
	KTAP(gap_is_filled),
	KTAP(end_is_marked),
	KTAP(mark_is_persisted),
	KTAP(takes_over),
	KTAP(refused_everywhere),
	KTAP(stale_epoch),
	KTAP(failed_flush),
	KTAP(goes_on_without_one),
	KTAP(too_few_left),
	KTAP(waits_for_room),
	KTAP(failed_header),
	KTAP(full_log),
	KTAP(text_of_any_length),
};

KTAP_MAIN(tests)
