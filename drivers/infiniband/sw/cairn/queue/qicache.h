/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the device last knew of queues' host pointers (origins.rst, Q4): a bounded
 * cache, four-way set-associative, from a queue's number to its pointer in
 * space 3 (rdma/cairn-abi.h).
 *
 * The host writes its pointer on another CPU, so each look at it is likely to
 * fetch a cache line from there. As long as the cached pointer is ahead of what
 * the device has done there is no need to look.
 *
 * Replacement: not recently used. An entry is marked used when it is put in and
 * when it is found. A new entry takes the first way of its set that is free, else
 * the first that is not marked. If all are marked the marks are removed first.
 *
 * Each queue is looked up and put in by one caller at a time, the holder of its
 * lock. Queues of different locks share a set: an entry is one 64-bit word that is
 * only changed by compare-and-exchange, so others can evict it and nothing else. A
 * change that loses such a race is not made: the cache knows less, never wrong.
 */
#ifndef CAIRN_QUEUE_QICACHE_H
#define CAIRN_QUEUE_QICACHE_H

#include <linux/atomic.h>
#include <linux/types.h>

#define CAIRN_QI_WAYS		4
#define CAIRN_QI_MAX_ENTRIES	65536
#define CAIRN_QI_MAX_KEY	0x7ffffffeu

struct cairn_qicache {
	atomic64_t *word;
	u32 sets;		/* a power of two; 0: caches nothing */
};

/* Sets for at least @entries queues, 0..CAIRN_QI_MAX_ENTRIES, 0 for 0. */
u32 cairn_qicache_sets(u32 entries);

/* @mem: CAIRN_QI_WAYS zeroed words for each set; NULL with 0 sets. */
void cairn_qicache_init(struct cairn_qicache *cache, u32 sets, atomic64_t *mem);

/* The queue @key is no more, or starts from another pointer. Its lock held, or
 * nobody uses it.
 */
void cairn_qicache_drop(struct cairn_qicache *cache, u32 key);

/*
 * Where the host's pointer can be: at @read or up to @depth units ahead of it,
 * on the ring of 32-bit indices. Everything up to @known has been acted on.
 */
struct cairn_qi_range {
	u32 read;
	u32 depth;		/* up to 2^31 - 1 */
	u32 known;		/* in the range itself */
};

/**
 * cairn_qi_cached() - is a pointer ahead of what is known in the cache?
 * @cache: the cache
 * @key: the queue, 0..CAIRN_QI_MAX_KEY; its lock held
 * @range: where the pointer can be
 * @ptr: the pointer
 *
 * Return: true if so. Otherwise the host's own pointer has to be looked at.
 */
bool cairn_qi_cached(struct cairn_qicache *cache, u32 key,
		     const struct cairn_qi_range *range, u32 *ptr);

/* A pointer that came with a doorbell, if any. */
struct cairn_qi_rung {
	u32 ptr;
	bool valid;
};

/**
 * cairn_qi_newest() - the newest pointer, which the cache then has
 * @cache: the cache
 * @key: the queue; its lock held
 * @range: where the pointer can be
 * @host: as read from space 3, once
 * @rung: as a doorbell said; it may have come late
 * @ptr: the newest of @host, @rung and @range->known: that with the greatest
 *	distance from @range->read
 *
 * Return: queues that were evicted for it, 0 or 1; -EINVAL when @host is not in
 * the range or @rung is beyond it: nobody who keeps the rules writes that.
 */
int cairn_qi_newest(struct cairn_qicache *cache, u32 key,
		    const struct cairn_qi_range *range, u32 host,
		    struct cairn_qi_rung rung, u32 *ptr);

#endif
