// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues. QPs take receives under rq.lock. ib_core destroys an SRQ after
 * all QPs that use it, so it needs no grace period. XRC targets find an SRQ by its
 * number (verbs/xrc.c).
 */
#include "queue/next_ring.h"
#include "queue/queue.h"
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/rq.h"
#include "verbs/srq.h"
#include "verbs/udata.h"
#include "verbs/xrc.h"

static void srq_deliver(struct work_struct *work)
{
	static const enum ib_event_type types[] = {
		[CAIRN_SRQ_LIMIT] = IB_EVENT_SRQ_LIMIT_REACHED,
		[CAIRN_SRQ_ERROR] = IB_EVENT_SRQ_ERR,
	};
	struct cairn_srq *srq = container_of(work, struct cairn_srq,
					     async.work);
	unsigned long pending = cairn_async_take(&srq->async);
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
	};
	unsigned int i;

	if (!srq->ibsrq.event_handler)
		return;
	for_each_set_bit(i, &pending, ARRAY_SIZE(types)) {
		event.event = types[i];
		if (cairn_async_may_tell(&srq->async, srq->rq.nic))
			srq->ibsrq.event_handler(&event,
						 srq->ibsrq.srq_context);
	}
}

void cairn_srq_event(struct cairn_srq *srq, enum cairn_srq_event event)
{
	cairn_async_post(&srq->async, event);
}

static int srq_check_init(const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (init->srq_type == IB_SRQT_XRC &&
	    (!init->ext.cq || !init->ext.xrc.xrcd))
		return -EINVAL;
	if (!init->attr.max_wr || init->attr.max_wr > CAIRN_MAX_SRQ_WR ||
	    init->attr.max_sge > CAIRN_MAX_SGE)
		return -EINVAL;
	return 0;
}

/**
 * srq_create() - ib_device_ops.create_srq
 * @ibsrq: zeroed, except for the members that ib_core has set
 * @init: max_wr and max_sge are set to the capacity of the ring
 * @udata: reply struct cairn_create_srq_resp
 *
 * Return: 0; -EOPNOTSUPP: type; -EINVAL: limits, reply size, or XRC without domain or
 * completion queue; -EBUSY: XRC, and no number is free; -EDQUOT: the share of the user;
 * -ENOMEM or -EFAULT.
 */
static int srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct cairn_dev *dev = to_cairn_dev(ibsrq->device);
	struct cairn_srq *srq = to_cairn_srq(ibsrq);
	struct cairn_create_srq_resp resp = {};
	struct cairn_ucontext *uctx;
	int err;

	err = cairn_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	err = srq_check_init(init);
	if (err)
		return err;
	err = cairn_share_take(&dev->nic, CAIRN_SHARE_SRQ, CAIRN_MAX_SRQ,
			       cairn_pd_user(ibsrq->pd));
	if (err)
		return err;
	uctx = rdma_udata_to_drv_context(udata, struct cairn_ucontext, ibuc);
	cairn_async_init(&srq->async, srq_deliver, ibsrq->uobject);
	mutex_init(&srq->modify_lock);
	srq->rq.shared = true;
	err = cairn_rq_create(&dev->nic, &srq->rq, init->attr.max_wr,
			      init->attr.max_sge, uctx);
	if (err)
		goto err_limit;
	if (uctx) {
		cairn_queue_describe(&srq->rq.queue, &resp.rq);
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	}
	if (!err && ibsrq->srq_type == IB_SRQT_XRC)
		err = cairn_xrc_add_srq(srq);
	if (err)
		goto err_rq;
	init->attr.max_wr = srq->rq.max_wr;
	init->attr.max_sge = srq->rq.max_sge;
	return 0;

err_rq:
	cairn_queue_free(&srq->rq.queue);
err_limit:
	cairn_share_give(&dev->nic, CAIRN_SHARE_SRQ, cairn_pd_user(ibsrq->pd));
	return err;
}

