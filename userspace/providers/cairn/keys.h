/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory regions of a context by local key, for the inline rule (inline.h). The
 * library finds here the memory that the device would read through a key.
 *
 * Posting looks a key up without a lock. A region's slot has a sequence number
 * that is odd while the slot changes; a lookup during a change takes the key
 * for unknown. Slots are freed with the context. A child of fork() does not know the
 * regions that its parent had.
 */
#ifndef CAIRN_KEYS_H
#define CAIRN_KEYS_H

#include "cairn.h"

struct cairn_keys;

/* Return: NULL without memory; then all keys stay unknown. */
struct cairn_keys *cairn_keys_create(void);
void cairn_keys_destroy(struct cairn_keys *keys);

struct cairn_region {
	const struct ibv_pd *pd;
	const void *addr;	/* in the process */
	uint64_t iova;		/* in work requests */
	uint64_t length;
};

/* Adds a region that may be read through @key. Without memory it stays unknown. */
void cairn_keys_add(struct cairn_keys *keys, uint32_t key,
		    const struct cairn_region *region);
/* Call it before the region ends or changes. Return: whether it was known. */
bool cairn_keys_remove(struct cairn_keys *keys, uint32_t key);

/* Return: the address of @sge in this process if a QP of @pd may read it, else NULL. */
const void *cairn_keys_find(const struct cairn_keys *keys,
			    const struct ibv_pd *pd, const struct ibv_sge *sge);

#endif /* CAIRN_KEYS_H */
