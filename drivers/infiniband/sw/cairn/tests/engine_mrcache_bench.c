// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The benefit of engine/mrcache.h: nanoseconds for the look-up of a region, through a
 * cache of LINES lines and in a table of device/table.h's shape. The number of regions
 * in use increases. The memory of each region is accessed after the look-up.
 * "cold": other data passes through the CPU's caches between the look-ups, as packets
 * do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include "engine/mrcache.h"
#include "sim/rand.h"

#define LINES		4096
#define ROUNDS		8
#define LOOKUPS		(1 << 16)
#define COLD_LOOKUPS	(1 << 9)
#define PAYLOAD		(1 << 20)	/* bytes between two cold look-ups */
/* As in device/table.h. */
#define LEAF_BITS	7
#define NODE_BITS	9
#define TOP_BITS	8

struct leaf {
	void *entry[1 << LEAF_BITS];
	u64 rest[3];
};

struct node {
	struct leaf *leaf[1 << NODE_BITS];
};

struct region {
	u64 hot[8];
};

static struct node *top[1 << TOP_BITS];
static struct cairn_mrcache cache;
static unsigned long *released;
static u8 *payload;

static void *must(void *mem)
{
	if (mem)
		return mem;
	perror("memory");
	exit(1);
}

static u32 nth_node(u32 index)
{
	return index >> (LEAF_BITS + NODE_BITS) & ((1 << TOP_BITS) - 1);
}

static u32 nth_leaf(u32 index)
{
	return index >> LEAF_BITS & ((1 << NODE_BITS) - 1);
}

static void **slot_of(u32 index)
{
	struct node **node = &top[nth_node(index)];
	struct leaf **leaf;

	if (!*node)
		*node = must(calloc(1, sizeof(**node)));
	leaf = &(*node)->leaf[nth_leaf(index)];
	if (!*leaf)
		*leaf = must(calloc(1, sizeof(**leaf)));
	return &(*leaf)->entry[index & ((1 << LEAF_BITS) - 1)];
}

static noinline void *table_find(u32 index)
{
	struct node *node = READ_ONCE(top[nth_node(index)]);
	struct leaf *leaf = node ? READ_ONCE(node->leaf[nth_leaf(index)]) : NULL;

	return leaf ? READ_ONCE(leaf->entry[index & ((1 << LEAF_BITS) - 1)]) :
		      NULL;
}

static noinline void *cache_find(u32 index)
{
	void *mr;

	if (cairn_mrcache_rests(&cache))
		return table_find(index);
	mr = cairn_mrcache_find(&cache, index);
	if (mr)
		return mr;
	cairn_mrcache_missed(&cache);
	if (cairn_mrcache_ask(&cache, index, false) == CAIRN_MRCACHE_NO_LINE)
		return table_find(index);
	mr = table_find(index);
	cairn_mrcache_fill(&cache, index, mr);
	return mr;
}

static double mrcache_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static u64 mrcache_others(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < PAYLOAD; i += 64)
		sum += payload[i];
	return sum;
}

/* Nanoseconds for each look-up of one of @active of @total regions; those in use
 * lie in all sets.
 */
static double mrcache_once(void *(*find)(u32), u32 total, u32 active, bool cold)
{
	u32 n = cold ? COLD_LOOKUPS : LOOKUPS, i;
	u32 stride = (total / active - 1) | 1;
	struct sim_rand rand = { 1 };
	double spent = 0, start = mrcache_now();
	volatile u64 sink = 0;

	for (i = 0; i < n; i++) {
		struct region *mr;

		if (cold) {
			sink += mrcache_others();
			start = mrcache_now();
		}
		mr = find(1 + sim_below(&rand, active) * stride);
		sink += mr->hot[0];
		if (cold)
			spent += mrcache_now() - start;
	}
	return (cold ? spent : mrcache_now() - start) / n;
}

/* The least of some: others have the machine as well. */
static double mrcache_measure(void *(*find)(u32), u32 total, u32 active, bool cold)
{
	double best = mrcache_once(find, total, active, cold), ns;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ns = mrcache_once(find, total, active, cold);
		best = min(best, ns);
	}
	return best;
}

/* The clock's own cost. */
static double clock_ns(void)
{
	double best = 1e9, start, ns;
	u32 i;

	for (i = 0; i < LOOKUPS; i++) {
		start = mrcache_now();
		ns = mrcache_now() - start;
		best = min(best, ns);
	}
	return best;
}

static void mrcache_one(u32 total, u32 active, double clock)
{
	struct region *all = must(aligned_alloc(64, (total + 1) * sizeof(*all)));
	double table[2], cached[2];
	u32 i, cold;

	memset(all, 1, (total + 1) * sizeof(*all));
	memset(top, 0, sizeof(top));
	for (i = 1; i <= total; i++)
		*slot_of(i) = &all[i];
	memset(cache.set, 0, LINES / 4 * sizeof(*cache.set));
	for (cold = 0; cold < 2; cold++) {
		table[cold] = mrcache_measure(table_find, total, active, cold);
		cached[cold] = mrcache_measure(cache_find, total, active, cold);
	}
	printf("%9u %9u %7.1f %7.1f %12.1f %7.1f\n", total, active, table[0],
	       cached[0], table[1] - clock, cached[1] - clock);
	free(all);	/* the nodes are left: the program ends soon */
}

int main(void)
{
	static const u32 total[] = { 16, 1024, 65536, 1 << 20, 4 << 20 };
	double clock = clock_ns();
	unsigned int i;
	u32 active;

	payload = must(calloc(1, PAYLOAD));
	memset(payload, 1, PAYLOAD);
	released = must(calloc(LINES / 4, sizeof(*released)));
	cache.set = must(aligned_alloc(64, LINES / 4 * sizeof(*cache.set)));
	cache.released = released;
	cache.mask = LINES / 4 - 1;
	printf("  regions    in use   ns: table  cache   cold: table  cache\n");
	for (i = 0; i < ARRAY_SIZE(total); i++)
		for (active = 16; active <= total[i]; active *= 64)
			mrcache_one(total[i], active, clock);
	return 0;
}
