// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings of another size: allocation, moving, and the method of the process. */
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/resize.h"

#define UVERBS_MODULE_NAME cairn_resize
#include <rdma/uverbs_named_ioctl.h>

/* What query_device promises can be had with the largest WQEs. */
static_assert(CAIRN_MAX_QP_WR * roundup_pow_of_two(CAIRN_MAX_WQE_UNITS) <=
	      CAIRN_QUEUE_MAX_UNITS);
static_assert(CAIRN_MAX_SRQ_WR * roundup_pow_of_two(CAIRN_MAX_WQE_UNITS) <=
	      CAIRN_QUEUE_MAX_UNITS);
static_assert(CAIRN_MAX_CQE <= CAIRN_QUEUE_MAX_UNITS);

struct cairn_resize *cairn_resize_alloc(struct cairn_queue *q,
					enum cairn_queue_kind kind, u32 max_wr,
					u32 units)
{
	struct cairn_resize *n = kzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);
	struct cairn_ucontext *uc = NULL;

	if (!n)
		return NULL;
	if (q->entry)
		uc = to_cairn_ucontext(q->entry->ucontext);
	n->max_wr = roundup_pow_of_two(max(max_wr, 1U));
	n->depth = roundup_pow_of_two(n->max_wr * units);
	if (kind == CAIRN_QUEUE_SEND) {
		n->swr = kvcalloc(n->max_wr, sizeof(*n->swr),
				  GFP_KERNEL_ACCOUNT);
		if (!n->swr)
			goto err_free;
	}
	if (cairn_ring_alloc(&n->ring, uc, n->depth, kind != CAIRN_QUEUE_COMP))
		goto err_swr;
	return n;

err_swr:
	kvfree(n->swr);
err_free:
	kfree(n);
	return NULL;
}

void cairn_resize_free(struct cairn_resize *n)
{
	if (!n)
		return;
	cairn_ring_free(&n->ring);
	kvfree(n->swr);
	kfree(n);
}

struct cairn_resize *cairn_resize_take(struct cairn_queue *q)
{
	struct cairn_resize *n = q->next;

	q->next = NULL;
	return n;
}

/* Outstanding: from the consumer's pointer to the producer's. */
static void live(const struct cairn_queue *q, enum cairn_queue_kind kind,
		 u32 *first, u32 *end)
{
	/* Pairs with cairn_queue_publish(): entries before it are written. */
	u32 dev = smp_load_acquire(&q->dev->index);
	u32 host = cairn_queue_host_index(q);

	*first = kind == CAIRN_QUEUE_COMP ? host : dev;
	*end = kind == CAIRN_QUEUE_COMP ? dev : host;
}

/* Units from @idx on that lie in one piece in a ring of @depth. */
static u32 in_one_piece(u32 idx, u32 depth)
{
	return depth - (idx & (depth - 1));
}

int cairn_resize_move(const struct cairn_queue *q, enum cairn_queue_kind kind,
		      struct cairn_resize *n, u32 limit)
{
	u32 first, end;

	live(q, kind, &first, &end);
	if (end - first > min(q->depth, n->depth))
		return -EINVAL;
	if (!n->begun || end - n->moved > end - first)
		n->moved = first;
	n->begun = true;
	if (end - n->moved > limit)
		return -EAGAIN;
	while (n->moved != end) {
		u32 units = min3(end - n->moved,
				 in_one_piece(n->moved, q->depth),
				 in_one_piece(n->moved, n->depth));

		units = min_t(u32, units, CAIRN_RESIZE_LOCKED);
		memcpy(n->ring.mem + (size_t)(n->moved & (n->depth - 1)) *
		       CAIRN_UNIT_SIZE, cairn_queue_unit(q, n->moved),
		       units * CAIRN_UNIT_SIZE);
		n->moved += units;
		if (limit == U32_MAX)
			cond_resched();
	}
	return 0;
}

/* The owner's mutex held. @max_wr 0 drops what was prepared. */
static int prepare(struct cairn_queue *q, enum cairn_queue_kind kind,
		   u32 max_wr, u32 units, struct cairn_prepare_ring_resp *resp)
{
	struct cairn_queue next = *q;
	struct cairn_resize *n;

	cairn_resize_free(cairn_resize_take(q));
	if (!max_wr)
		return 0;
	n = cairn_resize_alloc(q, kind, max_wr, units);
	if (!n)
		return -ENOMEM;
	next.entry = n->ring.entry;
	next.depth = n->depth;
	cairn_queue_describe(&next, &resp->ring);
	resp->max_wr = n->max_wr;
	q->next = n;
	return 0;
}

static int prepare_qp(struct ib_qp *ibqp, const struct cairn_prepare_ring *req,
		      struct cairn_prepare_ring_resp *resp)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err = -EINVAL;

	if (req->max_wr > CAIRN_MAX_QP_WR)
		return -EINVAL;
	mutex_lock(&qp->modify_lock);
	if (req->which == CAIRN_RING_SEND)
		err = prepare(&qp->sq, CAIRN_QUEUE_SEND, req->max_wr,
			      cairn_send_units(&qp->cap), resp);
	else if (req->which == CAIRN_RING_RECV && !ibqp->srq)
		err = prepare(&qp->rq.queue, CAIRN_QUEUE_RECV, req->max_wr,
			      qp->rq.queue.stride, resp);
	mutex_unlock(&qp->modify_lock);
	return err;
}

static int prepare_srq(struct ib_srq *ibsrq,
		       const struct cairn_prepare_ring *req,
		       struct cairn_prepare_ring_resp *resp)
{
	struct cairn_srq *srq = to_cairn_srq(ibsrq);
	int err;

	if (req->max_wr > CAIRN_MAX_SRQ_WR || req->which)
		return -EINVAL;
	mutex_lock(&srq->modify_lock);
	err = prepare(&srq->rq.queue, CAIRN_QUEUE_RECV, req->max_wr,
		      srq->rq.queue.stride, resp);
	mutex_unlock(&srq->modify_lock);
	return err;
}

static int prepare_cq(struct ib_cq *ibcq, const struct cairn_prepare_ring *req,
		      struct cairn_prepare_ring_resp *resp)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	int err;

	if (req->max_wr > CAIRN_MAX_CQE || req->which)
		return -EINVAL;
	mutex_lock(&cq->resize_lock);
	err = prepare(&cq->queue, CAIRN_QUEUE_COMP, req->max_wr, 1, resp);
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
		return prepare_qp(uverbs_attr_get_obj(attrs,
						      CAIRN_ATTR_RING_QP),
				  req, resp);
	if (srq)
		return prepare_srq(uverbs_attr_get_obj(attrs,
						       CAIRN_ATTR_RING_SRQ),
				   req, resp);
	return prepare_cq(uverbs_attr_get_obj(attrs, CAIRN_ATTR_RING_CQ), req,
			  resp);
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

ADD_UVERBS_METHODS(resize_methods, CAIRN_OBJECT_DEVICE,
		   &UVERBS_METHOD(CAIRN_METHOD_PREPARE_RING));

const struct uapi_definition cairn_resize_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_DEVICE, &resize_methods),
	{},
};
