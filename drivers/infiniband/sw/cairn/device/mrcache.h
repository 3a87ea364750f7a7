/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The MR caches of a device: one for each lane, one for each CPU that receives
 * or runs posts. What a line is and why a released region is no hit:
 * engine/mrcache.h. They come when a device has many regions; before that the
 * table is as fast, and every look-up asks it.
 */
#ifndef CAIRN_DEVICE_MRCACHE_H
#define CAIRN_DEVICE_MRCACHE_H

#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "device/nic.h"
#include "engine/mrcache.h"

/* A key: index of the MR table, and what tells its users apart. */
#define CAIRN_KEY_VARIANT_BITS	8
#define CAIRN_KEY_VARIANT_MASK	0xff

/* A device with more regions gets caches. */
#define CAIRN_MRCACHE_FROM	16384
/* Of each cache: 64 KiB, 4096 regions. */
#define CAIRN_MRCACHE_SETS	1024

struct cairn_mrcaches {
	struct cairn_nic *nic;
	const struct cairn_table *table;	/* MR index -> region */
	unsigned long *released;	/* by set */
	spinlock_t lock;		/* writers of released */
	u32 mask;
	unsigned int lanes;
	unsigned int count;		/* lanes, then possible CPUs */
	struct cairn_mrcache cache[];
};

/* Number of the lane whose turn runs on this CPU and one, 0: none. Below
 * cairn_cpu_lock().
 */
DECLARE_PER_CPU(unsigned int, cairn_lane_here);

/**
 * cairn_mrcaches_start() - the device has many regions
 * @nic: the device; nothing happens from the second call on
 * @table: of its regions
 *
 * Without memory the device goes on without caches. Context: process, sleeps;
 * the lanes run.
 */
void cairn_mrcaches_start(struct cairn_nic *nic,
			  const struct cairn_table *table);

/* Nobody runs any more. */
void cairn_mrcaches_stop(struct cairn_nic *nic);

/* A miss: ask the table, keep the answer. In a run. */
void *cairn_mrcaches_miss(struct cairn_mrcaches *caches,
			  struct cairn_mrcache *cache, u32 index);

/* @key will be looked up soon on this CPU. Below cairn_cpu_lock(), in an RCU read
 * section.
 */
void cairn_mrcaches_ahead(struct cairn_mrcaches *caches, u32 key);

/* @index is out of the table, and the epoch is to be advanced. In the RCU read
 * section in which it was taken out; any context but hard interrupts.
 */
void cairn_mrcaches_release(struct cairn_nic *nic, u32 index);

static inline struct cairn_mrcache *
cairn_mrcaches_own(struct cairn_mrcaches *caches)
{
	unsigned int lane = __this_cpu_read(cairn_lane_here);

	return &caches->cache[lane ? lane - 1 :
				     caches->lanes + smp_processor_id()];
}

/* The region of @index, or NULL. In a run. */
static inline void *cairn_mrcaches_find(struct cairn_mrcaches *caches,
					u32 index)
{
	struct cairn_mrcache *cache = cairn_mrcaches_own(caches);
	void *mr;

	if (cairn_mrcache_rests(cache))
		return cairn_table_find(caches->table, index);
	mr = cairn_mrcache_find(cache, index);
	if (unlikely(!mr))
		return cairn_mrcaches_miss(caches, cache, index);
	cairn_nic_count(caches->nic, CAIRN_CTR_MR_CACHE_HITS, 1);
	return mr;
}

#endif
