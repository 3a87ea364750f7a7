/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Test functions that can be left from any depth: must() ends the test that
 * runs when its condition does not hold. List the functions once:
 *
 *	#define TESTS(X) X(first) X(second)
 *	VT_TESTS(TESTS)
 */
#ifndef CAIRN_VM_VT_TEST_H
#define CAIRN_VM_VT_TEST_H

#include <setjmp.h>
#include "ktap.h"

static jmp_buf vt_leave;

static inline void vt_must(const char *file, int line, const char *what,
			   bool holds)
{
	if (holds)
		return;
	ktap_fail_at(file, line, "not true: %s", what);
	longjmp(vt_leave, 1);
}

#define must(cond)	vt_must(__FILE__, __LINE__, #cond, cond)

#define VT_RUN(fn)	static void run_##fn(void) { if (!setjmp(vt_leave)) fn(); }
#define VT_ROW(fn)	{ .name = #fn, .run = run_##fn },

#define VT_TESTS(list)							\
	list(VT_RUN)							\
	static const struct ktap_test tests[] = { list(VT_ROW) };

/* What main() returns: all the tests, or those whose names have @only in them. */
#define vt_run(only)	ktap_main(tests, sizeof(tests) / sizeof(tests[0]), only)
/* ... on the devices of both ends, which are opened as @a and @b */
#define vt_run_on(a, b, family, only)					\
	(vt_open_both(a, b, family) ? vt_run(only) : vt_bail())

static inline int vt_bail(void)
{
	puts("KTAP version 1\nBail out! setting up failed");
	return 1;
}

#endif
