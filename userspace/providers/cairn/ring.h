/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A ring of 64-byte units, its pointers, and every memory barrier of the
 * provider. "dev" is the space-1 entry (the device writes it), "host" the
 * space-3 entry (we write it). Partners are named by what the device does:
 *
 * (a) cairn_ring_publish(): units are stored, then host.index with release.
 *     Pairs with the device's load-acquire of host.index, after which it
 *     copies the units.
 *
 * (b) cairn_ring_reload(): dev.index with acquire, then units are overwritten.
 *     Pairs with the device's store-release of dev.index after it has copied
 *     them for the last time.
 *
 * (c) cairn_ring_must_wake(), receive queues: host.index is stored, full
 *     barrier, then dev.wakeup is loaded. Pairs with the device, which stores
 *     dev.wakeup, full barrier, then re-reads host.index before it sleeps. One
 *     of the two sees the other. Send queues have ready.h.
 *
 * (d) cairn_ring_ready(): dev.index with acquire, then a completion is read.
 *     Pairs with the device's store-release of dev.index after it has written
 *     the completion.
 *
 * (e) cairn_ring_publish() on a completion queue: completions are read, then
 *     host.index with release. Pairs with the device's load-acquire of
 *     host.index before it overwrites an entry.
 *
 * (f) cairn_ring_arm(): host.arm is stored, full barrier, then the caller's
 *     next poll loads dev.index. Pairs with the device's store of dev.index,
 *     full barrier, load of host.arm. Either the poll sees the completion or
 *     the device sees the request.
 *
 * (i) cairn_ring_used(): dev.index with acquire, then host.index is loaded. Pairs
 *     with the device's store-release of dev.index, before which it has loaded a
 *     host.index that is not behind it: the difference is not negative.
 *
 * (j) cairn_ring_polled(): host.index is stored, full barrier, then dev.wakeup is
 *     loaded. Pairs with the device, which found the queue full: it stores dev.wakeup,
 *     full barrier, then re-reads host.index.
 *
 * (l) cairn_ring_passed(): dev.index with acquire, then memory is read that an earlier
 *     READ of the queue wrote. Pairs with the device's store-release of dev.index after
 *     it has placed the data.
 *
 * (g), (h) and (k) are in ready.h.
 *
 * Indices are free-running and wrap at 2^32; only differences mean anything.
 */
#ifndef CAIRN_RING_H
#define CAIRN_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rdma/cairn-abi.h>

struct cairn_ring {
	uint8_t *units;		/* mapped ring, NULL: the queue does not exist */
	const struct cairn_qinfo_dev *dev;
	struct cairn_qinfo_host *host;
	uint32_t depth;		/* units, a power of two */
	uint32_t stride;	/* units of one receive WQE */
	uint32_t index;		/* next unit we fill (CQ: next we poll) */
	uint32_t dev_index;	/* dev.index as last loaded */
	uint32_t qid;
};

static inline uint32_t cairn_ring_load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Barrier (b). */
static inline void cairn_ring_reload(struct cairn_ring *ring)
{
	ring->dev_index = __atomic_load_n(&ring->dev->index, __ATOMIC_ACQUIRE);
}

/* Whether units at ring->index can be filled; asks the device only if full. */
static inline bool cairn_ring_room(struct cairn_ring *ring, uint32_t units)
{
	if (ring->index + units - ring->dev_index <= ring->depth)
		return true;
	if (!ring->units)
		return false;
	cairn_ring_reload(ring);
	return ring->index + units - ring->dev_index <= ring->depth;
}

/* The unit at a free-running index. */
static inline void *cairn_ring_unit(const struct cairn_ring *ring,
				    uint32_t index)
{
	size_t slot = index & (ring->depth - 1);

	return ring->units + slot * CAIRN_UNIT_SIZE;
}

/* Copies into a WQE that starts at index; it may run past the ring's end. */
static inline void cairn_ring_put(const struct cairn_ring *ring, uint32_t index,
				  size_t offset, const void *src, size_t bytes)
{
	size_t size = (size_t)ring->depth * CAIRN_UNIT_SIZE;
	size_t pos = ((size_t)(index & (ring->depth - 1)) * CAIRN_UNIT_SIZE +
		      offset) & (size - 1);
	size_t head = bytes <= size - pos ? bytes : size - pos;

	memcpy(ring->units + pos, src, head);
	if (head < bytes)
		memcpy(ring->units, (const uint8_t *)src + head, bytes - head);
}

/* Barriers (a) and (e). */
static inline void cairn_ring_publish(struct cairn_ring *ring)
{
	__atomic_store_n(&ring->host->index, ring->index, __ATOMIC_RELEASE);
}

/* Barrier (c): whether the device sleeps and has to be told of the post. */
static inline bool cairn_ring_must_wake(const struct cairn_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return cairn_ring_load(&ring->dev->wakeup) != 0;
}

/* Barrier (d): whether the completion at ring->index has been written. */
static inline bool cairn_ring_ready(struct cairn_ring *ring)
{
	if (ring->index != ring->dev_index)
		return true;
	cairn_ring_reload(ring);
	return ring->index != ring->dev_index;
}

/* Barrier (i): units that the device has not finished, by any thread. */
static inline uint32_t cairn_ring_used(const struct cairn_ring *ring)
{
	uint32_t done = __atomic_load_n(&ring->dev->index, __ATOMIC_ACQUIRE);

	return cairn_ring_load(&ring->host->index) - done;
}

/* Barrier (l): whether the device has finished the WQE at @index, which was posted. */
static inline bool cairn_ring_passed(const struct cairn_ring *ring, uint32_t index)
{
	uint32_t done = __atomic_load_n(&ring->dev->index, __ATOMIC_ACQUIRE);

	return (int32_t)(done - index) > 0;
}

/* Barriers (e) and (j): whether completions wait for the room that is made. They came
 * when the ring was full. So at the latest, the program sees them after it has polled
 * the ring to its end.
 */
static inline bool cairn_ring_polled(struct cairn_ring *ring)
{
	cairn_ring_publish(ring);
	if (ring->index == ring->dev_index)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return cairn_ring_load(&ring->dev->wakeup) != 0;
}

/* Whether the device has to look after arming: by any thread. */
static inline bool cairn_ring_holds(const struct cairn_ring *ring)
{
	return cairn_ring_load(&ring->dev->index) !=
		       cairn_ring_load(&ring->host->index) ||
	       cairn_ring_load(&ring->dev->wakeup) != 0;
}

/* Barrier (f). */
static inline void cairn_ring_arm(struct cairn_ring *ring, uint32_t arm)
{
	__atomic_store_n(&ring->host->arm, arm, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* CAIRN_RING_H */
