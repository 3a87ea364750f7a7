/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_BITMAP_H
#define CAIRN_SHIM_LINUX_BITMAP_H

#include <linux/bitops.h>
#include <linux/string.h>

static inline void bitmap_zero(unsigned long *p, unsigned int bits)
{
	memset(p, 0, BITS_TO_LONGS(bits) * sizeof(*p));
}

static inline bool bitmap_empty(const unsigned long *p, unsigned int bits)
{
	return find_first_bit(p, bits) == bits;
}

#endif
