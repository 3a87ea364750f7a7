/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory regions of a context by local key, for the inline rule (inline.h):
 * what the device would read through a key, the library finds here.
 *
 * Posting looks a key up without a lock. A region's slot has a sequence number
 * that is odd while the slot changes; a lookup that meets a change takes the key
 * for unknown. Slots are not freed before the context.
 */
#ifndef CAIRN_KEYS_H
#define CAIRN_KEYS_H

#include "cairn.h"

struct cairn_keys;

/* NULL: no memory, then no key will ever be known. */
struct cairn_keys *cairn_keys_create(void);
void cairn_keys_destroy(struct cairn_keys *keys);

struct cairn_region {
	const struct ibv_pd *pd;
	const void *addr;	/* the process's own */
	uint64_t iova;		/* what work requests call it */
	uint64_t length;
};

/* The region may be read through @key; forgotten on lack of memory. */
void cairn_keys_add(struct cairn_keys *keys, uint32_t key,
		    const struct cairn_region *region);
/* Before the region ends or changes. */
void cairn_keys_remove(struct cairn_keys *keys, uint32_t key);

/* Where @sge lies in this process if it may be read on behalf of a QP of @pd,
 * else NULL.
 */
const void *cairn_keys_find(const struct cairn_keys *keys,
			    const struct ibv_pd *pd, const struct ibv_sge *sge);

#endif /* CAIRN_KEYS_H */
