/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_BITOPS_H
#define CAIRN_SHIM_LINUX_BITOPS_H

#include <strings.h>	/* ffs() */
#include <linux/bits.h>
#include <linux/types.h>

#define hweight8(w)		((unsigned int)__builtin_popcount((u8)(w)))
#define hweight16(w)		((unsigned int)__builtin_popcount((u16)(w)))
#define hweight32(w)		((unsigned int)__builtin_popcount((u32)(w)))
#define hweight64(w)		((unsigned long)__builtin_popcountll((u64)(w)))
#define hweight_long(w)		((unsigned long)__builtin_popcountl(w))

/* Bit numbers from 1, 0 for none. */
static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

/* Bit numbers from 0, undefined for none. */
static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned int __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return BITS_PER_LONG - 1 - __builtin_clzl(x);
}

#define ffz(x)			__ffs(~(x))

static inline u32 rol32(u32 w, unsigned int n)
{
	return w << (n & 31) | w >> (-n & 31);
}

static inline u32 ror32(u32 w, unsigned int n)
{
	return w >> (n & 31) | w << (-n & 31);
}

static inline u64 rol64(u64 w, unsigned int n)
{
	return w << (n & 63) | w >> (-n & 63);
}

static inline u64 ror64(u64 w, unsigned int n)
{
	return w >> (n & 63) | w << (-n & 63);
}

static inline s32 sign_extend32(u32 v, int top)
{
	return (s32)(v << (31 - top)) >> (31 - top);
}

static inline void __set_bit(unsigned long n, unsigned long *p)
{
	p[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline void __clear_bit(unsigned long n, unsigned long *p)
{
	p[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline bool test_bit(unsigned long n, const unsigned long *p)
{
	return p[BIT_WORD(n)] & BIT_MASK(n);
}

static inline bool __test_and_set_bit(unsigned long n, unsigned long *p)
{
	bool old = test_bit(n, p);

	__set_bit(n, p);
	return old;
}

static inline bool __test_and_clear_bit(unsigned long n, unsigned long *p)
{
	bool old = test_bit(n, p);

	__clear_bit(n, p);
	return old;
}

/* Host programs have one thread: the atomic forms are the plain ones. */
#define set_bit(n, p)		__set_bit(n, p)
#define clear_bit(n, p)		__clear_bit(n, p)
#define test_and_set_bit(n, p)	__test_and_set_bit(n, p)
#define test_and_clear_bit(n, p)	__test_and_clear_bit(n, p)

static inline unsigned long find_next_bit(const unsigned long *p,
					  unsigned long size,
					  unsigned long from)
{
	while (from < size && !test_bit(from, p))
		from++;
	return from < size ? from : size;
}

static inline unsigned long find_next_zero_bit(const unsigned long *p,
					       unsigned long size,
					       unsigned long from)
{
	while (from < size && test_bit(from, p))
		from++;
	return from < size ? from : size;
}

#define find_first_bit(p, size)		find_next_bit(p, size, 0)
#define find_first_zero_bit(p, size)	find_next_zero_bit(p, size, 0)
#define for_each_set_bit(n, p, size)					\
	for ((n) = find_first_bit(p, size); (n) < (size);		\
	     (n) = find_next_bit(p, size, (n) + 1))

#endif
