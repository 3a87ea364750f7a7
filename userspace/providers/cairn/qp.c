// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check_work.h"
#include "cq.h"
#include "doorbell.h"
#include "inline.h"
#include "pd.h"
#include "qp.h"
#include "qpex.h"
#include "resize.h"
#include "wqe.h"

VERBS_RESP(cairn_qp_resp, struct ib_uverbs_create_qp_resp,
	   struct cairn_create_qp_resp);

#define QP_ATTR_MASK							\
	((uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |	\
		    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))

/* ibv_qp_init_attr_ex begins with an ibv_qp_init_attr. */
_Static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
	       offsetof(struct ibv_qp_init_attr, sq_sig_all), "common part");

struct cairn_qp *cairn_qp_alloc(enum ibv_qp_type type, bool signal_all)
{
	struct cairn_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	cairn_queue_init(&qp->sq);
	cairn_queue_init(&qp->rq.queue);
	qp->type_bit = cairn_wqe_qp_type_bit(type);
	qp->signal_all = signal_all ? CAIRN_WQE_SIGNALED : 0;
	return qp;
}

void cairn_qp_free(struct cairn_qp *qp)
{
	bool checked = cairn_queue_checked(&qp->sq);

	free(qp->batch.bind);
	qp->batch.bind = NULL;
	free(qp->batch.late);
	qp->batch.late = NULL;
	cairn_queue_fini(&qp->rq.queue);
	cairn_queue_fini(&qp->sq);
	cairn_pd_leave(qp->parent);
	qp->parent = NULL;
	if (!checked || !cairn_work_bury(qp))
		free(qp);
}

/* Maps all queues or none. */
static int qp_map(struct cairn_context *ctx, struct cairn_qp *qp,
		  const struct cairn_create_qp_resp *resp)
{
	int prot = PROT_READ | PROT_WRITE;
	int err;

	err = cairn_queue_map(ctx, &qp->sq, &resp->sq, prot);
	if (err)
		return err;
	err = cairn_queue_map(ctx, &qp->rq.queue, &resp->rq, prot);
	if (err)
		goto err_sq;
	err = cairn_ready_map(ctx, &qp->ready, &resp->sq);
	if (err)
		goto err_rq;
	return 0;

err_rq:
	cairn_queue_retire(ctx, &qp->rq.queue);
	cairn_queue_unmap(ctx, &qp->rq.queue);
err_sq:
	cairn_queue_retire(ctx, &qp->sq);
	cairn_queue_unmap(ctx, &qp->sq);
	return err;
}

static int qp_open(struct ibv_context *ibctx, struct cairn_qp *qp,
		   struct ibv_qp_init_attr_ex *attr)
{
	struct cairn_context *ctx = to_cctx(ibctx);
	struct cairn_qp_resp resp = {};
	uint32_t asked = attr->cap.max_inline_data;
	union verbs_cmd_buf cmd = {};
	int err;

	err = ibv_cmd_create_qp_ex(ibctx, &qp->vqp, attr, &cmd,
				   VERBS_CMD_SIZE(struct ib_uverbs_create_qp),
				   &resp, sizeof(resp));
	if (err)
		return err;
	err = qp_map(ctx, qp, &resp.drv);
	if (err) {
		ibv_cmd_destroy_qp(&qp->vqp.qp);
		return err;
	}
	qp->max_send_sge = attr->cap.max_send_sge;
	qp->max_inline = attr->cap.max_inline_data;
	if (qp->max_inline > CAIRN_MAX_INLINE)
		qp->max_inline = CAIRN_MAX_INLINE;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_PD) {
		qp->pd = cairn_pd_base(attr->pd);
		qp->parent = cairn_pd_join(attr->pd);
		qp->sq.single = cairn_pd_single(attr->pd);
	}
	qp->rq.queue.single = qp->sq.single;
	cairn_inline_init(qp, asked);
	qp->rq.max_sge = attr->cap.max_recv_sge;
	qp->sq.max_wr = attr->cap.max_send_wr;
	qp->rq.queue.max_wr = attr->cap.max_recv_wr;
	return 0;
}

/* attr->cap is updated. */
static struct cairn_qp *qp_create(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct cairn_qp *qp = cairn_qp_alloc(attr->qp_type, attr->sq_sig_all);
	int err;

	if (!qp)
		return NULL;
	err = qp_open(ibctx, qp, attr);
	if (!err)
		return qp;
	cairn_qp_free(qp);
	errno = err;
	return NULL;
}

struct ibv_qp *cairn_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {};
	struct cairn_qp *qp;

	ex.qp_context = attr->qp_context;
	ex.send_cq = attr->send_cq;
	ex.recv_cq = attr->recv_cq;
	ex.srq = attr->srq;
	ex.cap = attr->cap;
	ex.qp_type = attr->qp_type;
	ex.sq_sig_all = attr->sq_sig_all;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	qp = qp_create(pd->context, &ex);
	if (!qp)
		return NULL;
	attr->cap = ex.cap;
	return &qp->vqp.qp;
}

