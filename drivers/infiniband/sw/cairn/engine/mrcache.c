// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/mrcache.h"

#define WAYS	CAIRN_MRCACHE_WAYS

void cairn_mrcache_renew(struct cairn_mrcache_set *set, unsigned long released)
{
	u32 way;

	for (way = 0; way < WAYS; way++)
		set->state[way] = 0;
	set->released = released;
}

/* The way of @index in any state, or -1. */
static int mrcache_way_of(const struct cairn_mrcache_set *set, u32 index)
{
	int way;

	for (way = 0; way < WAYS; way++)
		if (set->state[way] && set->tag[way] == index)
			return way;
	return -1;
}

bool cairn_mrcache_has(struct cairn_mrcache *cache, u32 index)
{
	u32 slot = index & cache->mask;
	struct cairn_mrcache_set *set = &cache->set[slot];
	unsigned long released = cairn_epoch_acquire(&cache->released[slot]);	/* H */

	if (set->released != released) {
		cairn_mrcache_renew(set, released);
		return false;
	}
	return mrcache_way_of(set, index) >= 0;
}

/* Unlock lines that were fetched ahead and never used, so that they can be replaced. */
static void mrcache_unlock_all(struct cairn_mrcache_set *set)
{
	u32 way;

	for (way = 0; way < WAYS; way++)
		set->state[way] &= ~CAIRN_MRCACHE_LOCKED;
}

/* An empty way, or the next one that may be replaced, or -1. */
static int mrcache_choose(struct cairn_mrcache_set *set)
{
	u32 n, way;

	for (way = 0; way < WAYS; way++)
		if (!set->state[way])
			return way;
	for (n = 0; n < WAYS; n++) {
		way = set->victim++ % WAYS;
		if (!(set->state[way] & (CAIRN_MRCACHE_LOCKED |
					 CAIRN_MRCACHE_PENDING)))
			return way;
	}
	return -1;
}

enum cairn_mrcache_asked cairn_mrcache_ask(struct cairn_mrcache *cache,
					   u32 index, bool ahead)
{
	struct cairn_mrcache_set *set = &cache->set[index & cache->mask];
	enum cairn_mrcache_asked asked;
	int way;

	if (mrcache_way_of(set, index) >= 0)
		return CAIRN_MRCACHE_NO_LINE;
	way = mrcache_choose(set);
	if (way < 0) {
		if (!ahead)
			mrcache_unlock_all(set);
		return CAIRN_MRCACHE_NO_LINE;
	}
	asked = set->state[way] ? CAIRN_MRCACHE_EVICTED : CAIRN_MRCACHE_FREE;
	set->tag[way] = index;
	set->state[way] = CAIRN_MRCACHE_VALID | CAIRN_MRCACHE_PENDING |
			  (ahead ? CAIRN_MRCACHE_LOCKED : 0);
	return asked;
}

void cairn_mrcache_fill(struct cairn_mrcache *cache, u32 index, void *mr)
{
	struct cairn_mrcache_set *set = &cache->set[index & cache->mask];
	int way = mrcache_way_of(set, index);

	if (way < 0 || !(set->state[way] & CAIRN_MRCACHE_PENDING))
		return;
	if (!mr) {
		set->state[way] = 0;
		return;
	}
	set->mr[way] = mr;
	set->state[way] &= ~CAIRN_MRCACHE_PENDING;
	set->state[way] |= CAIRN_MRCACHE_PRESENT;
}
