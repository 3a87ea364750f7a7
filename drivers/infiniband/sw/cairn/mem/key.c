// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/slab.h>
#include "compat/random.h"
#include "mem/key.h"
#include "verbs/limits.h"

/* Bits of an index: at least, and at most. */
#define CAIRN_KEY_MIN_BITS	16
#define CAIRN_KEY_MAX_BITS	24
#define CAIRN_KEY_TRIES		128
/* Indices in a chunk of variants. Chunks stay until the device is freed. */
#define CAIRN_VARIANT_CHUNK	4096

struct key_variant_chunk {
	u8 last[CAIRN_VARIANT_CHUNK];
};

void cairn_keys_init(struct cairn_dev *dev)
{
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	cairn_table_init(&dev->mr_table);
	xa_init(&dev->key_variants);
	dev->key_bits = CAIRN_KEY_MIN_BITS;
}

void cairn_keys_exit(struct cairn_dev *dev)
{
	struct key_variant_chunk *variants;
	unsigned long i;

	xa_for_each(&dev->key_variants, i, variants)
		kfree(variants);
	xa_destroy(&dev->key_variants);
	xa_destroy(&dev->mrs);
	cairn_table_exit(&dev->mr_table);
}

static struct key_variant_chunk *key_get_variants(struct cairn_dev *dev,
						  u32 index)
{
	unsigned long i = index / CAIRN_VARIANT_CHUNK;
	struct key_variant_chunk *variants = xa_load(&dev->key_variants, i),
				 *other;

	if (variants)
		return variants;
	variants = kmalloc(sizeof(*variants), GFP_KERNEL);
	if (!variants)
		return NULL;
	get_random_bytes(variants->last, sizeof(variants->last));
	other = xa_cmpxchg(&dev->key_variants, i, NULL, variants, GFP_KERNEL);
	if (!other)
		return variants;
	kfree(variants);
	return xa_is_err(other) ? NULL : other;
}

/*
 * Reserve a free index, drawn at random. At least half of all indices are free,
 * so CAIRN_KEY_TRIES busy ones in a row do not happen.
 */
static int key_reserve_index(struct cairn_dev *dev, u32 *index)
{
	int tries, err = -EBUSY;

	for (tries = 0; tries < CAIRN_KEY_TRIES && err == -EBUSY; tries++) {
		*index = get_random_u32() & (BIT(READ_ONCE(dev->key_bits)) - 1);
		if (*index)
			err = xa_insert(&dev->mrs, *index, NULL, GFP_KERNEL);
	}
	return err;
}

/*
 * The space of indices follows the number of regions, because tables of indices, also
 * libcairn's, grow with it. After a step down at most a quarter of the space is in use. A
 * race may delay a step until the next allocation.
 */
static void key_adapt_bits(struct cairn_dev *dev, u32 used)
{
	u32 bits = READ_ONCE(dev->key_bits);

	if (used > BIT(bits) / 2 && bits < CAIRN_KEY_MAX_BITS)
		WRITE_ONCE(dev->key_bits, bits + 1);
	else if (used < BIT(bits) / 8 && bits > CAIRN_KEY_MIN_BITS)
		WRITE_ONCE(dev->key_bits, bits - 1);
}

static int key_alloc_index(struct cairn_dev *dev, u32 *index)
{
	u32 used = atomic_read(&dev->nic.shares.taken[CAIRN_SHARE_MR]);
	int err;

	key_adapt_bits(dev, used);
	if (used > CAIRN_MRCACHE_FROM)
		cairn_mrcaches_start(&dev->nic, &dev->mr_table);
	err = key_reserve_index(dev, index);
	if (err)
		return err;
	err = cairn_table_reserve(&dev->mr_table, *index);
	if (err)
		xa_erase(&dev->mrs, *index);
	return err;
}

/* A random variant other than @last, so that the released key stays invalid. */
static u8 key_draw_variant(u8 last)
{
	u8 variant;

	do
		variant = get_random_u8();
	while (variant == last);
	return variant;
}

int cairn_key_alloc(struct cairn_dev *dev, struct ib_pd *pd, u32 *key)
{
	struct key_variant_chunk *variants;
	u32 index;
	int err;

	err = cairn_share_take(&dev->nic, CAIRN_SHARE_MR, CAIRN_MAX_MR,
			       cairn_pd_user(pd));
	if (err)
		return err;
	err = key_alloc_index(dev, &index);
	if (err)
		goto err_share;
	*key = index << CAIRN_KEY_VARIANT_BITS;
	variants = key_get_variants(dev, index);
	if (!variants) {
		cairn_key_free(dev, pd, *key);
		return -ENOMEM;
	}
	/* The index is reserved, so cairn_key_free() does not write this now.
	 */
	*key |= key_draw_variant(variants->last[index % CAIRN_VARIANT_CHUNK]);
	return 0;

err_share:
	cairn_share_give(&dev->nic, CAIRN_SHARE_MR, cairn_pd_user(pd));
	return err;
}

void cairn_key_publish(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_table_set(&dev->mr_table, mr->key >> CAIRN_KEY_VARIANT_BITS, mr);
}

void cairn_key_hide(struct cairn_dev *dev, u32 key)
{
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;

	rcu_read_lock();
	cairn_table_set(&dev->mr_table, index, NULL);
	cairn_mrcaches_release(&dev->nic, index);
	rcu_read_unlock();
}

void cairn_key_free(struct cairn_dev *dev, struct ib_pd *pd, u32 key)
{
	u32 index = key >> CAIRN_KEY_VARIANT_BITS;
	struct key_variant_chunk *variants =
		xa_load(&dev->key_variants, index / CAIRN_VARIANT_CHUNK);

	/* Store it now: consumers of fast registration choose the variant. */
	if (variants)
		variants->last[index % CAIRN_VARIANT_CHUNK] = key;
	cairn_table_release(&dev->mr_table, index);
	xa_erase(&dev->mrs, index);
	cairn_share_give(&dev->nic, CAIRN_SHARE_MR, cairn_pd_user(pd));
}