/* An XRC target has an XRC domain in place of a protection domain. */
static uint32_t qp_owner_mask(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD :
					  IBV_QP_INIT_ATTR_PD;
}

static int qp_ex_check(const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t owner = qp_owner_mask(attr->qp_type);

	if (!(attr->comp_mask & owner))
		return EINVAL;
	if (attr->comp_mask & ~(QP_ATTR_MASK | owner))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !cairn_qpex_supported(attr->qp_type, attr->send_ops_flags))
		return EOPNOTSUPP;
	return 0;
}

struct ibv_qp *cairn_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex plain = *attr;
	struct cairn_qp *qp;
	int err = qp_ex_check(attr);

	if (err) {
		errno = err;
		return NULL;
	}
	/* The other members concern the provider only. */
	plain.comp_mask = qp_owner_mask(attr->qp_type);
	qp = qp_create(ibctx, &plain);
	if (!qp)
		return NULL;
	attr->cap = plain.cap;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		cairn_qpex_fill(qp);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	return &qp->vqp.qp;
}

/* Completions from before a QP's reset or destruction are discarded. */
static void qp_forget(const struct ibv_qp *ibqp)
{
	if (ibqp->send_cq)
		cairn_cq_forget_qp(ibqp->send_cq, ibqp->qp_num);
	if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq)
		cairn_cq_forget_qp(ibqp->recv_cq, ibqp->qp_num);
}

static void qp_reset_queue(struct cairn_queue *queue)
{
	cairn_queue_lock(queue);
	cairn_queue_reset(queue);
	cairn_queue_unlock(queue);
}

/* The library takes a rate limit in the extended command only. */
int cairn_qp_modify_cmd(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	union verbs_cmd_buf cmd = {};

	if (mask & IBV_QP_RATE_LIMIT)
		return ibv_cmd_modify_qp_ex(ibqp, attr, mask, &cmd,
					    VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_modify_qp),
					    &resp, sizeof(resp));
	return ibv_cmd_modify_qp(ibqp, attr, mask, &cmd,
				 VERBS_CMD_SIZE(struct ib_uverbs_modify_qp));
}

int cairn_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	int err;

	err = mask & IBV_QP_CAP ? cairn_resize_qp(ibqp, attr, mask) :
				  cairn_qp_modify_cmd(ibqp, attr, mask);
	if (err)
		return err;
	/* The kernel dropped what was posted and kept its indices. */
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		qp_forget(ibqp);
		qp_reset_queue(&qp->sq);
		qp_reset_queue(&qp->rq.queue);
	}
	return 0;
}

/* The sizes of a burst and a packet travel in the driver's tail. */
int cairn_modify_qp_rate_limit(struct ibv_qp *ibqp,
			       struct ibv_qp_rate_limit_attr *limit)
{
	struct ibv_qp_attr attr = { .rate_limit = limit->rate_limit };
	struct cairn_modify_qp_req req = {
		.max_burst_sz = limit->max_burst_sz,
		.typical_pkt_sz = limit->typical_pkt_sz,
	};
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	size_t core = VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_modify_qp);
	union verbs_cmd_buf cmd = {};

	_Static_assert(VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_modify_qp) +
		       sizeof(req) <= sizeof(cmd), "room for the tail");
	if (limit->comp_mask)
		return EINVAL;
	memcpy(cmd.bytes + core, &req, sizeof(req));
	return ibv_cmd_modify_qp_ex(ibqp, &attr, IBV_QP_RATE_LIMIT, &cmd,
				    core + sizeof(req), &resp, sizeof(resp));
}

int cairn_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr)
{
	union verbs_cmd_buf cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd,
				VERBS_CMD_SIZE(struct ib_uverbs_query_qp));
}

int cairn_destroy_qp(struct ibv_qp *ibqp)
{
	struct cairn_context *ctx = to_cctx(ibqp->context);
	struct cairn_qp *qp = to_cqp(ibqp);
	int err;

	cairn_queue_retire(ctx, &qp->sq);
	cairn_queue_retire(ctx, &qp->rq.queue);
	err = ibv_cmd_destroy_qp(ibqp);
	if (err) {
		cairn_queue_revive(ctx, &qp->rq.queue);
		cairn_queue_revive(ctx, &qp->sq);
		return err;
	}
	qp_forget(ibqp);
	cairn_queue_unmap(ctx, &qp->rq.queue);
	cairn_queue_unmap(ctx, &qp->sq);
	cairn_qp_free(qp);
	return 0;
}

/*
 * Packets make the device look at a receive queue, so the queue does not ask to be
 * woken. In the error state it does, to flush later posts.
 */
int cairn_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	struct cairn_ring *ring = &qp->rq.queue.ring;
	int err;

	if (!ring->units || ibqp->state == IBV_QPS_RESET) {
		*bad_wr = wr;
		return EINVAL;
	}
	err = cairn_rq_post(&qp->rq, wr, bad_wr);
	if (cairn_ring_must_wake(ring))
		cairn_doorbell(ibqp->context, ring->qid,
			       cairn_ring_load(&ring->host->index));
	return err;
}
