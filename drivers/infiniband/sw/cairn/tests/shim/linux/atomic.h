/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_ATOMIC_H
#define CAIRN_SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

/* Fully ordered, as the kernel's read-modify-write operations are. */
#define xchg(p, v)		__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline s64 atomic64_read_acquire(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

/* Return: the old value; it is replaced if it equals @old. */
static inline s64 atomic64_cmpxchg(atomic64_t *v, s64 old, s64 new)
{
	__atomic_compare_exchange_n(&v->counter, &old, new, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline s64 atomic64_add_return(s64 i, atomic64_t *v)
{
	return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST);
}

static inline void atomic64_sub(s64 i, atomic64_t *v)
{
	__atomic_sub_fetch(&v->counter, i, __ATOMIC_RELAXED);
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
