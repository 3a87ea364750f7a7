// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The example's log: what is read back after a crash. */
#include <string.h>

#include "ktap.h"
#include "log_format.h"

#define SIZE	65536

static uint64_t log_words[SIZE / 8], crashed[SIZE / 8], scratch[SIZE / 8];

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
	log_record_make((void *)scratch, tail, data, length);
	memcpy((uint8_t *)log_words + at, scratch, log_record_size(length));
	return tail->seq - 1;
}

static uint64_t records_in(const void *log)
{
	struct log_tail tail;

	log_tail_init(&tail);
	while (log_record_next(log, SIZE, &tail))
		;
	return tail.seq - 1;
}

static void fills_up(void)
{
	struct log_tail tail, again;
	uint64_t n = 0, last;

	memset(log_words, 0, sizeof(log_words));
	log_tail_init(&tail);
	while ((last = add(&tail)))
		n = last;
	ktap_ok(n > 100);
	ktap_eq(records_in(log_words), n);
	log_tail_init(&again);
	while (log_record_next(log_words, SIZE, &again))
		;
	ktap_eq(memcmp(&tail, &again, sizeof(tail)), 0);
}

/*
 * A crash: all up to the acknowledged record is there, of the rest any subset of
 * aligned eight bytes, over what an earlier log left.
 */
static void crash(void)
{
	for (int round = 0; round < 300; round++) {
		uint64_t acked = 0, posted = 0, found;
		struct log_tail tail;
		size_t safe = 0;

		memcpy(crashed, log_words, sizeof(crashed));
		log_tail_init(&tail);
		for (uint32_t n = ktap_below(60), want = ktap_below(n + 1); n; n--) {
			posted = add(&tail);
			if (posted == want) {
				acked = posted;
				safe = tail.offset;
			}
		}
		memcpy(crashed, log_words, safe);
		for (size_t i = safe / 8; i < tail.offset / 8; i++)
			if (ktap_below(2))
				crashed[i] = log_words[i];
		found = records_in(crashed);
		ktap_ok(found >= acked);
		/* with none acknowledged, the earlier log may still be whole */
		ktap_ok(!acked || found <= posted);
	}
}

/* Every single bit of a record counts. */
static void flipped_bits(void)
{
	struct log_tail tail;
	uint64_t n;

	memset(log_words, 0, sizeof(log_words));
	log_tail_init(&tail);
	add(&tail);
	n = add(&tail);
	add(&tail);
	ktap_eq(records_in(log_words), n + 1);
	for (size_t bit = 0; bit < tail.offset * 8; bit++) {
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
		record->magic = LOG_MAGIC;
		record->seq = 1;
		record->previous = 0;
		if (round & 1)
			record->length = ktap_below(2 * LOG_MAX_RECORD);
		log_tail_init(&tail);
		tail.offset = round & 2 ? 0 : ktap_rand();
		ktap_ok(!log_record_next(log_words, SIZE, &tail));
	}
}

static const struct ktap_test tests[] = {
	KTAP(fills_up),
	KTAP(crash),
	KTAP(flipped_bits),
	KTAP(hostile),
};

KTAP_MAIN(tests)
