/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A ring with what it takes to map, lock and unmap it. */
#ifndef CAIRN_QUEUE_H
#define CAIRN_QUEUE_H

#include "cairn.h"
#include "qinfo.h"
#include "ring.h"

struct cairn_queue {
	struct cairn_ring ring;
	struct cairn_qinfo *qinfo;
	size_t bytes;			/* of the ring's mapping */
	uint32_t max_wr;		/* what its owner was promised */
	pthread_spinlock_t lock;	/* protects ring */
	bool single;			/* one thread: no lock is needed */
};

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

/* Forgets what was posted: the write pointer returns to the read pointer. */
void cairn_queue_reset(struct cairn_queue *queue);

#endif /* CAIRN_QUEUE_H */
