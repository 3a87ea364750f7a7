// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The method by which a process asks for a ring of another size. */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>
#include "queue/next_ring.h"
#include "verbs/limits.h"
#include "verbs/prepare_ring.h"
#include "verbs/verbs.h"
#include "verbs/xrc.h"

#define UVERBS_MODULE_NAME cairn_next_ring
#include <rdma/uverbs_named_ioctl.h>

/* What query_device promises can be had with the largest WQEs. */
static_assert(CAIRN_MAX_QP_WR * roundup_pow_of_two(CAIRN_MAX_WQE_UNITS) <=
	      CAIRN_QUEUE_MAX_UNITS);
static_assert(CAIRN_MAX_SRQ_WR * roundup_pow_of_two(CAIRN_MAX_WQE_UNITS) <=
	      CAIRN_QUEUE_MAX_UNITS);
static_assert(CAIRN_MAX_CQE <= CAIRN_QUEUE_MAX_UNITS);

/* The owner's mutex held. @max_wr 0 drops what was prepared. */
static int prepare_next(struct cairn_queue *queue, enum cairn_queue_kind kind,
			u32 max_wr, u32 units,
			struct cairn_prepare_ring_resp *resp)
{
	struct cairn_queue described = *queue;
	struct cairn_next_ring *next;

	cairn_next_ring_free(cairn_next_ring_take(queue));
	if (!max_wr)
		return 0;
	next = cairn_next_ring_alloc(queue, kind, max_wr, units);
	if (!next)
		return -ENOMEM;
	described.entry = next->ring.entry;
	described.depth = next->depth;
	cairn_queue_describe(&described, &resp->ring);
	resp->max_wr = next->max_wr;
	queue->next = next;
	return 0;
}

static int prepare_for_qp(struct ib_qp *ibqp,
			  const struct cairn_prepare_ring *req,
			  struct cairn_prepare_ring_resp *resp)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err = -EINVAL;

	/* The rings of an XRC target are none of a process. */
	if (req->max_wr > CAIRN_MAX_QP_WR || !qp->uctx)
		return -EINVAL;
	mutex_lock(&qp->cold->modify_lock);
	if (req->which == CAIRN_RING_SEND)
		err = prepare_next(&qp->sq, CAIRN_QUEUE_SEND, req->max_wr,
				   cairn_send_units(&qp->cold->cap), resp);
	else if (req->which == CAIRN_RING_RECV && !qp->qpc.has_srq)
		err = prepare_next(&qp->rq.queue, CAIRN_QUEUE_RECV, req->max_wr,
				   qp->rq.queue.stride, resp);
	mutex_unlock(&qp->cold->modify_lock);
	return err;
}

static int prepare_for_srq(struct ib_srq *ibsrq,
			   const struct cairn_prepare_ring *req,
			   struct cairn_prepare_ring_resp *resp)
{
	struct cairn_srq *srq = to_cairn_srq(ibsrq);
	int err;

	if (req->max_wr > CAIRN_MAX_SRQ_WR || req->which)
		return -EINVAL;
	mutex_lock(&srq->modify_lock);
	err = prepare_next(&srq->rq.queue, CAIRN_QUEUE_RECV, req->max_wr,
			   srq->rq.queue.stride, resp);
	mutex_unlock(&srq->modify_lock);
	return err;
}

static int prepare_for_cq(struct ib_cq *ibcq,
			  const struct cairn_prepare_ring *req,
			  struct cairn_prepare_ring_resp *resp)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	int err;

	if (req->max_wr > CAIRN_MAX_CQE || req->which)
		return -EINVAL;
	mutex_lock(&cq->resize_lock);
	err = prepare_next(&cq->queue, CAIRN_QUEUE_COMP, req->max_wr, 1, resp);
	mutex_unlock(&cq->resize_lock);
	return err;
}

/* The one object that is named; ib_core keeps it from being destroyed. */
static int prepare_object(struct uverbs_attr_bundle *attrs,
			  const struct cairn_prepare_ring *req,
			  struct cairn_prepare_ring_resp *resp)
{
	bool qp = uverbs_attr_is_valid(attrs, CAIRN_ATTR_RING_QP);
	bool srq = uverbs_attr_is_valid(attrs, CAIRN_ATTR_RING_SRQ);
	bool cq = uverbs_attr_is_valid(attrs, CAIRN_ATTR_RING_CQ);

	if (qp + srq + cq != 1)
		return -EINVAL;
	if (qp)
		return prepare_for_qp(cairn_attr_qp(attrs, CAIRN_ATTR_RING_QP),
				      req, resp);
	if (srq)
		return prepare_for_srq(uverbs_attr_get_obj(attrs,
							   CAIRN_ATTR_RING_SRQ),
				       req, resp);
	return prepare_for_cq(uverbs_attr_get_obj(attrs, CAIRN_ATTR_RING_CQ),
			      req, resp);
}

/* Errors: -EINVAL (size, object), -ENOMEM, -ENOENT no such object. */
static int UVERBS_HANDLER(CAIRN_METHOD_PREPARE_RING)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_prepare_ring_resp resp = {};
	struct cairn_prepare_ring req;
	int err;

	err = uverbs_copy_from(&req, attrs, CAIRN_ATTR_RING_REQUEST);
	if (err)
		return err;
	err = prepare_object(attrs, &req, &resp);
	if (err)
		return err;
	return uverbs_copy_to(attrs, CAIRN_ATTR_RING_DESC, &resp, sizeof(resp));
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
