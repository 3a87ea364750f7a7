// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "keys.h"

/* The low byte of a key varies, the rest numbers the device's regions. */
#define KEY_INDEX(key)	((key) >> 8)
#define LEAF_BITS	12
#define LEAF_SLOTS	(1u << LEAF_BITS)
#define LEAVES		(1u << (24 - LEAF_BITS))

/* Every field is read and written by atomic loads and stores. */
struct keys_slot {
	uint32_t seq;
	uint32_t key;
	const struct ibv_pd *pd;	/* NULL: no region */
	const void *addr;
	uint64_t iova;
	uint64_t length;
};

struct cairn_keys {
	uint32_t forks;		/* keys_forks of the process whose regions these are */
	pthread_mutex_t lock;	/* writers */
	struct keys_slot *leaf[LEAVES];
};

#define LOAD(ptr)		__atomic_load_n(ptr, __ATOMIC_RELAXED)
#define STORE(ptr, value)	__atomic_store_n(ptr, value, __ATOMIC_RELAXED)

/* How many forks led to this process, since the library was loaded. */
static uint32_t keys_forks;

static void keys_count_fork(void)
{
	keys_forks++;
}

__attribute__((constructor)) static void keys_watch_forks(void)
{
	pthread_atfork(NULL, NULL, keys_count_fork);
}

struct cairn_keys *cairn_keys_create(void)
{
	struct cairn_keys *keys = calloc(1, sizeof(*keys));

	if (!keys)
		return NULL;
	keys->forks = keys_forks;
	pthread_mutex_init(&keys->lock, NULL);
	return keys;
}

static void keys_free_leaves(struct cairn_keys *keys)
{
	for (size_t i = 0; i < LEAVES; i++) {
		free(keys->leaf[i]);
		keys->leaf[i] = NULL;
	}
}

void cairn_keys_destroy(struct cairn_keys *keys)
{
	if (!keys)
		return;
	keys_free_leaves(keys);
	pthread_mutex_destroy(&keys->lock);
	free(keys);
}

/* Regions that the parent registered are the parent's memory: the child has another copy
 * at their addresses, or nothing. Acquire: keys_begin_child() has freed the parent's leaves.
 */
static bool keys_are_own(const struct cairn_keys *keys)
{
	return __atomic_load_n(&keys->forks, __ATOMIC_ACQUIRE) == keys_forks;
}

/* The first region of a child. No thread of it has looked at a leaf. Needs cairn_keys.lock. */
static void keys_begin_child(struct cairn_keys *keys)
{
	keys_free_leaves(keys);
	__atomic_store_n(&keys->forks, keys_forks, __ATOMIC_RELEASE);
}

/* Acquire: the leaf is zeroed. Pairs with keys_get_slot(). */
static struct keys_slot *keys_find_slot(const struct cairn_keys *keys,
					uint32_t key)
{
	struct keys_slot *leaf;

	leaf = __atomic_load_n(&keys->leaf[KEY_INDEX(key) >> LEAF_BITS],
			       __ATOMIC_ACQUIRE);
	return leaf ? &leaf[KEY_INDEX(key) % LEAF_SLOTS] : NULL;
}

/* Needs cairn_keys.lock. */
static struct keys_slot *keys_get_slot(struct cairn_keys *keys, uint32_t key)
{
	struct keys_slot **leaf = &keys->leaf[KEY_INDEX(key) >> LEAF_BITS];
	struct keys_slot *new;

	if (!*leaf) {
		new = calloc(LEAF_SLOTS, sizeof(*new));
		if (!new)
			return NULL;
		__atomic_store_n(leaf, new, __ATOMIC_RELEASE);
	}
	return keys_find_slot(keys, key);
}

/* Needs cairn_keys.lock. The two fences pair with those of cairn_keys_find(). */
static void keys_set_slot(struct keys_slot *slot, uint32_t key,
			  const struct cairn_region *region)
{
	STORE(&slot->seq, slot->seq + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	STORE(&slot->key, key);
	STORE(&slot->pd, region->pd);
	STORE(&slot->addr, region->addr);
	STORE(&slot->iova, region->iova);
	STORE(&slot->length, region->length);
	__atomic_store_n(&slot->seq, slot->seq + 1, __ATOMIC_RELEASE);
}

void cairn_keys_add(struct cairn_keys *keys, uint32_t key,
		    const struct cairn_region *region)
{
	struct keys_slot *slot;

	if (!keys)
		return;
	pthread_mutex_lock(&keys->lock);
	if (!keys_are_own(keys))
		keys_begin_child(keys);
	slot = keys_get_slot(keys, key);
	if (slot)
		keys_set_slot(slot, key, region);
	pthread_mutex_unlock(&keys->lock);
}

bool cairn_keys_remove(struct cairn_keys *keys, uint32_t key)
{
	static const struct cairn_region none;
	struct keys_slot *slot = NULL;
	bool known;

	if (!keys)
		return false;
	pthread_mutex_lock(&keys->lock);
	if (keys_are_own(keys))
		slot = keys_find_slot(keys, key);
	known = slot && slot->key == key;
	if (known)
		keys_set_slot(slot, 0, &none);
	pthread_mutex_unlock(&keys->lock);
	return known;
}

const void *cairn_keys_find(const struct cairn_keys *keys,
			    const struct ibv_pd *pd, const struct ibv_sge *sge)
{
	const struct keys_slot *slot = NULL;
	const char *addr;
	uint64_t off, length;
	uint32_t seq;
	bool mine;

	if (keys && keys_are_own(keys))
		slot = keys_find_slot(keys, sge->lkey);
	if (!slot)
		return NULL;
	seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
	mine = LOAD(&slot->key) == sge->lkey && LOAD(&slot->pd) == pd;
	addr = LOAD(&slot->addr);
	off = sge->addr - LOAD(&slot->iova);
	length = LOAD(&slot->length);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (seq % 2 || LOAD(&slot->seq) != seq || !mine)
		return NULL;
	if (off > length || sge->length > length - off)
		return NULL;
	return addr + off;
}
