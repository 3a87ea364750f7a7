/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Test functions that must() can end from any depth, when its condition is
 * false. List the functions once:
 *
 *	#define TESTS(X) X(first) X(second)
 *	VT_TESTS(TESTS)
 */
#ifndef CAIRN_VM_VT_TEST_H
#define CAIRN_VM_VT_TEST_H

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "ktap.h"
#include "vt.h"

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

/* Run all tests, or those whose names contain @only. The value is for main(). */
#define vt_run(only)	ktap_main(tests, sizeof(tests) / sizeof(tests[0]), only)
/* ... on the devices of both ends, which are opened as @a and @b */
#define vt_run_on(a, b, family, only)					\
	(vt_open_both(a, b, family) ? vt_run(only) : vt_bail())

static inline int vt_bail(void)
{
	puts("KTAP version 1\nBail out! setting up failed");
	return 1;
}

/* hw_counters/lifespan, and a tick of jiffies */
#define VT_COUNTERS_OLD_US	20000

/* The present value of a counter: ib_core may show values that are 12 ms old. Without
 * the counter the current test fails.
 */
static inline u64 vt_counter_of(const char *device, const char *name)
{
	unsigned long long value = 0;
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s", device,
		 name);
	usleep(VT_COUNTERS_OLD_US);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &value) != 1)
		ktap_fail("no counter %s of %s", name, device);
	if (file)
		fclose(file);
	return value;
}

static inline u64 vt_counter(const struct vt_dev *dev, const char *name)
{
	return vt_counter_of(dev->name, name);
}

/* tests/vm/kmod/cairn_taken.c */
#define VT_TAKEN	"/sys/module/cairn_taken/parameters/taken"

static inline bool vt_can_take(void)
{
	return !access(VT_TAKEN, W_OK);
}

/* The device counts @more objects of @kind that it does not have. Return: their number then. */
static inline int vt_take(const char *device, const char *kind, int more)
{
	FILE *file = fopen(VT_TAKEN, "w");
	int counted = -1;

	must(file && fprintf(file, "%s %s %d", device, kind, more) > 0 && !fclose(file));
	file = fopen(VT_TAKEN, "r");
	must(file && fscanf(file, "%d", &counted) == 1 && !fclose(file));
	return counted;
}

/* Does one of the next @n completions have an error? Stops there. Each comes within @ms. */
static inline bool vt_any_failed(struct ibv_cq *cq, int n, int ms)
{
	struct ibv_wc wc;

	while (n--) {
		must(!vt_poll(cq, &wc, 1, ms));
		if (wc.status)
			return true;
	}
	return false;
}

/* A registration must fail with this errno. */
#define REFUSED_MR(call, err)						\
	(errno = 0, vt_refused_mr(__FILE__, __LINE__, call, err))

static inline void vt_refused_mr(const char *file, int line, struct ibv_mr *mr,
				 int err)
{
	if (mr || errno != err)
		ktap_fail_at(file, line, "%s, not %s",
			     mr ? "made" : strerror(errno), strerror(err));
	if (mr)
		ibv_dereg_mr(mr);
}

/* Wait at most 20 s (x CAIRN_TIMEOUT_SCALE) for a counter to reach @value. Return: its
 * value then.
 */
static inline u64 vt_counter_reaches(const struct vt_dev *dev, const char *name,
				     u64 value)
{
	u64 end = vt_now_ms() + vt_ms(20000), now;

	do
		now = vt_counter(dev, name);
	while (now < value && vt_now_ms() < end);
	return now;
}

/* Set or clear CAP_NET_ADMIN as effective. Return: 0 or -1. */
static inline int vt_net_admin(bool on)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -1;
	data[0].effective &= ~(1u << CAP_NET_ADMIN);
	data[0].effective |= on ? 1u << CAP_NET_ADMIN : 0;
	return (int)syscall(SYS_capset, &head, data);
}

/* Is this a kernel with PREEMPT_RT? */
static inline bool vt_is_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

#endif
