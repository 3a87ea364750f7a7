/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The MR caches of a device: one for each lane, and one for each CPU, for packets and
 * posts that run outside of lanes. engine/mrcache.h explains the lines, and why a
 * released region is not found. The caches are created when a device has many regions;
 * with fewer the table is as fast, and look-ups use it directly.
 */
#ifndef CAIRN_DEVICE_MRCACHE_H
#define CAIRN_DEVICE_MRCACHE_H

#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "device/nic.h"
#include "engine/mrcache.h"

/* A key has an index of the MR table, and a variant that differs between successive
 * regions with the same index (mem/key.h).
 */
#define CAIRN_KEY_VARIANT_BITS	8
#define CAIRN_KEY_VARIANT_MASK	0xff

/* Regions of a device from which on it gets caches. */
#define CAIRN_MRCACHE_FROM	16384
/* Sets of each cache: 64 KiB, 4096 regions. */
#define CAIRN_MRCACHE_SETS	1024

struct cairn_mrcaches {
	struct cairn_nic *nic;
	const struct cairn_table *table;	/* MR index -> region */
	unsigned long *released;	/* regions released, by set */
	spinlock_t lock;		/* for writing released */
	u32 mask;
	unsigned int lanes;
	unsigned int count;		/* lanes, then possible CPUs */
	struct cairn_mrcache cache[];
};

/* The lane whose turn runs on this CPU: its number plus one; 0: none. Below
 * cairn_cpu_lock().
 */
DECLARE_PER_CPU(unsigned int, cairn_lane_here);

/**
 * cairn_mrcaches_start() - create the caches of a device that has many regions
 * @nic: the device; the second and later calls do nothing
 * @table: of its regions
 *
 * If there is no memory, the device works without caches.
 *
 * Context: process, sleeps; the lanes have been started.
 */
void cairn_mrcaches_start(struct cairn_nic *nic,
			  const struct cairn_table *table);

/* Free the caches. No run is left. */
void cairn_mrcaches_stop(struct cairn_nic *nic);

/* Handle a miss: read the table and fill a line. In a run. Return: the region or NULL. */
void *cairn_mrcaches_miss(struct cairn_mrcaches *caches,
			  struct cairn_mrcache *cache, u32 index);

/* Fill a line ahead and prefetch the region, as @key will soon be looked up on this CPU.
 * Below cairn_cpu_lock(), in an RCU read section.
 */
void cairn_mrcaches_ahead(struct cairn_mrcaches *caches, u32 key);

/* Count a release: region @index has been removed from the table in the caller's RCU
 * read section, and the epoch has not been advanced since. Any context but hard
 * interrupts.
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
