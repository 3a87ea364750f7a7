/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys of memory: (index << 8) | variant.
 *
 * Both parts are random at each allocation, so a process cannot derive other
 * keys from those that it has seen. The range of indices is at least twice as
 * large as the number of regions.
 *
 * A released key must not name the next user of its index (origins.rst, E6). So
 * each variant differs from the previous one of its index.
 */
#ifndef CAIRN_MEM_KEY_H
#define CAIRN_MEM_KEY_H

#include "device/mrcache.h"
#include "verbs/verbs.h"

/*
 * Find the MR by the index of @key. The caller then checks it with
 * cairn_key_is(). In a run.
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
 * Does @key name @mr in @pd? A key of another protection domain is treated like
 * one that names nothing: same result, same counter.
 */
static inline bool cairn_key_is(const struct cairn_mr *mr, u32 key,
				const struct ib_pd *pd)
{
	return !((READ_ONCE(mr->key) ^ key) | (READ_ONCE(mr->pd) != pd));
}

void cairn_keys_init(struct cairn_dev *dev);
void cairn_keys_exit(struct cairn_dev *dev);

/**
 * cairn_key_alloc() - allocate a key, which names no region yet
 * @dev: the device
 * @pd: of the region, for the share of its user
 * @key: gets the key
 *
 * Context: process.
 * Return: 0, -ENOMEM (also if CAIRN_MAX_MR keys are in use) or -EDQUOT (the share
 * of the user).
 */
int cairn_key_alloc(struct cairn_dev *dev, struct ib_pd *pd, u32 *key);

/* Make @mr reachable by its key. Process context. */
void cairn_key_publish(struct cairn_dev *dev, struct cairn_mr *mr);

/* Make @key name nothing. Runs that have found its region may use it until the epoch has
 * advanced. Process context.
 */
void cairn_key_hide(struct cairn_dev *dev, u32 key);

/* Free @key of a region in @pd, which was hidden or not published. Its index may be allocated
 * again. No run may change the key of the region any more: it is the last one of the index.
 */
void cairn_key_free(struct cairn_dev *dev, struct ib_pd *pd, u32 key);

#endif
