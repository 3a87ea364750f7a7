/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The work requests of each queue between post and completion. The functions are called
 * only for queues with cairn_queue.check, and take the lock of check.h.
 */
#ifndef CAIRN_CHECK_WORK_H
#define CAIRN_CHECK_WORK_H

#include "cq.h"
#include "qp.h"
#include "srq.h"

/* A queue is checked from here on. Without memory it is not. */
void cairn_work_open_qp(struct cairn_qp *qp, struct ibv_context *ctx, struct ibv_pd *pd);
void cairn_work_open_srq(struct cairn_srq *srq, struct ibv_pd *pd);
void cairn_work_open_cq(struct cairn_cq *cq, struct ibv_context *ctx);
/* @cq is that of an XRC SRQ, whose receives complete for queue pairs of any process. */
void cairn_work_expect(struct cairn_cq *cq);
/* The queues of a QP that was reset are empty. */
void cairn_work_reset_qp(struct cairn_qp *qp);
/* Before the queue is freed. */
void cairn_work_close(struct cairn_queue *queue);
/*
 * Keeps the memory of a destroyed QP, so that a later use can be told.
 * Return: whether there was room for it, else the caller frees it.
 */
bool cairn_work_bury(struct cairn_qp *qp);

/* WQEs from @start to the ring's index are about to be published. SQ locked. */
void cairn_work_sent(struct cairn_qp *qp, uint32_t start);
/* The same for a receive queue. */
void cairn_work_received(struct cairn_rq *rq, uint32_t start);
/* A post to @qp failed with @err. */
void cairn_work_refused(struct cairn_qp *qp, int err);

/*
 * Around a call of the program: objects of a thread domain, and CQs for one thread, have
 * one at a time.
 */
void cairn_work_enter(struct cairn_queue *queue);
void cairn_work_leave(struct cairn_queue *queue);

/* The program sees @cqe. */
void cairn_work_polled(struct cairn_cq *cq, const struct cairn_cqe *cqe);
/* It polled @cq, to the end if @drained. */
void cairn_work_looked(struct cairn_cq *cq, bool drained);
void cairn_work_armed(struct cairn_cq *cq);
void cairn_work_notified(struct cairn_cq *cq);
/* Return: events of @cq that the program has read. */
uint32_t cairn_work_events(const struct cairn_cq *cq);

/* Reports work that still uses the region with this key. Under the lock of check.h. */
void cairn_work_check_region(const struct ibv_mr *mr);
/* Reports buffers of sends that a QP which ends has not done. Under the lock of check.h. */
void cairn_work_check_left(struct ibv_qp *qp);
/* Reports completions of a QP that ends. Under the lock of check.h. */
void cairn_work_check_unpolled(const struct ibv_qp *qp);

#endif /* CAIRN_CHECK_WORK_H */
