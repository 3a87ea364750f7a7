// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How fast the portable ICRC implementations are, in GB/s by length. */
#include <stdio.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "wire/icrc.h"

#define ROUNDS		5		/* the best one counts */
#define ROUND_BYTES	(64u << 20)

static const struct cairn_icrc_impl *const impls[] = {
	&cairn_icrc_slicing,
	&cairn_icrc_portable,
	&cairn_icrc_folding,
};

/* The headers of a SEND over IPv4, of one over IPv6, and the path MTUs. */
static const u32 lengths[] = { 40, 60, 256, 512, 1024, 2048, 4096 };

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static double gb_per_s(const struct cairn_icrc_impl *impl, const u8 *data,
		       u32 len)
{
	u32 n = ROUND_BYTES / len, crc = ~0u, i, round;
	u64 best = ~0ULL, start, t;

	for (round = 0; round < ROUNDS; round++) {
		start = now();
		for (i = 0; i < n; i++)
			crc = impl->update(crc, data, len);
		t = now() - start;
		/* the result is wanted */
		__asm__ __volatile__("" : : "r"(crc));
		best = min(best, t);
	}
	return (double)n * len / (double)best;
}

int main(void)
{
	static u8 data[4096];
	size_t i, j;

	cairn_icrc_select(NULL);
	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 251);
	printf("%-14s", "GB/s");
	for (j = 0; j < ARRAY_SIZE(lengths); j++)
		printf("%7u B", lengths[j]);
	putchar('\n');
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		printf("%-14s", impls[i]->name);
		for (j = 0; j < ARRAY_SIZE(lengths); j++)
			printf("%9.2f", gb_per_s(impls[i], data, lengths[j]));
		putchar('\n');
	}
	return 0;
}
