// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How fast the portable ICRC implementations are, in GB/s by length; and what the
 * payload of a packet costs with and without a copy, in the cache and out of it. Beside
 * them libdeflate, where it is installed: on x86 and arm64 it uses carry-less
 * multiplication, as the kernel's crypto layer does.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "wire/icrc.h"

#define ROUNDS		5		/* the best one counts */
#define ROUND_BYTES	(64u << 20)

static u32 (*library_crc32)(u32 crc, const void *data, size_t len);

/* The library inverts before and after. */
static u32 library_update(u32 crc, const void *data, u32 len)
{
	return ~library_crc32(~crc, data, len);
}

static const struct cairn_icrc_impl library = {
	.name = "libdeflate",
	.update = library_update,
};

static const struct cairn_icrc_impl *const impls[] = {
	&cairn_icrc_portable,
	&cairn_icrc_folding,
	&library,
};

/* The headers of a SEND over IPv4, of one over IPv6, and the path MTUs. */
static const u32 lengths[] = { 40, 60, 256, 512, 1024, 2048, 4096 };

static u64 icrc_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (u64)time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

static double gb_per_s(const struct cairn_icrc_impl *impl, const u8 *data,
		       u32 len)
{
	u32 n = ROUND_BYTES / len, crc = ~0u, i, round;
	u64 best = ~0ULL, start, t;

	for (round = 0; round < ROUNDS; round++) {
		start = icrc_now();
		for (i = 0; i < n; i++)
			crc = impl->update(crc, data, len);
		t = icrc_now() - start;
		/* the result is wanted */
		__asm__ __volatile__("" : : "r"(crc));
		best = min(best, t);
	}
	return (double)n * len / (double)best;
}

/* The work on the payload of one packet. */
#define PAYLOAD		4096
#define COLD_BYTES	(256u << 20)	/* of source and destination each */

typedef u32 (*payload_fn)(u8 *to, const u8 *from);

static u32 copy_only(u8 *to, const u8 *from)
{
	memcpy(to, from, PAYLOAD);
	return 0;
}

static u32 icrc_only(u8 *to, const u8 *from)
{
	return cairn_icrc_folding.update(~0u, from, PAYLOAD);
}

static u32 copy_then_icrc(u8 *to, const u8 *from)
{
	memcpy(to, from, PAYLOAD);
	return cairn_icrc_folding.update(~0u, to, PAYLOAD);
}

static u32 icrc_then_copy(u8 *to, const u8 *from)
{
	u32 crc = cairn_icrc_folding.update(~0u, from, PAYLOAD);

	memcpy(to, from, PAYLOAD);
	return crc;
}

static const struct {
	const char *name;
	payload_fn fn;
} payloads[] = {
	{ "copy", copy_only },
	{ "ICRC", icrc_only },
	{ "copy, ICRC of the copy", copy_then_icrc },
	{ "ICRC, then copy", icrc_then_copy },
};

/* Nanoseconds for one packet out of @n of @from into as many of @to. */
static double ns_each(payload_fn fn, u8 *to, const u8 *from, u32 n, u32 total)
{
	u64 best = ~0ULL, start, t;
	u32 i, round, crc = 0;

	for (round = 0; round < ROUNDS; round++) {
		start = icrc_now();
		for (i = 0; i < total; i++)
			crc ^= fn(to + (size_t)(i % n) * PAYLOAD,
				  from + (size_t)(i % n) * PAYLOAD);
		t = icrc_now() - start;
		__asm__ __volatile__("" : : "r"(crc) : "memory");
		best = min(best, t);
	}
	return (double)best / total;
}

static int payload_costs(void)
{
	const u32 cold = COLD_BYTES / PAYLOAD;
	u8 *from = malloc(COLD_BYTES), *to = malloc(COLD_BYTES);
	size_t i;

	if (!from || !to)
		return 1;
	memset(from, 1, COLD_BYTES);
	memset(to, 2, COLD_BYTES);
	printf("\n%-24s%9s%9s%9s\n", "ns for 4 KiB, of pages:", "one", "16",
	       "65536");
	for (i = 0; i < ARRAY_SIZE(payloads); i++) {
		payload_fn fn = payloads[i].fn;

		printf("%-24s%9.0f", payloads[i].name,
		       ns_each(fn, to, from, 1, cold));
		printf("%9.0f", ns_each(fn, to, from, 16, cold));
		printf("%9.0f\n", ns_each(fn, to, from, cold, cold));
	}
	free(from);
	free(to);
	return 0;
}

int main(void)
{
	void *lib = dlopen("libdeflate.so.0", RTLD_NOW);
	static u8 data[4096];
	size_t i, j;

	if (lib)
		*(void **)&library_crc32 = dlsym(lib, "libdeflate_crc32");
	cairn_icrc_select(NULL);
	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 251);
	printf("%-14s", "GB/s");
	for (j = 0; j < ARRAY_SIZE(lengths); j++)
		printf("%7u B", lengths[j]);
	putchar('\n');
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		if (impls[i] == &library && !library_crc32)
			continue;
		if (impls[i]->update(1, data, sizeof(data)) !=
		    cairn_icrc_portable.update(1, data, sizeof(data))) {
			printf("%s is wrong\n", impls[i]->name);
			return 1;
		}
		printf("%-14s", impls[i]->name);
		for (j = 0; j < ARRAY_SIZE(lengths); j++)
			printf("%9.2f", gb_per_s(impls[i], data, lengths[j]));
		putchar('\n');
	}
	return payload_costs();
}
