/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A ring with its mapping and its lock. */
#ifndef CAIRN_QUEUE_H
#define CAIRN_QUEUE_H

#include "cairn.h"
#include "qinfo.h"
#include "ring.h"

struct cairn_work;

struct cairn_queue {
	struct cairn_ring ring;
	struct cairn_qinfo *qinfo;
	size_t bytes;			/* of the ring's mapping */
	uint32_t max_wr;		/* the size that its owner was told */
	/* Send queues: WQEs may be shorter than the ring has room for. */
	uint32_t posted;		/* WQEs */
	uint32_t done;			/* of them, as last counted */
	uint32_t done_index;		/* unit behind those */
	pthread_spinlock_t lock;	/* protects ring */
	bool single;			/* one thread: no lock is needed */
	struct cairn_work *check;	/* check_work.h; NULL: not checked */
};

/* Whether its requests and completions are checked. */
static inline bool cairn_queue_checked(const struct cairn_queue *queue)
{
	return __builtin_expect(queue->check != NULL, 0);
}

static inline void cairn_queue_lock(struct cairn_queue *queue)
{
	if (!queue->single)
		pthread_spin_lock(&queue->lock);
}

static inline void cairn_queue_unlock(struct cairn_queue *queue)
{
	if (!queue->single)
		pthread_spin_unlock(&queue->lock);
}

void cairn_queue_init(struct cairn_queue *queue);
void cairn_queue_fini(struct cairn_queue *queue);

/* 0 or errno. A descriptor of all zeros gives a queue that does not exist. */
int cairn_queue_map(struct cairn_context *ctx, struct cairn_queue *queue,
		    const struct cairn_ring_desc *desc, int prot);
void cairn_queue_unmap(struct cairn_context *ctx, struct cairn_queue *queue);

/* Whether desc can be another ring of the same queue. */
bool cairn_queue_fits(const struct cairn_queue *queue,
		      const struct cairn_ring_desc *desc);

/* Around the destroy command; see cairn_qinfo_retire(). */
void cairn_queue_retire(struct cairn_context *ctx, struct cairn_queue *queue);
void cairn_queue_revive(struct cairn_context *ctx, struct cairn_queue *queue);

/* Counts the WQEs of a send queue that the device has finished. Locked. */
void cairn_queue_count_done(struct cairn_queue *queue);

/* Counts the outstanding WQEs anew. Locked. */
void cairn_queue_count(struct cairn_queue *queue);

/* Whether a WQE with @units may be posted, by the last known read pointer. Locked. */
static inline bool cairn_queue_fits_one(const struct cairn_queue *queue,
					uint32_t units)
{
	const struct cairn_ring *ring = &queue->ring;

	return ring->index + units - ring->dev_index <= ring->depth &&
	       queue->posted - queue->done < queue->max_wr;
}

/* Whether one more WQE of a send queue, with @units, may be posted: not more than
 * max_wr, by which programs size completion queues. The caller adds it to posted.
 * Locked.
 */
static inline bool cairn_queue_has_room(struct cairn_queue *queue,
					uint32_t units)
{
	if (cairn_queue_fits_one(queue, units))
		return true;
	if (!queue->ring.units)
		return false;
	/* Count WQEs before they are overwritten. */
	cairn_queue_count_done(queue);
	return cairn_queue_fits_one(queue, units);
}

/* Drops posted WQEs: the write pointer returns to the read pointer. */
void cairn_queue_reset(struct cairn_queue *queue);

#endif /* CAIRN_QUEUE_H */
