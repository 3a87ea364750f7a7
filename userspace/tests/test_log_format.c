// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The bytes of a log: headers, records and the reader. */
#include <errno.h>
#include <stdlib.h>

#include "ktap.h"
#include "log_format.h"
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
	while ((record = log_reader_next(&reader))) {
		ktap_eq(record->number, ++last[record->client]);
		/* a writer that is connected may change it at any time */
		((struct log_record *)record)->length = UINT32_MAX;
		ktap_eq(reader.length, 1);
	}
	ktap_eq(reader.records, unique);
	ktap_eq(reader.records + reader.duplicates, n);
	log_reader_close(&reader);
	memset(crashed, 0xff, sizeof(crashed));
	ktap_eq(log_reader_open(&reader, crashed, SIZE), EINVAL);
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
	KTAP(text_of_any_length),
};

KTAP_MAIN(tests)
