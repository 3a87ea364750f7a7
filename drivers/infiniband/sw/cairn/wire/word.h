/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Load or store eight or four bytes at any address in one instruction, even where
 * memcpy() is a call.
 */
#ifndef CAIRN_WIRE_WORD_H
#define CAIRN_WIRE_WORD_H

#include <linux/compiler.h>
#include <linux/types.h>

struct cairn_word {
	u64 v;
} __packed;

struct cairn_half {
	u32 v;
} __packed;

static __always_inline u64 cairn_word_get(const void *p)
{
	return ((const struct cairn_word *)p)->v;
}

static __always_inline u32 cairn_word_get_half(const void *p)
{
	return ((const struct cairn_half *)p)->v;
}

static __always_inline void cairn_word_put(void *p, u64 v)
{
	((struct cairn_word *)p)->v = v;
}

#endif
