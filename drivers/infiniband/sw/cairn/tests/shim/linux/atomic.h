/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_ATOMIC_H
#define CAIRN_SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

/* Fully ordered, as the kernel's read-modify-write operations are. */
typedef struct {
	s64 counter;
} atomic64_t;

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline s64 atomic64_fetch_or(s64 i, atomic64_t *v)
{
	return __atomic_fetch_or(&v->counter, i, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_fetch_andnot(s64 i, atomic64_t *v)
{
	return __atomic_fetch_and(&v->counter, ~i, __ATOMIC_SEQ_CST);
}

#endif
