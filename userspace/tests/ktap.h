/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A table of test functions, reported as KTAP; the plan comes last. */
#ifndef CAIRN_TESTS_KTAP_H
#define CAIRN_TESTS_KTAP_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ktap_test {
	const char *name;
	void (*run)(void);
};

#define KTAP(fn)	{ #fn, fn }

#define KTAP_MAX_REPORTS	10	/* per test, the rest is counted */

static unsigned int ktap_failures;
static uint64_t ktap_state;
static int ktap_messages = -1;	/* stderr, while a test has none */

/* Both return whether they hold, and evaluate their arguments once. */
#define ktap_ok(cond)							\
	ktap_check(__FILE__, __LINE__, #cond, !!(cond), 1)
#define ktap_eq(got, want)						\
	ktap_check(__FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want))

static inline int ktap_check(const char *file, int line, const char *what,
			     uint64_t got, uint64_t want)
{
	if (got != want && ++ktap_failures <= KTAP_MAX_REPORTS)
		printf("# %s:%d: %s is 0x%" PRIx64 ", not 0x%" PRIx64 "\n",
		       file, line, what, got, want);
	return got == want;
}

/* splitmix64; the same numbers in every run unless CAIRN_SEED says otherwise */
static inline uint64_t ktap_rand(void)
{
	uint64_t z = (ktap_state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint32_t ktap_below(uint32_t n)
{
	return (uint32_t)(ktap_rand() % n);
}

/*
 * Drop what the rest of this test prints on stderr. The program has its stderr again after the
 * test: a report of a sanitizer at its end is not lost.
 */
static inline void ktap_hush(void)
{
	int null;

	if (ktap_messages >= 0)
		return;
	null = open("/dev/null", O_WRONLY);
	ktap_messages = dup(2);
	dup2(null, 2);
	close(null);
}

static inline void ktap_end_hush(void)
{
	if (ktap_messages < 0)
		return;
	fflush(stderr);
	dup2(ktap_messages, 2);
	close(ktap_messages);
	ktap_messages = -1;
}

static inline int ktap_main(const struct ktap_test *tests, size_t n)
{
	const char *seed = getenv("CAIRN_SEED");
	unsigned int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n");
	for (size_t i = 0; i < n; i++) {
		ktap_failures = 0;
		ktap_state = seed ? strtoull(seed, NULL, 0) : 1;
		tests[i].run();
		ktap_end_hush();
		failed += ktap_failures != 0;
		printf("%s %zu %s\n", ktap_failures ? "not ok" : "ok", i + 1,
		       tests[i].name);
	}
	printf("1..%zu\n", n);
	return failed != 0;
}

#define KTAP_MAIN(tests)						\
int main(void)								\
{									\
	return ktap_main(tests, sizeof(tests) / sizeof((tests)[0]));	\
}

#endif /* CAIRN_TESTS_KTAP_H */
