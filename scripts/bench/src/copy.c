// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rate of memcpy() between two buffers: no transfer on one host can be faster.
 *
 *	copy BYTES SECONDS
 *
 * Prints bytes_s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double copy_now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 3 ? strtoul(argv[1], NULL, 0) : 0;
	double seconds = argc == 3 ? atof(argv[2]) : 0, began, passed;
	char *from = malloc(bytes), *to = malloc(bytes);
	unsigned long copies = 0;

	if (!bytes || !from || !to) {
		fprintf(stderr, "usage: copy BYTES SECONDS\n");
		return 2;
	}
	memset(from, 1, bytes);
	memset(to, 2, bytes);
	began = copy_now();
	do {
		/* the clock costs more than a short copy */
		for (int i = 0; i < 64; i++, copies++) {
			memcpy(to, from, bytes);
			__asm__ volatile("" : : "r"(to) : "memory");
		}
		passed = copy_now() - began;
	} while (passed < seconds);
	printf("bytes_s=%.0f\n", (double)copies * bytes / passed);
	free(from);
	free(to);
	return 0;
}
