// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "check_work.h"
#include "queue.h"

void cairn_queue_init(struct cairn_queue *queue)
{
	pthread_spin_init(&queue->lock, PTHREAD_PROCESS_PRIVATE);
}

void cairn_queue_fini(struct cairn_queue *queue)
{
	if (cairn_queue_checked(queue))
		cairn_work_close(queue);
	pthread_spin_destroy(&queue->lock);
}

/* The kernel is trusted, but a mismatch of versions must not crash later. */
static bool queue_desc_sane(const struct cairn_ring_desc *desc)
{
	return !desc->reserved && !(desc->depth & (desc->depth - 1)) &&
	       desc->stride <= desc->depth &&
	       desc->ring_bytes >= (uint64_t)desc->depth * CAIRN_UNIT_SIZE;
}

int cairn_queue_map(struct cairn_context *ctx, struct cairn_queue *queue,
		    const struct cairn_ring_desc *desc, int prot)
{
	struct cairn_ring *ring = &queue->ring;
	uint32_t entry = desc->qid % CAIRN_QINFO_PER_CHUNK;
	struct cairn_qinfo *chunk;

	if (!desc->depth)
		return 0;
	if (!queue_desc_sane(desc))
		return EPROTO;
	chunk = cairn_qinfo_get(ctx, desc);
	if (!chunk)
		return errno;
	ring->units = cairn_map(ctx, desc->ring_offset, desc->ring_bytes, prot);
	if (!ring->units) {
		int err = errno;

		cairn_qinfo_retire(ctx, chunk);
		cairn_qinfo_put(ctx, chunk);
		return err;
	}
	queue->qinfo = chunk;
	queue->bytes = desc->ring_bytes;
	ring->dev = &chunk->dev[entry];
	ring->host = &chunk->host[entry];
	ring->depth = desc->depth;
	ring->stride = desc->stride;
	ring->qid = desc->qid;
	cairn_queue_reset(queue);
	return 0;
}

void cairn_queue_unmap(struct cairn_context *ctx, struct cairn_queue *queue)
{
	if (!queue->ring.units)
		return;
	cairn_unmap(queue->ring.units, queue->bytes);
	cairn_qinfo_put(ctx, queue->qinfo);
	queue->ring.units = NULL;
}

bool cairn_queue_fits(const struct cairn_queue *queue,
		      const struct cairn_ring_desc *desc)
{
	return desc->depth && queue_desc_sane(desc) &&
	       desc->qid == queue->ring.qid &&
	       desc->stride == queue->ring.stride;
}

void cairn_queue_retire(struct cairn_context *ctx, struct cairn_queue *queue)
{
	if (queue->ring.units)
		cairn_qinfo_retire(ctx, queue->qinfo);
}

void cairn_queue_revive(struct cairn_context *ctx, struct cairn_queue *queue)
{
	if (queue->ring.units)
		cairn_qinfo_revive(ctx, queue->qinfo);
}

void cairn_queue_reset(struct cairn_queue *queue)
{
	struct cairn_ring *ring = &queue->ring;

	if (!ring->units)
		return;
	cairn_ring_reload(ring);
	ring->index = ring->dev_index;
	cairn_ring_publish(ring);
	queue->posted = 0;
	queue->done = 0;
	queue->done_index = ring->index;
}

/* Counts WQEs from *@index up to @end, and moves *@index there. */
static uint32_t queue_count(const struct cairn_ring *ring, uint32_t *index,
			    uint32_t end)
{
	uint32_t count = 0;

	while ((int32_t)(end - *index) > 0) {
		const struct cairn_send_wqe *wqe = cairn_ring_unit(ring, *index);

		/* 0 only if a program writes into the ring. */
		*index += wqe->units ? wqe->units : 1;
		count++;
	}
	return count;
}

void cairn_queue_count_done(struct cairn_queue *queue)
{
	struct cairn_ring *ring = &queue->ring;

	cairn_ring_reload(ring);
	queue->done += queue_count(ring, &queue->done_index, ring->dev_index);
}

void cairn_queue_count(struct cairn_queue *queue)
{
	struct cairn_ring *ring = &queue->ring;
	uint32_t index;

	cairn_ring_reload(ring);
	index = ring->dev_index;
	queue->posted = queue_count(ring, &index, ring->index);
	queue->done = 0;
	queue->done_index = ring->dev_index;
}
