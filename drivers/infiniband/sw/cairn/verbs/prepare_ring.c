// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The method by which a process prepares a ring of another size. */
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <rdma/uverbs_ioctl.h>
#include "queue/next_ring.h"
#include "verbs/limits.h"
#include "verbs/prepare_ring.h"
#include "verbs/verbs.h"
#include "verbs/xrc.h"

#define UVERBS_MODULE_NAME cairn_next_ring
#include <rdma/uverbs_named_ioctl.h>

/* The limits of query_device are possible even with the largest WQEs. */
static_assert(CAIRN_MAX_QP_WR * roundup_pow_of_two(CAIRN_MAX_WQE_UNITS) <=
	      CAIRN_QUEUE_MAX_UNITS);
static_assert(CAIRN_MAX_SRQ_WR * roundup_pow_of_two(CAIRN_MAX_WQE_UNITS) <=
	      CAIRN_QUEUE_MAX_UNITS);
static_assert(CAIRN_MAX_CQE <= CAIRN_QUEUE_MAX_UNITS);

/* The ring that a call prepares, and the queue that it is for. */
struct prepare {
	struct mutex *lock;		/* of the owner of @queue */
	struct cairn_queue *queue;
	enum cairn_queue_kind kind;
	u32 max_wr;			/* 0: drop the ring that was prepared before */
	u32 units;			/* in a WQE */
	struct cairn_next_ring *next;
};

static int prepare_alloc(struct prepare *prepare,
			 struct cairn_prepare_ring_resp *resp)
{
	struct cairn_queue described;

	lockdep_assert_held(prepare->lock);
	cairn_next_ring_free(cairn_next_ring_take(prepare->queue));
	if (!prepare->max_wr)
		return 0;
	prepare->next = cairn_next_ring_alloc(prepare->queue, prepare->kind,
					      prepare->max_wr, prepare->units);
	if (!prepare->next)
		return -ENOMEM;
	described = *prepare->queue;
	described.entry = prepare->next->ring.entry;
	described.depth = prepare->next->depth;
	cairn_queue_describe(&described, &resp->ring);
	resp->max_wr = prepare->next->max_wr;
	return 0;
}

/* The reply has been written, so a resize may take the ring now. */
static void prepare_publish(struct prepare *prepare)
{
	mutex_lock(prepare->lock);
	cairn_next_ring_free(cairn_next_ring_take(prepare->queue));
	prepare->queue->next = prepare->next;
	mutex_unlock(prepare->lock);
}

static int prepare_for_qp(struct ib_qp *ibqp, u32 which,
			  struct prepare *prepare)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);

	/* The rings of an XRC target do not belong to a process. */
	if (prepare->max_wr > CAIRN_MAX_QP_WR || !qp->uctx)
		return -EINVAL;
	prepare->lock = &qp->cold->modify_lock;
	if (which == CAIRN_RING_SEND) {
		prepare->queue = &qp->sq;
		prepare->kind = CAIRN_QUEUE_SEND;
		prepare->units = cairn_next_ring_send_units(&qp->cold->cap);
		return 0;
	}
	if (which != CAIRN_RING_RECV || qp->qpc.has_srq)
		return -EINVAL;
	prepare->queue = &qp->rq.queue;
	prepare->kind = CAIRN_QUEUE_RECV;
	prepare->units = qp->rq.queue.stride;
	return 0;
}

static int prepare_for_srq(struct ib_srq *ibsrq, u32 which,
			   struct prepare *prepare)
{
	struct cairn_srq *srq = to_cairn_srq(ibsrq);

	if (prepare->max_wr > CAIRN_MAX_SRQ_WR || which)
		return -EINVAL;
	prepare->lock = &srq->modify_lock;
	prepare->queue = &srq->rq.queue;
	prepare->kind = CAIRN_QUEUE_RECV;
	prepare->units = srq->rq.queue.stride;
	return 0;
}

static int prepare_for_cq(struct ib_cq *ibcq, u32 which,
			  struct prepare *prepare)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);

	if (prepare->max_wr > CAIRN_MAX_CQE || which)
		return -EINVAL;
	prepare->lock = &cq->resize_lock;
	prepare->queue = &cq->queue;
	prepare->kind = CAIRN_QUEUE_COMP;
	prepare->units = 1;
	return 0;
}

/* Get the one object in the call's attributes. ib_core keeps it from being destroyed. */
static int prepare_object(struct uverbs_attr_bundle *attrs, u32 which,
			  struct prepare *prepare)
{
	bool qp = uverbs_attr_is_valid(attrs, CAIRN_ATTR_RING_QP);
	bool srq = uverbs_attr_is_valid(attrs, CAIRN_ATTR_RING_SRQ);
	bool cq = uverbs_attr_is_valid(attrs, CAIRN_ATTR_RING_CQ);

	if (qp + srq + cq != 1)
		return -EINVAL;
	if (qp)
		return prepare_for_qp(cairn_xrc_attr_qp(attrs, CAIRN_ATTR_RING_QP),
				      which, prepare);
	if (srq)
		return prepare_for_srq(uverbs_attr_get_obj(attrs,
							   CAIRN_ATTR_RING_SRQ),
				       which, prepare);
	return prepare_for_cq(uverbs_attr_get_obj(attrs, CAIRN_ATTR_RING_CQ),
			      which, prepare);
}

/* Return: 0; -EINVAL: size or object; -ENOENT: no such object; -ENOMEM; -EFAULT: the
 * reply could not be written, and nothing is prepared.
 */
static int UVERBS_HANDLER(CAIRN_METHOD_PREPARE_RING)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_prepare_ring_resp resp = {};
	struct prepare prepare = {};
	struct cairn_prepare_ring req;
	int err;

	err = uverbs_copy_from(&req, attrs, CAIRN_ATTR_RING_REQUEST);
	if (err)
		return err;
	prepare.max_wr = req.max_wr;
	err = prepare_object(attrs, req.which, &prepare);
	if (err)
		return err;
	mutex_lock(prepare.lock);
	err = prepare_alloc(&prepare, &resp);
	mutex_unlock(prepare.lock);
	if (err)
		return err;
	err = uverbs_copy_to(attrs, CAIRN_ATTR_RING_DESC, &resp, sizeof(resp));
	if (err)
		cairn_next_ring_free(prepare.next);
	else
		prepare_publish(&prepare);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_PREPARE_RING,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_RING_REQUEST,
					       UVERBS_ATTR_TYPE(struct cairn_prepare_ring),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_RING_DESC,
						UVERBS_ATTR_TYPE(struct cairn_prepare_ring_resp),
						UA_MANDATORY),
			    UVERBS_ATTR_IDR(CAIRN_ATTR_RING_QP,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_OPTIONAL),
			    UVERBS_ATTR_IDR(CAIRN_ATTR_RING_SRQ,
					    UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_OPTIONAL),
			    UVERBS_ATTR_IDR(CAIRN_ATTR_RING_CQ,
					    UVERBS_OBJECT_CQ,
					    UVERBS_ACCESS_READ, UA_OPTIONAL));

ADD_UVERBS_METHODS(prepare_ring_methods, CAIRN_OBJECT_DEVICE,
		   &UVERBS_METHOD(CAIRN_METHOD_PREPARE_RING));

const struct uapi_definition cairn_prepare_ring_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_DEVICE, &prepare_ring_methods),
	{},
};
