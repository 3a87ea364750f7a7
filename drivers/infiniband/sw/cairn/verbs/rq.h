/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receive queues of QPs, and shared ones (struct cairn_srq). */
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
 * @max_wr: number of receives, checked against the device's limit; 0 counts as 1
 * @max_sge: entries of each, checked against the device's limit
 * @uctx: the owner's context; NULL: kernel queue
 *
 * max_wr and max_sge of @rq are set to the capacity of the ring. The caller frees it
 * with cairn_queue_free().
 *
 * Context: process.
 * Return: 0 or the error of cairn_queue_init_user().
 */
int cairn_rq_create(struct cairn_nic *nic, struct cairn_rq *rq, u32 max_wr,
		    u32 max_sge, struct cairn_ucontext *uctx);

/* Arm the limit event of a shared queue. It is raised at once if fewer than @limit
 * receives are posted. 0 disarms it. Under the queue's lock, with BH off.
 */
void cairn_rq_set_limit(struct cairn_rq *rq, u32 limit);

struct cairn_next_ring;

/**
 * cairn_rq_resize() - replace the ring
 * @rq: the queue
 * @next: the new ring, to which most units have been copied; gets the old one
 *
 * The caller locks out runs that take receives: by the lock of a shared queue, or by
 * both side locks of a QP.
 *
 * Return: 0; -EINVAL: more receives are posted than fit, or the queue has failed;
 * -EAGAIN: the caller has to copy more units first.
 */
int cairn_rq_resize(struct cairn_rq *rq, struct cairn_next_ring *next);

/**
 * cairn_rq_take() - consume the oldest posted receive
 * @rq: the queue
 * @buf: a union cairn_wqe_buf
 *
 * Context: BH off.
 * Return: number of units copied; 0: nothing is posted; -EINVAL: the host's write
 * pointer is impossible (counted once), and the queue has failed.
 */
int cairn_rq_take(struct cairn_rq *rq, void *buf);

/* Count that a message found no receive: cairn_qinfo_dev.starved. BH off. */
void cairn_rq_starved(struct cairn_rq *rq);

/**
 * cairn_rq_posted() - count posted receives
 * @rq: the queue
 *
 * Context: any.
 * Return: a snapshot of their number; 0 if the write pointer is impossible.
 */
int cairn_rq_posted(struct cairn_rq *rq);

/* Drop all posted receives. Under both side locks of the QP. */
void cairn_rq_reset(struct cairn_rq *rq);

#endif
