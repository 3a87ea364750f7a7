/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Test programs that print KTAP. A program is a table of named functions:
 *
 *	static void empty(void) { ktap_eq(cairn_pkt_pad(0), 0); }
 *
 *	static const struct ktap_test tests[] = { KTAP(empty), };
 *
 *	KTAP_MAIN(tests)
 *
 * A failed check is reported and says false; the function goes on unless it
 * returns. Random numbers are the same in every run: CAIRN_SEED in the
 * environment chooses others, and the first argument runs only tests with that
 * in their name. For programs of one source file.
 */
#ifndef CAIRN_TESTS_KTAP_H
#define CAIRN_TESTS_KTAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/types.h>

struct ktap_test {
	const char *name;
	void (*run)(void);
};

#define KTAP(fn)	{ .name = #fn, .run = fn }

/* Failures reported of one test; the rest is only counted. */
#define KTAP_MAX_REPORTS	20

static struct {
	const char *name;	/* of the test that runs */
	unsigned int failures;
	bool skipped;
	char reason[128];
	u64 rand;
} ktap;

static inline __printf(1, 2) void ktap_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

static inline __printf(3, 4) void ktap_fail_at(const char *file, int line,
					       const char *fmt, ...)
{
	va_list ap;

	if (++ktap.failures > KTAP_MAX_REPORTS)
		return;
	va_start(ap, fmt);
	printf("# %s:%d: ", file, line);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

#define ktap_fail(...)	ktap_fail_at(__FILE__, __LINE__, __VA_ARGS__)

/* Checks say whether they passed, so that a test can add a word or stop. */
#define ktap_ok(cond)							\
	((cond) ? true : (ktap_fail("not true: %s", #cond), false))

#define ktap_eq(got, want)						\
	ktap_eq_at(__FILE__, __LINE__, #got, (u64)(got), (u64)(want))

static inline bool ktap_eq_at(const char *file, int line, const char *what,
			      u64 got, u64 want)
{
	if (got == want)
		return true;
	ktap_fail_at(file, line, "%s is %lld (0x%llx), not %lld (0x%llx)",
		     what, (long long)got, got, (long long)want, want);
	return false;
}

#define ktap_mem_eq(got, want, len)					\
	ktap_mem_eq_at(__FILE__, __LINE__, #got, got, want, len)

static inline bool ktap_mem_eq_at(const char *file, int line, const char *what,
				  const void *got, const void *want, size_t len)
{
	const u8 *bytes_g = got, *bytes_w = want;
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes_g[i] != bytes_w[i])
			break;
	if (i == len)
		return true;
	ktap_fail_at(file, line, "%s differs at byte %zu of %zu: %02x, not %02x",
		     what, i, len, bytes_g[i], bytes_w[i]);
	return false;
}

/* The test cannot be made here; return after it. Never hides a failure. */
static inline __printf(1, 2) void ktap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ktap.reason, sizeof(ktap.reason), fmt, ap);
	va_end(ap);
	ktap.skipped = true;
}

/* splitmix64 */
static inline u64 ktap_rand(void)
{
	u64 z;

	ktap.rand += 0x9e3779b97f4a7c15ULL;
	z = ktap.rand;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to n - 1 */
static inline u32 ktap_rand_below(u32 n)
{
	return (u32)(ktap_rand() % n);
}

static inline void ktap_rand_fill(void *buf, size_t len)
{
	u8 *bytes = buf;

	while (len--)
		*bytes++ = (u8)ktap_rand();
}

static inline bool ktap_run_one(const struct ktap_test *test, unsigned int n)
{
	ktap.name = test->name;
	ktap.failures = 0;
	ktap.skipped = false;
	test->run();
	if (ktap.failures > KTAP_MAX_REPORTS)
		ktap_diag("%u failures in all", ktap.failures);
	if (ktap.failures)
		printf("not ok %u %s\n", n, test->name);
	else if (ktap.skipped)
		printf("ok %u %s # SKIP %s\n", n, test->name, ktap.reason);
	else
		printf("ok %u %s\n", n, test->name);
	return !ktap.failures;
}

static inline int ktap_main(const struct ktap_test *tests, size_t n,
			    const char *only)
{
	const char *seed = getenv("CAIRN_SEED");
	unsigned int i, planned = 0, done = 0;
	bool ok = true;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < n; i++)
		planned += !only || strstr(tests[i].name, only);
	printf("KTAP version 1\n1..%u\n", planned);
	for (i = 0; i < n; i++) {
		if (only && !strstr(tests[i].name, only))
			continue;
		ktap.rand = seed ? strtoull(seed, NULL, 0) : 1;
		ok &= ktap_run_one(&tests[i], ++done);
	}
	return ok ? 0 : 1;
}

#define KTAP_MAIN(tests)						\
int main(int argc, char **argv)						\
{									\
	exit(ktap_main(tests, sizeof(tests) / sizeof((tests)[0]),	\
		       argc > 1 ? argv[1] : NULL));			\
}

#endif
