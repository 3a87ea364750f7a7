// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>

#include "check_work.h"
#include "rq.h"

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct cairn_sge) &&
	       offsetof(struct ibv_sge, addr) ==
	       offsetof(struct cairn_sge, addr) &&
	       offsetof(struct ibv_sge, length) ==
	       offsetof(struct cairn_sge, length) &&
	       offsetof(struct ibv_sge, lkey) ==
	       offsetof(struct cairn_sge, lkey), "SGEs are copied as they are");

static int rq_post_one(struct cairn_rq *rq, const struct ibv_recv_wr *wr)
{
	struct cairn_ring *ring = &rq->queue.ring;
	struct cairn_recv_wqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge)
		return EINVAL;
	if (!cairn_ring_room(ring, ring->stride))
		return ENOMEM;
	wqe = cairn_ring_unit(ring, ring->index);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = (uint8_t)wr->num_sge;
	memset(wqe->reserved, 0, sizeof(wqe->reserved));
	if (wr->num_sge)
		cairn_ring_put(ring, ring->index, CAIRN_RECV_SGE_OFFSET,
			       wr->sg_list,
			       (size_t)wr->num_sge * sizeof(*wr->sg_list));
	ring->index += ring->stride;
	return 0;
}

int cairn_rq_post(struct cairn_rq *rq, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct cairn_ring *ring = &rq->queue.ring;
	uint32_t start;
	int err = 0;

	cairn_queue_lock(&rq->queue);
	start = ring->index;
	for (; wr; wr = wr->next) {
		err = rq_post_one(rq, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	if (ring->index != start && cairn_queue_checked(&rq->queue))
		cairn_work_received(rq, start);
	if (ring->index != start)
		cairn_ring_publish(ring);
	cairn_queue_unlock(&rq->queue);
	return err;
}
