// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "qp.h"
#include "resize.h"

#define NUM_ATTRS	3
#define MSG_SIZE							\
	(sizeof(struct ib_uverbs_ioctl_hdr) +				\
	 NUM_ATTRS * sizeof(struct ib_uverbs_attr))

union prepare_msg {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t bytes[MSG_SIZE];
};

static void msg_build(union prepare_msg *msg,
		      const struct cairn_ring_owner *owner, uint32_t max_wr,
		      struct cairn_prepare_ring_resp *resp)
{
	struct cairn_prepare_ring req = {
		.max_wr = max_wr,
		.which = owner->which,
	};
	struct ib_uverbs_attr *attr = msg->hdr.attrs;

	msg->hdr.length = MSG_SIZE;
	msg->hdr.object_id = CAIRN_OBJECT_DEVICE;
	msg->hdr.method_id = CAIRN_METHOD_PREPARE_RING;
	msg->hdr.num_attrs = NUM_ATTRS;
	msg->hdr.driver_id = CAIRN_DRIVER_ID;

	attr->attr_id = CAIRN_ATTR_RING_REQUEST;
	attr->len = sizeof(req);
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	_Static_assert(sizeof(req) == sizeof(attr->data), "inlined");
	memcpy(&attr->data, &req, sizeof(req));
	attr++;
	attr->attr_id = CAIRN_ATTR_RING_DESC;
	attr->len = sizeof(*resp);
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = (uintptr_t)resp;
	attr++;
	attr->attr_id = owner->attr;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data_s64 = owner->handle;
}

static int prepare(const struct cairn_ring_owner *owner, uint32_t max_wr,
		   struct cairn_prepare_ring_resp *resp)
{
	union prepare_msg msg = {};
	int saved = errno;
	int err;

	msg_build(&msg, owner, max_wr, resp);
	do {
		err = ioctl(owner->ctx->cmd_fd, RDMA_VERBS_IOCTL, &msg) ?
		      errno : 0;
	} while (err == EINTR);
	errno = saved;
	return err;
}

static void drop(const struct cairn_ring_owner *owner)
{
	struct cairn_prepare_ring_resp resp = {};

	prepare(owner, 0, &resp);
}

/* The device rounds up to a power of two. */
static bool same_size(uint32_t max_wr, uint32_t now)
{
	return max_wr <= now && max_wr > now / 2;
}

int cairn_resize_begin(struct cairn_resize *r, struct cairn_queue *queue,
		       const struct cairn_ring_owner *owner, uint32_t max_wr)
{
	struct cairn_prepare_ring_resp resp = {};
	int prot = PROT_READ;
	int err;

	memset(r, 0, sizeof(*r));
	if (!max_wr || same_size(max_wr, queue->max_wr))
		return 0;
	err = prepare(owner, max_wr, &resp);
	if (err)
		return err;
	if (owner->attr != CAIRN_ATTR_RING_CQ)
		prot |= PROT_WRITE;
	if (!cairn_queue_fits(queue, &resp.ring)) {
		drop(owner);
		return EPROTO;
	}
	r->units = cairn_map(to_cctx(owner->ctx), resp.ring.ring_offset,
			     resp.ring.ring_bytes, prot);
	if (!r->units) {
		err = errno;
		drop(owner);
		return err;
	}
	r->owner = *owner;
	r->queue = queue;
	r->bytes = resp.ring.ring_bytes;
	r->depth = resp.ring.depth;
	r->max_wr = resp.max_wr;
	return 0;
}

void cairn_resize_commit(struct cairn_resize *r)
{
	struct cairn_queue *queue = r->queue;
	struct cairn_resize old = *r;

	if (!cairn_resize_wanted(r))
		return;
	r->units = queue->ring.units;
	r->bytes = queue->bytes;
	queue->ring.units = old.units;
	queue->ring.depth = old.depth;
	queue->bytes = old.bytes;
	queue->max_wr = old.max_wr;
}

void cairn_resize_end(struct cairn_resize *r, int err)
{
	if (!cairn_resize_wanted(r))
		return;
	if (err)
		drop(&r->owner);
	cairn_unmap(to_cctx(r->owner.ctx), r->units, r->bytes);
}

static int cap_check(const struct cairn_qp *qp, const struct ibv_qp_cap *cap)
{
	if (cap->max_send_sge > qp->max_send_sge ||
	    cap->max_recv_sge > qp->rq.max_sge ||
	    cap->max_inline_data > qp->max_inline)
		return EINVAL;
	return 0;
}

static void cap_fill(const struct cairn_qp *qp, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_recv_wr = qp->rq.queue.max_wr;
	cap->max_send_sge = qp->max_send_sge;
	cap->max_recv_sge = qp->rq.max_sge;
	cap->max_inline_data = qp->max_inline;
}

/* What modify_qp() carries cannot name the size; it says that it is time. */
static int change_over(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		       struct cairn_resize *sq, struct cairn_resize *rq)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	union verbs_cmd_buf cmd = {};
	int err;

	if (!cairn_resize_wanted(sq) && !cairn_resize_wanted(rq))
		mask &= ~IBV_QP_CAP;
	pthread_spin_lock(&qp->sq.lock);
	pthread_spin_lock(&qp->rq.queue.lock);
	err = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd,
				VERBS_CMD_SIZE(struct ib_uverbs_modify_qp));
	if (!err) {
		cairn_resize_commit(sq);
		cairn_resize_commit(rq);
	}
	pthread_spin_unlock(&qp->rq.queue.lock);
	pthread_spin_unlock(&qp->sq.lock);
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
	int err = cap_check(qp, &attr->cap);

	if (err)
		return err;
	pthread_mutex_lock(&ctx->resize_lock);
	err = cairn_resize_begin(&sq, &qp->sq, &owner, attr->cap.max_send_wr);
	owner.which = CAIRN_RING_RECV;
	if (!err && qp->rq.queue.ring.units)
		err = cairn_resize_begin(&rq, &qp->rq.queue, &owner,
					 attr->cap.max_recv_wr);
	if (!err)
		err = change_over(ibqp, attr, mask, &sq, &rq);
	cairn_resize_end(&rq, err);
	cairn_resize_end(&sq, err);
	if (!err)
		cap_fill(qp, &attr->cap);
	pthread_mutex_unlock(&ctx->resize_lock);
	return err;
}
