// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "keys.h"

/* The low byte of a key varies, the rest numbers the device's regions. */
#define KEY_INDEX(key)	((key) >> 8)
#define LEAF_BITS	12
#define LEAF_PLACES	(1u << LEAF_BITS)
#define LEAVES		(1u << (24 - LEAF_BITS))

/* Every field by atomic loads and stores. */
struct place {
	uint32_t seq;
	uint32_t key;
	const struct ibv_pd *pd;	/* NULL: no region */
	const void *addr;
	uint64_t iova;
	uint64_t length;
};

struct cairn_keys {
	pthread_mutex_t lock;	/* writers */
	struct place *leaf[LEAVES];
};

#define LOAD(p)		__atomic_load_n(p, __ATOMIC_RELAXED)
#define STORE(p, v)	__atomic_store_n(p, v, __ATOMIC_RELAXED)

struct cairn_keys *cairn_keys_create(void)
{
	struct cairn_keys *keys = calloc(1, sizeof(*keys));

	if (keys)
		pthread_mutex_init(&keys->lock, NULL);
	return keys;
}

void cairn_keys_destroy(struct cairn_keys *keys)
{
	if (!keys)
		return;
	for (size_t i = 0; i < LEAVES; i++)
		free(keys->leaf[i]);
	pthread_mutex_destroy(&keys->lock);
	free(keys);
}

/* Acquire: the leaf is zeroed. Pairs with get_place(). */
static struct place *find_place(const struct cairn_keys *keys, uint32_t key)
{
	struct place *leaf;

	leaf = __atomic_load_n(&keys->leaf[KEY_INDEX(key) >> LEAF_BITS],
			       __ATOMIC_ACQUIRE);
	return leaf ? &leaf[KEY_INDEX(key) % LEAF_PLACES] : NULL;
}

/* keys->lock held. */
static struct place *get_place(struct cairn_keys *keys, uint32_t key)
{
	struct place **leaf = &keys->leaf[KEY_INDEX(key) >> LEAF_BITS];
	struct place *new;

	if (!*leaf) {
		new = calloc(LEAF_PLACES, sizeof(*new));
		if (!new)
			return NULL;
		__atomic_store_n(leaf, new, __ATOMIC_RELEASE);
	}
	return find_place(keys, key);
}

/* keys->lock held. The two fences pair with those of cairn_keys_find(). */
static void change(struct place *p, uint32_t key, const struct cairn_region *r)
{
	STORE(&p->seq, p->seq + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	STORE(&p->key, key);
	STORE(&p->pd, r->pd);
	STORE(&p->addr, r->addr);
	STORE(&p->iova, r->iova);
	STORE(&p->length, r->length);
	__atomic_store_n(&p->seq, p->seq + 1, __ATOMIC_RELEASE);
}

void cairn_keys_add(struct cairn_keys *keys, uint32_t key,
		    const struct cairn_region *region)
{
	struct place *p;

	if (!keys)
		return;
	pthread_mutex_lock(&keys->lock);
	p = get_place(keys, key);
	if (p)
		change(p, key, region);
	pthread_mutex_unlock(&keys->lock);
}

void cairn_keys_remove(struct cairn_keys *keys, uint32_t key)
{
	static const struct cairn_region none;
	struct place *p;

	if (!keys)
		return;
	pthread_mutex_lock(&keys->lock);
	p = find_place(keys, key);
	if (p && p->key == key)
		change(p, 0, &none);
	pthread_mutex_unlock(&keys->lock);
}

const void *cairn_keys_find(const struct cairn_keys *keys,
			    const struct ibv_pd *pd, const struct ibv_sge *sge)
{
	const struct place *p = keys ? find_place(keys, sge->lkey) : NULL;
	const char *addr;
	uint64_t off, length;
	uint32_t seq;
	bool mine;

	if (!p)
		return NULL;
	seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);
	mine = LOAD(&p->key) == sge->lkey && LOAD(&p->pd) == pd;
	addr = LOAD(&p->addr);
	off = sge->addr - LOAD(&p->iova);
	length = LOAD(&p->length);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (seq % 2 || LOAD(&p->seq) != seq || !mine)
		return NULL;
	if (off > length || sge->length > length - off)
		return NULL;
	return addr + off;
}
