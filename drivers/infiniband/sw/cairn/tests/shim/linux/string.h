/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_STRING_H
#define CAIRN_SHIM_LINUX_STRING_H

#include <string.h>
#include <linux/types.h>

static inline void *memchr_inv(const void *start, int c, size_t n)
{
	const u8 *p = start;

	for (; n; n--, p++)
		if (*p != (u8)c)
			return (void *)p;
	return NULL;
}

static inline void memzero_explicit(void *s, size_t n)
{
	memset(s, 0, n);
	barrier();
}

#endif
