// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "resize.h"
#include "srq.h"

VERBS_RESP(cairn_srq_resp, struct ib_uverbs_create_srq_resp,
	   struct cairn_create_srq_resp);

int cairn_srq_map(struct ibv_context *ctx, struct cairn_srq *srq,
		  const struct cairn_ring_desc *desc)
{
	if (!desc->depth)
		return EPROTO;
	return cairn_queue_map(to_cctx(ctx), &srq->rq.queue, desc,
			       PROT_READ | PROT_WRITE);
}

static int srq_open(struct ibv_pd *pd, struct cairn_srq *srq,
		    struct ibv_srq_init_attr *attr)
{
	struct cairn_srq_resp resp = {};
	union verbs_cmd_buf cmd = {};
	int err;

	err = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd,
				 VERBS_CMD_SIZE(struct ib_uverbs_create_srq),
				 &resp, sizeof(resp));
	if (err)
		return err;
	err = cairn_srq_map(pd->context, srq, &resp.drv.rq);
	if (err) {
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
		return err;
	}
	srq->rq.max_sge = attr->attr.max_sge;
	srq->rq.queue.max_wr = attr->attr.max_wr;
	return 0;
}

struct ibv_srq *cairn_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct cairn_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq)
		return NULL;
	cairn_queue_init(&srq->rq.queue);
	err = srq_open(pd, srq, attr);
	if (!err)
		return &srq->vsrq.srq;
	cairn_queue_fini(&srq->rq.queue);
	free(srq);
	errno = err;
	return NULL;
}

static int srq_command(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		       int mask)
{
	union verbs_cmd_buf cmd = {};

	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd,
				  VERBS_CMD_SIZE(struct ib_uverbs_modify_srq));
}

static int srq_resize(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		      int mask)
{
	struct cairn_queue *queue = &to_csrq(ibsrq)->rq.queue;
	struct cairn_ring_owner owner = {
		.ctx = ibsrq->context,
		.attr = CAIRN_ATTR_RING_SRQ,
		.handle = ibsrq->handle,
	};
	struct cairn_resize resize;
	int err;

	err = cairn_resize_begin(&resize, queue, &owner, attr->max_wr);
	if (err)
		return err;
	if (!cairn_resize_wanted(&resize))
		mask &= ~IBV_SRQ_MAX_WR;
	cairn_queue_lock(queue);
	err = srq_command(ibsrq, attr, mask);
	if (!err)
		cairn_resize_commit(&resize);
	cairn_queue_unlock(queue);
	cairn_resize_end(&resize, err);
	return err;
}

int cairn_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct cairn_context *ctx = to_cctx(ibsrq->context);
	int err;

	if (!(mask & IBV_SRQ_MAX_WR))
		return srq_command(ibsrq, attr, mask);
	if (!attr->max_wr)
		return EINVAL;
	pthread_mutex_lock(&ctx->resize_lock);
	err = srq_resize(ibsrq, attr, mask);
	pthread_mutex_unlock(&ctx->resize_lock);
	return err;
}

int cairn_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	union verbs_cmd_buf cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd,
				 VERBS_CMD_SIZE(struct ib_uverbs_query_srq));
}

int cairn_destroy_srq(struct ibv_srq *ibsrq)
{
	struct cairn_context *ctx = to_cctx(ibsrq->context);
	struct cairn_srq *srq = to_csrq(ibsrq);
	int err;

	cairn_queue_retire(ctx, &srq->rq.queue);
	err = ibv_cmd_destroy_srq(ibsrq);
	if (err) {
		cairn_queue_revive(ctx, &srq->rq.queue);
		return err;
	}
	cairn_queue_unmap(ctx, &srq->rq.queue);
	cairn_queue_fini(&srq->rq.queue);
	free(srq);
	return 0;
}

int cairn_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	return cairn_rq_post(&to_csrq(ibsrq)->rq, wr, bad_wr);
}
