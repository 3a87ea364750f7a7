/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receive queues: of a queue pair, or shared (struct cairn_srq). */
#ifndef CAIRN_VERBS_RQ_H
#define CAIRN_VERBS_RQ_H

#include "verbs/verbs.h"

/* Units of a receive WQE with @sges entries; the ring's stride rounds it up. */
static inline u32 cairn_rq_units(u32 sges)
{
	return DIV_ROUND_UP(CAIRN_RECV_SGE_OFFSET +
			    sges * sizeof(struct cairn_sge), CAIRN_UNIT_SIZE);
}

/**
 * cairn_rq_create() - set up a receive queue and its ring
 * @nic: the device, for counters
 * @rq: zeroed
 * @max_wr: receives, checked against the device's limit; 0 gives room for one
 * @max_sge: entries of each, checked against the device's limit
 * @uctx: the owner's context, NULL: kernel queue
 * @desc: filled in for a user queue
 *
 * rq->max_wr and rq->max_sge become what the ring really holds. Process
 * context.
 *
 * Return: 0 or what cairn_queue_init_user() returns; the ring is freed with
 * cairn_queue_free().
 */
int cairn_rq_create(struct cairn_nic *nic, struct cairn_rq *rq, u32 max_wr,
		    u32 max_sge, struct cairn_ucontext *uctx,
		    struct cairn_ring_desc *desc);

/* Arm the limit event of a shared queue; it comes at once when fewer than
 * @limit receives are posted. 0 disarms. rq->lock held, BH off.
 */
void cairn_rq_set_limit(struct cairn_rq *rq, u32 limit);

struct cairn_next_ring;

/**
 * cairn_rq_resize() - change over to another ring
 * @rq: the queue
 * @next: its next ring, most of it copied; becomes the old one on success
 *
 * The caller keeps others from taking receives: rq->lock of a shared queue,
 * both side locks of a QP.
 *
 * Return: 0, -EINVAL (more is posted than fits, or the queue is in error) or
 * -EAGAIN (copy again first).
 */
int cairn_rq_resize(struct cairn_rq *rq, struct cairn_next_ring *next);

/**
 * cairn_rq_take() - consume the oldest posted receive
 * @rq: the queue
 * @buf: a union cairn_wqe_buf
 *
 * Context: BH off.
 * Return: the units copied; 0 when nothing is posted; -EINVAL when the host's
 * write pointer is impossible (counted once, the queue is then dead).
 */
int cairn_rq_take(struct cairn_rq *rq, void *buf);

/**
 * cairn_rq_posted() - posted receives
 * @rq: the queue
 *
 * Context: any.
 * Return: a snapshot, 0 when the write pointer is impossible.
 */
int cairn_rq_posted(struct cairn_rq *rq);

/* Drop what is posted. Caller holds both side locks of the QP. */
void cairn_rq_reset(struct cairn_rq *rq);

#endif
