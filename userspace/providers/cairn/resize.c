// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "method.h"
#include "qp.h"
#include "resize.h"

/* max_wr 0 drops the ring that was prepared. */
static int resize_prepare(const struct cairn_ring_owner *owner, uint32_t max_wr,
			  struct cairn_prepare_ring_resp *resp)
{
	struct cairn_prepare_ring req = {
		.max_wr = max_wr,
		.which = owner->which,
	};
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_attr(CAIRN_ATTR_RING_REQUEST, &req, sizeof(req)),
		cairn_method_attr(CAIRN_ATTR_RING_DESC, resp, sizeof(*resp)),
		cairn_method_object_attr(owner->attr, owner->handle),
	};

	return cairn_method_attrs(owner->ctx, CAIRN_OBJECT_DEVICE,
				  CAIRN_METHOD_PREPARE_RING, attrs, 3);
}

static void resize_drop(const struct cairn_ring_owner *owner)
{
	struct cairn_prepare_ring_resp resp = {};

	resize_prepare(owner, 0, &resp);
}

/* The device rounds up to a power of two. */
static bool resize_same_size(uint32_t max_wr, uint32_t now)
{
	return max_wr <= now && max_wr > now / 2;
}

int cairn_resize_begin(struct cairn_resize *resize, struct cairn_queue *queue,
		       const struct cairn_ring_owner *owner, uint32_t max_wr)
{
	struct cairn_prepare_ring_resp resp = {};
	int prot = PROT_READ;
	int err;

	memset(resize, 0, sizeof(*resize));
	if (!max_wr || resize_same_size(max_wr, queue->max_wr))
		return 0;
	err = resize_prepare(owner, max_wr, &resp);
	if (err)
		return err;
	if (owner->attr != CAIRN_ATTR_RING_CQ)
		prot |= PROT_WRITE;
	if (!cairn_queue_fits(queue, &resp.ring)) {
		resize_drop(owner);
		return EPROTO;
	}
	resize->units = cairn_map(to_cctx(owner->ctx), resp.ring.ring_offset,
				  resp.ring.ring_bytes, prot);
	if (!resize->units) {
		err = errno;
		resize_drop(owner);
		return err;
	}
	resize->owner = *owner;
	resize->queue = queue;
	resize->bytes = resp.ring.ring_bytes;
	resize->depth = resp.ring.depth;
	resize->max_wr = resp.max_wr;
	return 0;
}

void cairn_resize_commit(struct cairn_resize *resize)
{
	struct cairn_queue *queue = resize->queue;
	struct cairn_resize old = *resize;

	if (!cairn_resize_wanted(resize))
		return;
	resize->units = queue->ring.units;
	resize->bytes = queue->bytes;
	queue->ring.units = old.units;
	queue->ring.depth = old.depth;
	queue->bytes = old.bytes;
	queue->max_wr = old.max_wr;
	/* The new ring has only the outstanding requests. */
	if (!queue->ring.stride)
		cairn_queue_count(queue);
}

void cairn_resize_end(struct cairn_resize *resize, int err)
{
	if (!cairn_resize_wanted(resize))
		return;
	if (err)
		resize_drop(&resize->owner);
	cairn_unmap(resize->units, resize->bytes);
}

static int resize_check_cap(const struct cairn_qp *qp,
			    const struct ibv_qp_cap *cap)
{
	if (cap->max_send_sge > qp->max_send_sge ||
	    cap->max_recv_sge > qp->rq.max_sge ||
	    cap->max_inline_data > qp->max_inline)
		return EINVAL;
	return 0;
}

static void resize_fill_cap(const struct cairn_qp *qp, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_recv_wr = qp->rq.queue.max_wr;
	cap->max_send_sge = qp->max_send_sge;
	cap->max_recv_sge = qp->rq.max_sge;
	cap->max_inline_data = qp->max_inline;
}

/* ibv_modify_qp() cannot carry the sizes. The prepared rings have them. */
static int resize_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			    int mask, struct cairn_resize *sq,
			    struct cairn_resize *rq)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	int err;

	if (!cairn_resize_wanted(sq) && !cairn_resize_wanted(rq))
		mask &= ~IBV_QP_CAP;
	cairn_queue_lock(&qp->sq);
	cairn_queue_lock(&qp->rq.queue);
	err = cairn_qp_modify_cmd(ibqp, attr, mask);
	if (!err) {
		cairn_resize_commit(sq);
		cairn_resize_commit(rq);
	}
	cairn_queue_unlock(&qp->rq.queue);
	cairn_queue_unlock(&qp->sq);
	return err;
}

int cairn_resize_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct cairn_context *ctx = to_cctx(ibqp->context);
	struct cairn_qp *qp = to_cqp(ibqp);
	struct cairn_ring_owner owner = {
		.ctx = ibqp->context,
		.attr = CAIRN_ATTR_RING_QP,
		.which = CAIRN_RING_SEND,
		.handle = ibqp->handle,
	};
	struct cairn_resize sq = {}, rq = {};
	int err = resize_check_cap(qp, &attr->cap);

	if (err)
		return err;
	pthread_mutex_lock(&ctx->resize_lock);
	err = cairn_resize_begin(&sq, &qp->sq, &owner, attr->cap.max_send_wr);
	owner.which = CAIRN_RING_RECV;
	if (!err && qp->rq.queue.ring.units)
		err = cairn_resize_begin(&rq, &qp->rq.queue, &owner,
					 attr->cap.max_recv_wr);
	if (!err)
		err = resize_modify_qp(ibqp, attr, mask, &sq, &rq);
	cairn_resize_end(&rq, err);
	cairn_resize_end(&sq, err);
	if (!err)
		resize_fill_cap(qp, &attr->cap);
	pthread_mutex_unlock(&ctx->resize_lock);
	return err;
}