/* Get the new ring, if the size is to change. */
static int srq_next_ring(struct cairn_srq *srq, const struct ib_srq_attr *attr,
			 int mask, struct cairn_next_ring **next)
{
	struct cairn_queue *queue = &srq->rq.queue;

	lockdep_assert_held(&srq->modify_lock);
	*next = NULL;
	if (!(mask & IB_SRQ_MAX_WR))
		return 0;
	if (!attr->max_wr || attr->max_wr > CAIRN_MAX_SRQ_WR)
		return -EINVAL;
	if (srq->rq.is_user) {
		*next = cairn_next_ring_take(queue);
		return *next && (*next)->max_wr >= attr->max_wr ? 0 : -EINVAL;
	}
	*next = cairn_next_ring_alloc(queue, CAIRN_QUEUE_RECV, attr->max_wr,
				      queue->stride);
	return *next ? 0 : -ENOMEM;
}

/* Change size and limit, or on error nothing. */
static int srq_change(struct cairn_srq *srq, const struct ib_srq_attr *attr,
		      int mask, struct cairn_next_ring *next)
{
	struct cairn_rq *rq = &srq->rq;
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit :
					  READ_ONCE(rq->limit);
	int tries = CAIRN_NEXT_RING_TRIES;
	int err = 0;

	lockdep_assert_held(&srq->modify_lock);
	if (limit > (next ? next->max_wr : rq->max_wr))
		return -EINVAL;
	do {
		if (next)
			err = cairn_next_ring_move(&rq->queue, CAIRN_QUEUE_RECV,
						   next, U32_MAX);
		if (err)
			return err;
		spin_lock_bh(&rq->lock);
		err = next ? cairn_rq_resize(rq, next) : 0;
		if (!err && mask & IB_SRQ_LIMIT)
			cairn_rq_set_limit(rq, limit);
		spin_unlock_bh(&rq->lock);
	} while (err == -EAGAIN && --tries);
	return err == -EAGAIN ? -EBUSY : err;
}

/**
 * srq_modify() - ib_device_ops.modify_srq
 * @ibsrq: the queue
 * @attr: srq_limit; max_wr, for which a process has prepared a ring
 * @mask: IB_SRQ_LIMIT, IB_SRQ_MAX_WR
 * @udata: no tail
 *
 * An armed limit stays armed and must not exceed the new size.
 *
 * Context: process.
 * Return: 0; -EINVAL: value, no prepared ring, more receives are posted than fit, or
 * the queue has failed; -EBUSY: receives are posted faster than they are copied;
 * -ENOMEM. On error nothing has changed.
 */
static int srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct cairn_srq *srq = to_cairn_srq(ibsrq);
	struct cairn_next_ring *next;
	int err;

	err = cairn_udata_check(udata, 0);
	if (err)
		return err;
	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EINVAL;
	mutex_lock(&srq->modify_lock);
	err = srq_next_ring(srq, attr, mask, &next);
	if (!err && mask)
		err = srq_change(srq, attr, mask, next);
	/* This is the old ring, or on error the new one. */
	cairn_next_ring_free(next);
	mutex_unlock(&srq->modify_lock);
	return err;
}

static int srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	const struct cairn_rq *rq = &to_cairn_srq(ibsrq)->rq;

	attr->max_wr = rq->max_wr;
	attr->max_sge = rq->max_sge;
	attr->srq_limit = READ_ONCE(rq->limit);
	return 0;
}

static int srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct cairn_srq *srq = to_cairn_srq(ibsrq);

	if (ibsrq->srq_type == IB_SRQT_XRC)
		cairn_xrc_remove_srq(srq);
	cairn_async_cancel(&srq->async);
	cairn_queue_free(&srq->rq.queue);
	mutex_destroy(&srq->modify_lock);
	cairn_share_give(&to_cairn_dev(ibsrq->device)->nic, CAIRN_SHARE_SRQ,
			 cairn_pd_user(ibsrq->pd));
	return 0;
}

const struct ib_device_ops cairn_srq_ops = {
	.create_srq = srq_create,
	.modify_srq = srq_modify,
	.query_srq = srq_query,
	.destroy_srq = srq_destroy,
	INIT_RDMA_OBJ_SIZE(ib_srq, cairn_srq, ibsrq),
};
