/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys of memory: (index << 8) | variant.
 *
 * Both parts are random at each allocation: keys that a process has seen tell
 * nothing of others. The range of the indices is at least twice as large as the
 * number of regions.
 *
 * A key that was released must not name the next user of its index
 * (origins.rst, E6). So the variant differs from the last one of the index.
 */
#ifndef CAIRN_MEM_KEY_H
#define CAIRN_MEM_KEY_H

#include "device/mrcache.h"
#include "verbs/verbs.h"

/*
 * The MR with the index of @key; the caller asks cairn_key_is() next. In a run.
 */
static inline struct cairn_mr *cairn_key_find(struct cairn_dev *dev, u32 key)
{
	struct cairn_mrcaches *caches = READ_ONCE(dev->nic.mrcaches);
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;

	if (caches)
		return cairn_mrcaches_find(caches, index);
	return cairn_table_find(&dev->mr_table, index);
}

/*
 * Does @key name @mr to users of @pd? A key of another protection domain and one
 * that names nothing are the same to its user: one answer, one counter.
 */
static inline bool cairn_key_is(const struct cairn_mr *mr, u32 key,
				const struct ib_pd *pd)
{
	return !((READ_ONCE(mr->key) ^ key) | (READ_ONCE(mr->pd) != pd));
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
