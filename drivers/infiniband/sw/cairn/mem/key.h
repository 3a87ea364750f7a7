/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys of memory: (index << 8) | variant.
 *
 * A key that was released must not name the next user of its index
 * (origins.rst, E6). So the variant of an index is a counter, seeded at random,
 * and every index of a range is given out once before the first comes again. The
 * range is at least twice as large as the number of regions: a key comes back
 * after 256 times that many registrations.
 *
 * The order of the indices is a secret permutation: from one key nobody can tell
 * the next one.
 */
#ifndef CAIRN_MEM_KEY_H
#define CAIRN_MEM_KEY_H

#include "device/mrcache.h"
#include "verbs/verbs.h"

/* The MR with the index of @key; the caller compares the key. In a run. */
static inline struct cairn_mr *cairn_mr_find(struct cairn_dev *dev, u32 key)
{
	struct cairn_mrcaches *caches = READ_ONCE(dev->nic.mrcaches);
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;

	if (caches)
		return cairn_mrcaches_find(caches, index);
	return cairn_table_find(&dev->mr_table, index);
}

void cairn_keys_init(struct cairn_dev *dev);
void cairn_keys_exit(struct cairn_dev *dev);

/**
 * cairn_key_alloc() - a key that nothing is found by yet
 * @dev: the device
 * @key: gets it
 *
 * Context: process.
 * Return: 0, -EBUSY (CAIRN_MAX_MR are in use) or -ENOMEM.
 */
int cairn_key_alloc(struct cairn_dev *dev, u32 *key);

/* From now on @mr is found by its key. Process context. */
void cairn_key_publish(struct cairn_dev *dev, struct cairn_mr *mr);

/* Nothing is found by @key from now on; its index may be given out again. */
void cairn_key_free(struct cairn_dev *dev, u32 key);

#endif
