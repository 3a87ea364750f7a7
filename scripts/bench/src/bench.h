/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The parts that the benches share: errors, the clock, devices, completions. */
#ifndef CAIRN_BENCH_H
#define CAIRN_BENCH_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "vt.h"

/* A bench ends at its first error. */
static inline void must(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* CLOCK_MONOTONIC in microseconds. */
static inline double bench_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static inline int bench_by_value(const void *one, const void *other)
{
	const double *first = one, *second = other;

	return (*first > *second) - (*first < *second);
}

static inline void bench_sort(double *values, size_t num)
{
	qsort(values, num, sizeof(*values), bench_by_value);
}

/* Open CAIRN_A and CAIRN_B. */
static inline void bench_open(struct vt_dev dev[2])
{
	must(!vt_open(&dev[0], vt_name_a(), VT_IPV4, -1) &&
	     !vt_open(&dev[1], vt_name_b(), VT_IPV4, -1), "devices");
}

/* Poll at most @num completions, which must be good. Return: their number. */
static inline int bench_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	int got = ibv_poll_cq(cq, num, wc);

	must(got >= 0, "poll");
	for (int i = 0; i < got; i++)
		if (wc[i].status != IBV_WC_SUCCESS) {
			printf("completion: %s\n", ibv_wc_status_str(wc[i].status));
			exit(1);
		}
	return got;
}

#endif
