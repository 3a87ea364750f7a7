/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_IDR_H
#define CAIRN_SHIM_LINUX_IDR_H

#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/* The lowest number that is free. */
struct ida {
	u64 *used;
	int words;
};

static inline void ida_init(struct ida *ida)
{
	ida->used = NULL;
	ida->words = 0;
}

static inline void ida_destroy(struct ida *ida)
{
	kfree(ida->used);
	ida_init(ida);
}

static inline int cairn_shim_ida_grow(struct ida *ida)
{
	int words = ida->words ? 2 * ida->words : 1;
	u64 *used = kzalloc(words * sizeof(*used), GFP_KERNEL);

	if (!used)
		return -ENOMEM;
	if (ida->words)
		memcpy(used, ida->used, ida->words * sizeof(*used));
	kfree(ida->used);
	ida->used = used;
	ida->words = words;
	return 0;
}

static inline int ida_alloc(struct ida *ida, int flags)
{
	int i = 0, bit;

	while (i < ida->words && !~ida->used[i])
		i++;
	if (i == ida->words && cairn_shim_ida_grow(ida))
		return -ENOMEM;
	bit = __builtin_ctzll(~ida->used[i]);
	ida->used[i] |= BIT_ULL(bit);
	return i * 64 + bit;
}

static inline void ida_free(struct ida *ida, unsigned int id)
{
	WARN_ON(id / 64 >= ida->words ||
		!(ida->used[id / 64] & BIT_ULL(id % 64)));
	ida->used[id / 64] &= ~BIT_ULL(id % 64);
}

#endif
