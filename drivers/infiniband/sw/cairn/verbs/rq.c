// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Takes receives from the rings of QPs and shared receive queues.
 *
 * The host writes the write pointer and the WQEs, so both are untrusted. The pointer
 * must be within the ring (queue/host_index.h); otherwise the queue fails until it is
 * reset. A WQE is copied once.
 */
#include <linux/lockdep.h>
#include <linux/log2.h>
#include "queue/host_index.h"
#include "queue/queue.h"
#include "queue/next_ring.h"
#include "verbs/rq.h"
#include "verbs/srq.h"

int cairn_rq_create(struct cairn_nic *nic, struct cairn_rq *rq, u32 max_wr,
		    u32 max_sge, struct cairn_ucontext *uctx)
{
	u32 stride = roundup_pow_of_two(cairn_rq_units(max_sge));
	u32 slots = roundup_pow_of_two(max(max_wr, 1U));
	int err;

	spin_lock_init(&rq->lock);
	spin_lock_init(&rq->post_lock);
	rq->nic = nic;
	rq->is_user = uctx;
	if (uctx)
		err = cairn_queue_init_user(uctx, &rq->queue, slots * stride,
					    stride, true);
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

/* Number of receives before the host's pointer @ptr, or -EINVAL if it is impossible. */
static int rq_level_at(const struct cairn_queue *queue, u32 ptr)
{
	u32 units = ptr - READ_ONCE(queue->index);

	if (units > queue->depth || units & (queue->stride - 1))
		return -EINVAL;
	return units / queue->stride;
}

/* Receives that are known to be posted. With a limit, the write pointer is always read
 * anew, so that these are all.
 */
static int rq_level(struct cairn_rq *rq)
{
	struct cairn_queue *queue = &rq->queue;
	u32 ptr;
	int err;

	lockdep_assert_held(&rq->lock);
	err = rq->limit ? cairn_host_index_fresh(queue, rq->nic, queue->index,
						 queue->index, &ptr) :
			  cairn_host_index_newest(queue, rq->nic, queue->index,
						  queue->index, &ptr);
	return err ?: rq_level_at(queue, ptr);
}

static int rq_fail(struct cairn_rq *rq)
{
	lockdep_assert_held(&rq->lock);
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

/* Copy the WQE at the read pointer: as many units as its num_sge needs. */
static u32 rq_copy(const struct cairn_queue *queue, union cairn_wqe_buf *to)
{
	const u8 *from = cairn_queue_unit(queue, queue->index);
	u32 units;

	memcpy(to->bytes, from, CAIRN_UNIT_SIZE);
	/* Keep the compiler from reading num_sge from the ring again. */
	barrier();
	units = min3(cairn_rq_units(to->recv.num_sge), queue->stride,
		     (u32)CAIRN_MAX_WQE_UNITS);
	memcpy(to->bytes + CAIRN_UNIT_SIZE, from + CAIRN_UNIT_SIZE,
	       (units - 1) * CAIRN_UNIT_SIZE);
	barrier();
	return units;
}

/* Raise the limit event if @level, the receives that are left, is below the limit. */
static void rq_check_limit(struct cairn_rq *rq, u32 level)
{
	lockdep_assert_held(&rq->lock);
	if (likely(level >= rq->limit))
		return;
	WRITE_ONCE(rq->limit, 0);
	cairn_srq_event(container_of(rq, struct cairn_srq, rq),
			CAIRN_SRQ_LIMIT);
}

int cairn_rq_take(struct cairn_rq *rq, void *buf)
{
	struct cairn_queue *queue = &rq->queue;
	int level, ret = 0;

	spin_lock(&rq->lock);
	level = rq->bad ? -EINVAL : rq_level(rq);
	if (unlikely(level < 0)) {
		ret = rq_fail(rq);
	} else if (level) {
		ret = rq_copy(queue, buf);
		WRITE_ONCE(queue->index, queue->index + queue->stride);
		cairn_queue_publish(queue);
		rq_check_limit(rq, level - 1);
	}
	spin_unlock(&rq->lock);
	return ret;
}

void cairn_rq_starved(struct cairn_rq *rq)
{
	struct cairn_qinfo_dev *dev = rq->queue.dev;

	spin_lock(&rq->lock);
	WRITE_ONCE(dev->starved, dev->starved + 1);
	spin_unlock(&rq->lock);
}

int cairn_rq_posted(struct cairn_rq *rq)
{
	return max(rq_level_at(&rq->queue, cairn_queue_host_index(&rq->queue)),
		   0);
}

/* WRITE_ONCE(), because cairn_rq_posted() reads without a lock. */
void cairn_rq_reset(struct cairn_rq *rq)
{
	struct cairn_queue *queue = &rq->queue;

	spin_lock(&rq->lock);
	rq->bad = false;
	cairn_host_index_reset(queue);
	WRITE_ONCE(queue->index,
		   round_down(READ_ONCE(queue->host->index), queue->stride));
	WRITE_ONCE(queue->dev->wakeup, 0);
	cairn_queue_set_state(queue, CAIRN_QUEUE_READY);
	cairn_queue_publish(queue);
	spin_unlock(&rq->lock);
}

void cairn_rq_set_limit(struct cairn_rq *rq, u32 limit)
{
	lockdep_assert_held(&rq->lock);
	WRITE_ONCE(rq->limit, limit);
	rq_check_limit(rq, cairn_rq_posted(rq));
}

/* post_lock locks out kernel consumers. The provider does not post during the call. */
int cairn_rq_resize(struct cairn_rq *rq, struct cairn_next_ring *next)
{
	struct cairn_queue *queue = &rq->queue;
	unsigned long flags;
	int err;

	if (rq->bad)
		return -EINVAL;
	spin_lock_irqsave(&rq->post_lock, flags);
	err = cairn_next_ring_move(queue, CAIRN_QUEUE_RECV, next,
				   CAIRN_NEXT_RING_LOCKED);
	if (!err) {
		cairn_next_ring_swap(queue, next);
		rq->max_wr = next->max_wr;
	}
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return err;
}
