// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cost of durable stores on this CPU: nanoseconds of a message, the best tenth of many
 * rounds.
 *
 * The first table: 16 messages, each with some other work behind it, and a fence for each
 * of them or one for all. The second: stores and write-back (CLWB), or non-temporal stores
 * (MOVNTI), then a fence. "ordered": non-temporal stores, a fence, and then the last line with
 * CLWB and a fence, because no byte of it may be seen before the others. "driver": the same
 * with the last 1 KiB, a packet, and write-back for short messages, as the driver does it. "read": the CPU reads
 * the message afterwards, as the program that it is for may do. Ordinary memory stands for
 * persistent memory, which takes longer to accept a line.
 */
#include <cpuid.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/types.h>

#define LINE		64
#define MEMORY		(64u << 20)
#define RING		(256u << 10)
#define SOURCE		(2u << 20)
#define TRAIN		16
#define ROUNDS		41
#define TURN		(512u << 10)	/* bytes of a round, at least TURN_MESSAGES messages */
#define TURN_MESSAGES	16
#define TAIL		1024u
#define STREAM_MIN	16384u	/* persist/stream.c */
#define CLWB		(1u << 24)	/* CPUID 7, EBX */

enum way { STORE, WRITE_BACK, STREAM, ORDERED, DRIVER };

static u8 *memory, *source;
static volatile u64 seen;

static double bench_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int bench_order(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static double bench_best(double *rounds)
{
	qsort(rounds, ROUNDS, sizeof(*rounds), bench_order);
	return rounds[ROUNDS / 10];
}

__attribute__((target("clwb")))
static void bench_write_back(u8 *to, u32 len)
{
	u32 off;

	for (off = 0; off < len; off += LINE)
		_mm_clwb(to + off);
}

static void bench_store(u8 *to, const u8 *from, u32 len)
{
	u32 off;

	for (off = 0; off < len; off += sizeof(u64)) {
		u64 word;

		memcpy(&word, from + off, sizeof(word));
		*(volatile u64 *)(to + off) = word;
	}
}

static void bench_stream(u8 *to, const u8 *from, u32 len)
{
	u32 off;

	for (off = 0; off < len; off += sizeof(u64)) {
		long long word;

		memcpy(&word, from + off, sizeof(word));
		_mm_stream_si64((long long *)(to + off), word);
	}
}

/* Some work that touches no memory. */
static void bench_work(u32 steps)
{
	u64 value = seen;

	while (steps--)
		value = value * 6364136223846793005ull + 1;
	seen = value;
}

static double bench_train(u32 len, u32 work, bool each)
{
	double rounds[ROUNDS], begin;
	u32 i, k, at = 0;

	for (i = 0; i < ROUNDS; i++) {
		begin = bench_now();
		for (k = 0; k < 64 * TRAIN; k++) {
			bench_store(memory + at, source, len);
			bench_write_back(memory + at, len);
			bench_work(work);
			if (each || k % TRAIN == TRAIN - 1)
				_mm_sfence();
			at = (at + len) % RING;
		}
		rounds[i] = (bench_now() - begin) / (64 * TRAIN);
	}
	return bench_best(rounds);
}

/* The bytes of a message that are stored by non-temporal stores. */
static u32 bench_streamed(enum way way, u32 len)
{
	switch (way) {
	case STREAM: return len;
	case ORDERED: return len - LINE;
	case DRIVER: return len > STREAM_MIN ? len - TAIL : 0;
	default: return 0;
	}
}

static void bench_message(enum way way, u8 *to, const u8 *from, u32 len, bool read)
{
	u32 off, streamed = bench_streamed(way, len);
	u64 sum = 0;

	bench_stream(to, from, streamed);
	if (way == ORDERED || (way == DRIVER && streamed))
		_mm_sfence();
	bench_store(to + streamed, from + streamed, len - streamed);
	if (way != STORE)
		bench_write_back(to + streamed, len - streamed);
	if (way != STORE)
		_mm_sfence();
	for (off = 0; read && off < len; off += LINE)
		sum += to[off];
	seen = sum;
}

static double bench_way(enum way way, u32 len, u32 within, bool read)
{
	u32 i, k, messages = max(TURN / len, (u32)TURN_MESSAGES), at = 0;
	double rounds[ROUNDS], begin;

	for (i = 0; i < ROUNDS; i++) {
		begin = bench_now();
		for (k = 0; k < messages; k++) {
			/* far from the one before, if there is room */
			at = (at + (len | 4096) * 37) % (within - len + 1) & -LINE;
			bench_message(way, memory + at, source + k * len % SOURCE, len, read);
		}
		rounds[i] = (bench_now() - begin) / messages;
	}
	return bench_best(rounds);
}

static void bench_ways(const char *name, u32 within, bool read)
{
	static const u32 lens[] = { 64, 256, 1024, 4096, 16384, 32768, 65536, 1 << 20 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		if (lens[i] <= within / 2)
			printf("%-12s %8u %8.0f %8.0f %8.0f %8.0f %8.0f\n", name, lens[i],
			       bench_way(STORE, lens[i], within, read),
			       bench_way(WRITE_BACK, lens[i], within, read),
			       bench_way(STREAM, lens[i], within, read),
			       bench_way(ORDERED, lens[i], within, read),
			       bench_way(DRIVER, lens[i], within, read));
}

int main(void)
{
	static const u32 lens[] = { 64, 256, 1024 }, works[] = { 0, 25, 50, 100, 200 };
	unsigned int a, b = 0, c, d;
	u32 i, k;

	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & CLWB)) {
		printf("This CPU has no CLWB.\n");
		return 0;
	}
	memory = aligned_alloc(4096, MEMORY);
	source = aligned_alloc(4096, 2 * SOURCE);
	if (!memory || !source)
		return 1;
	memset(memory, 1, MEMORY);
	memset(source, 2, 2 * SOURCE);
	printf("bytes  steps  fence each  one for %u\n", TRAIN);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (k = 0; k < ARRAY_SIZE(works); k++)
			printf("%5u %6u %11.0f %11.0f\n", lens[i], works[k],
			       bench_train(lens[i], works[k], true),
			       bench_train(lens[i], works[k], false));
	printf("memory          bytes    store    +clwb   movnti  ordered   driver\n");
	bench_ways("in the cache", RING, false);
	bench_ways("not", MEMORY, false);
	bench_ways("read", MEMORY, true);
	free(memory);
	free(source);
	return 0;
}
