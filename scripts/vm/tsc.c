// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The rate of this machine's TSC in kHz, also when it is busy with other things. */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* Reads both clocks at one moment, the quickest of many tries. Return: ns. */
static long long tsc_and_clock(unsigned long long *tsc)
{
	unsigned long long first, last, best = ~0ull;
	long long ns = 0;
	struct timespec t;
	int i;

	for (i = 0; i < 1000; i++) {
		first = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &t);
		last = __rdtsc();
		if (last - first >= best)
			continue;
		best = last - first;
		*tsc = first + best / 2;
		ns = t.tv_sec * 1000000000ll + t.tv_nsec;
	}
	return ns;
}

int main(void)
{
	struct timespec wait = { .tv_nsec = 300000000 };
	unsigned long long first, last;
	long long ns = tsc_and_clock(&first);

	nanosleep(&wait, NULL);
	ns = tsc_and_clock(&last) - ns;
	printf("%.0f\n", (last - first) * 1e6 / ns);
	return 0;
}
