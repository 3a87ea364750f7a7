// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Taking receives from a ring, for queue pairs and shared receive queues.
 *
 * The write pointer and the WQEs belong to the host. The pointer is believed only
 * within the ring (queue/host_index.h); a WQE is copied once. A pointer that cannot
 * be is final: the queue fails until it is reset.
 */
#include <linux/log2.h>
#include "queue/host_index.h"
#include "queue/queue.h"
#include "queue/next_ring.h"
#include "verbs/rq.h"

int cairn_rq_create(struct cairn_nic *nic, struct cairn_rq *rq, u32 max_wr,
		    u32 max_sge, struct cairn_ucontext *uctx,
		    struct cairn_ring_desc *desc)
{
	u32 stride = roundup_pow_of_two(cairn_recv_units(max_sge));
	u32 slots = roundup_pow_of_two(max(max_wr, 1U));
	int err;

	spin_lock_init(&rq->lock);
	spin_lock_init(&rq->post_lock);
	rq->nic = nic;
	rq->is_user = uctx;
	if (uctx)
		err = cairn_queue_init_user(uctx, &rq->queue, slots * stride,
					    stride, true, desc);
	else
		err = cairn_queue_init_kernel(&rq->queue, slots * stride,
					      stride);
	if (err)
		return err;
	rq->max_wr = slots;
	rq->max_sge = min_t(u32, CAIRN_MAX_SGE,
			    (stride * CAIRN_UNIT_SIZE - CAIRN_RECV_SGE_OFFSET) /
			    sizeof(struct cairn_sge));
	return 0;
}

/* Receives before the host's pointer @ptr, or -EINVAL: it cannot be there. */
static int level_at(const struct cairn_queue *q, u32 ptr)
{
	u32 units = ptr - READ_ONCE(q->index);

	if (units > q->depth || units & (q->stride - 1))
		return -EINVAL;
	return units / q->stride;
}

/* Receives known to be posted: all of them when there is a limit. rq->lock held.
 */
static int rq_level(struct cairn_rq *rq)
{
	struct cairn_queue *q = &rq->queue;
	u32 ptr;
	int err;

	err = rq->limit ?
	      cairn_host_index_fresh(q, rq->nic, q->index, q->index, &ptr) :
	      cairn_host_index_newest(q, rq->nic, q->index, q->index, &ptr);
	return err ?: level_at(q, ptr);
}

/* rq->lock held. */
static int rq_fail(struct cairn_rq *rq)
{
	if (!rq->bad) {
		rq->bad = true;
		cairn_queue_set_state(&rq->queue, CAIRN_QUEUE_ERROR);
		cairn_nic_count(rq->nic, CAIRN_CTR_BAD_RINGS, 1);
		if (rq->shared)
			cairn_srq_event(container_of(rq, struct cairn_srq, rq),
					CAIRN_SRQ_ERROR);
	}
	return -EINVAL;
}

/* Copy the WQE at the read pointer, the units that it claims to need. */
static u32 rq_copy(const struct cairn_queue *q, union cairn_wqe_buf *to)
{
	const u8 *from = cairn_queue_unit(q, q->index);
	u32 units;

	memcpy(to->bytes, from, CAIRN_UNIT_SIZE);
	/* num_sge from the copy, not from the ring again. */
	barrier();
	units = min3(cairn_recv_units(to->recv.num_sge), q->stride,
		     (u32)CAIRN_MAX_WQE_UNITS);
	memcpy(to->bytes + CAIRN_UNIT_SIZE, from + CAIRN_UNIT_SIZE,
	       (units - 1) * CAIRN_UNIT_SIZE);
	barrier();
	return units;
}

/* rq->lock held; @level receives are left. */
static void rq_check_limit(struct cairn_rq *rq, u32 level)
{
	if (likely(level >= rq->limit))
		return;
	WRITE_ONCE(rq->limit, 0);
	cairn_srq_event(container_of(rq, struct cairn_srq, rq),
			CAIRN_SRQ_LIMIT);
}

/**
 * cairn_rq_take() - consume the oldest posted receive
 * @rq: the queue
 * @buf: a union cairn_wqe_buf
 *
 * BH off. Returns the units copied, 0 when nothing is posted, -EINVAL when the
 * host's write pointer is impossible (counted once, the queue is then dead).
 */
int cairn_rq_take(struct cairn_rq *rq, void *buf)
{
	struct cairn_queue *q = &rq->queue;
	int level, ret = 0;

	spin_lock(&rq->lock);
	level = rq->bad ? -EINVAL : rq_level(rq);
	if (unlikely(level < 0)) {
		ret = rq_fail(rq);
	} else if (level) {
		ret = rq_copy(q, buf);
		WRITE_ONCE(q->index, q->index + q->stride);
		cairn_queue_publish(q);
		rq_check_limit(rq, level - 1);
	}
	spin_unlock(&rq->lock);
	return ret;
}

/**
 * cairn_rq_posted() - posted receives
 * @rq: the queue
 *
 * A snapshot, 0 when the write pointer is impossible. Any context.
 */
int cairn_rq_posted(struct cairn_rq *rq)
{
	return max(level_at(&rq->queue, cairn_queue_host_index(&rq->queue)), 0);
}

/* The reader in cairn_rq_posted() holds no lock, hence WRITE_ONCE. */
void cairn_rq_reset(struct cairn_rq *rq)
{
	struct cairn_queue *q = &rq->queue;

	spin_lock(&rq->lock);
	rq->bad = false;
	cairn_host_index_reset(q);
	WRITE_ONCE(q->index, round_down(READ_ONCE(q->host->index), q->stride));
	WRITE_ONCE(q->dev->wakeup, 0);
	cairn_queue_set_state(q, CAIRN_QUEUE_READY);
	cairn_queue_publish(q);
	spin_unlock(&rq->lock);
}

void cairn_rq_set_limit(struct cairn_rq *rq, u32 limit)
{
	WRITE_ONCE(rq->limit, limit);
	rq_check_limit(rq, cairn_rq_posted(rq));
}

/* Kernel posters are held off by their lock, a process holds itself back. */
int cairn_rq_resize(struct cairn_rq *rq, struct cairn_next_ring *n)
{
	struct cairn_queue *q = &rq->queue;
	unsigned long flags;
	int err;

	if (rq->bad)
		return -EINVAL;
	spin_lock_irqsave(&rq->post_lock, flags);
	err = cairn_next_ring_move(q, CAIRN_QUEUE_RECV, n,
				   CAIRN_NEXT_RING_LOCKED);
	if (!err) {
		cairn_next_ring_swap(q, n);
		rq->max_wr = n->max_wr;
	}
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return err;
}
