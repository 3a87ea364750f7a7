/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_MATH64_H
#define CAIRN_SHIM_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline s64 div_s64(s64 n, s32 d)
{
	return n / d;
}

static inline s64 div64_s64(s64 n, s64 d)
{
	return n / d;
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

#ifdef __SIZEOF_INT128__
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * mul) >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 mul, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * mul) >> shift);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 mul, u64 div)
{
	return (u64)((unsigned __int128)a * mul / div);
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 div)
{
	return (u64)((unsigned __int128)a * mul / div);
}
#else
/* Declared only: 32-bit builds are compiled, not run. */
u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift);
u64 mul_u64_u64_shr(u64 a, u64 mul, unsigned int shift);
u64 mul_u64_u64_div_u64(u64 a, u64 mul, u64 div);
u64 mul_u64_u32_div(u64 a, u32 mul, u32 div);
#endif

#define DIV64_U64_ROUND_UP(n, d)					\
({									\
	u64 d_ = (d);							\
									\
	div64_u64((n) + d_ - 1, d_);					\
})
#define DIV_ROUND_UP_ULL(n, d)		DIV64_U64_ROUND_UP(n, d)

#endif
