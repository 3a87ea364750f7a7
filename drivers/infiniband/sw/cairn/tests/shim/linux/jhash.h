/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_JHASH_H
#define CAIRN_SHIM_LINUX_JHASH_H

#include <linux/types.h>

/* Not the kernel's function: tests only need some hash. */
static inline u32 jhash2(const u32 *word, u32 words, u32 seed)
{
	while (words--)
		seed = (seed ^ *word++) * 0x9e3779b1u;
	return seed >> 16;
}

#endif
