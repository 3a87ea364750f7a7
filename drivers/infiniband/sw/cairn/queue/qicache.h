/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cache of the queues' host pointers (origins.rst, Q4): bounded, four-way
 * set-associative, from a queue's key to its pointer in space 3 (rdma/cairn-abi.h).
 *
 * The host writes its pointer on another CPU, so reading space 3 is likely to fetch
 * a cache line from there. The device needs no read while the cached pointer is
 * ahead of its own.
 *
 * Replacement: not recently used. An entry is marked used when it is put in and
 * when it is found. A new entry takes the first way of its set that is free, else
 * the first that is not marked. If all are marked, the marks are cleared first.
 *
 * The holder of a queue's lock is the only one to look the queue up and to put it in.
 * Queues of different locks share a set, so an entry is one 64-bit word and changes
 * by compare-and-exchange only: another queue can evict the entry, but not change it.
 * A change that loses such a race is not made; the cache then lacks an entry, but
 * never has a wrong one.
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

/* Drop the entry of queue @key, which is destroyed or starts from another pointer.
 * Its lock held, or the queue is not in use.
 */
void cairn_qicache_drop(struct cairn_qicache *cache, u32 key);

/*
 * Possible values of the host's pointer: from @read to @depth units ahead of it, on
 * the ring of 32-bit indices. Units before @known have been handled.
 */
struct cairn_qi_range {
	u32 read;
	u32 depth;		/* up to 2^31 - 1 */
	u32 known;		/* in the range itself */
};

/**
 * cairn_qicache_seen() - look for a cached pointer that is ahead of the known one
 * @cache: the cache
 * @key: the queue, 0..CAIRN_QI_MAX_KEY; its lock held
 * @range: possible pointers
 * @ptr: the pointer
 *
 * Return: true if found; otherwise the caller has to read the host's pointer.
 */
bool cairn_qicache_seen(struct cairn_qicache *cache, u32 key,
			const struct cairn_qi_range *range, u32 *ptr);

/* The pointer of the last doorbell, if any. It may be late. */
struct cairn_qi_rung {
	u32 ptr;
	bool valid;
};

/* The host's pointer in both ways that it comes. */
struct cairn_qi_told {
	u32 host;		/* read once from space 3 */
	struct cairn_qi_rung rung;
};

/**
 * cairn_qicache_newest() - find the newest pointer, and cache it
 * @cache: the cache
 * @key: the queue; its lock held
 * @range: possible pointers
 * @told: what the host has written
 * @ptr: the newest of @told and @range->known: that with the greatest distance from
 *	@range->read
 *
 * Return: queues that were evicted, 0 or 1; -EINVAL: @told.host is not in the range or
 * @told.rung is beyond it, which a correct host never writes.
 */
int cairn_qicache_newest(struct cairn_qicache *cache, u32 key,
			 const struct cairn_qi_range *range,
			 struct cairn_qi_told told, u32 *ptr);

#endif
