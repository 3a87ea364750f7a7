// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "srq.h"
#include "xrc.h"

VERBS_RESP(cairn_xsrq_resp, struct ib_uverbs_create_srq_resp,
	   struct cairn_create_srq_resp);

struct ibv_xrcd *cairn_open_xrcd(struct ibv_context *ctx,
				 struct ibv_xrcd_init_attr *attr)
{
	struct verbs_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	struct ib_uverbs_open_xrcd_resp resp = {};
	union verbs_cmd_buf cmd = {};
	int err;

	if (!xrcd)
		return NULL;
	err = ibv_cmd_open_xrcd(ctx, xrcd, sizeof(*xrcd), attr, &cmd,
				VERBS_CMD_SIZE(struct ib_uverbs_open_xrcd),
				&resp, sizeof(resp));
	if (!err)
		return &xrcd->xrcd;
	free(xrcd);
	errno = err;
	return NULL;
}

int cairn_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = cairn_container_of(ibxrcd, struct verbs_xrcd,
						     xrcd);
	int err = ibv_cmd_close_xrcd(xrcd);

	if (!err)
		free(xrcd);
	return err;
}

/* Another handle of an existing target, which has no queues. */
struct ibv_qp *cairn_open_qp(struct ibv_context *ctx,
			     struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp = {};
	union verbs_cmd_buf cmd = {};
	struct cairn_qp *qp = cairn_qp_alloc(IBV_QPT_XRC_RECV, false);
	int err;

	if (!qp)
		return NULL;
	err = ibv_cmd_open_qp(ctx, &qp->vqp,
			      sizeof(qp->vqp) + sizeof(qp->abi_room), attr,
			      &cmd, VERBS_CMD_SIZE(struct ib_uverbs_open_qp),
			      &resp, sizeof(resp));
	if (!err)
		return &qp->vqp.qp;
	cairn_qp_free(qp);
	errno = err;
	return NULL;
}

/* The library does not check @attr. Return: 0 or a positive errno. */
static int xrc_check_srq(const struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ?
				 attr->srq_type : IBV_SRQT_BASIC;
	uint32_t need = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd)
		return EINVAL;
	if (type == IBV_SRQT_BASIC)
		return 0;
	if (type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	return (attr->comp_mask & need) == need && attr->xrcd && attr->cq ?
	       0 : EINVAL;
}

static int xrc_open_srq(struct ibv_context *ctx, struct cairn_srq *srq,
			struct ibv_srq_init_attr_ex *attr)
{
	struct cairn_xsrq_resp resp = {};
	union verbs_cmd_buf cmd = {};
	int err;

	err = ibv_cmd_create_srq_ex(ctx, &srq->vsrq, attr, &cmd,
				    VERBS_CMD_SIZE(struct ib_uverbs_create_xsrq),
				    &resp, sizeof(resp));
	if (err)
		return err;
	/* Version 44 of the library does not set it. */
	srq->vsrq.srq.pd = attr->pd;
	err = cairn_srq_map(ctx, srq, &resp.drv.rq);
	if (err) {
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
		return err;
	}
	srq->rq.max_sge = attr->attr.max_sge;
	srq->rq.queue.max_wr = attr->attr.max_wr;
	return 0;
}

struct ibv_srq *cairn_create_srq_ex(struct ibv_context *ctx,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct cairn_srq *srq;
	int err = xrc_check_srq(attr);

	if (err) {
		errno = err;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	cairn_queue_init(&srq->rq.queue);
	err = xrc_open_srq(ctx, srq, attr);
	if (!err)
		return &srq->vsrq.srq;
	cairn_queue_fini(&srq->rq.queue);
	free(srq);
	errno = err;
	return NULL;
}

int cairn_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	const struct verbs_srq *vsrq = &to_csrq(ibsrq)->vsrq;

	if (vsrq->srq_type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	*srq_num = vsrq->srq_num;
	return 0;
}
