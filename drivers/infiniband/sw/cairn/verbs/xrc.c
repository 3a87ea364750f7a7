// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* XRC domains and the numbers of their shared receive queues. */
#include <linux/random.h>
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/udata.h"
#include "verbs/xrc.h"

void cairn_xrc_init(struct cairn_dev *dev)
{
	xa_init_flags(&dev->xrc_srqs, XA_FLAGS_ALLOC1);
	/* Random, so that late requests do not find another SRQ with the same number
	 * when the device is created again.
	 */
	dev->next_srqn = get_random_u32() & CAIRN_24BIT_MASK;
}

void cairn_xrc_exit(struct cairn_dev *dev)
{
	xa_destroy(&dev->xrc_srqs);
}

/* A domain needs no state: its targets and SRQs have pointers to the object. */
static int xrc_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct cairn_xrcd *xrcd = container_of(ibxrcd, struct cairn_xrcd, ibxrcd);
	int err = cairn_udata_check(udata, 0);

	if (err)
		return err;
	xrcd->user = cairn_udata_user(udata);
	return cairn_share_take(&to_cairn_dev(ibxrcd->device)->nic,
				CAIRN_SHARE_XRCD, CAIRN_MAX_XRCD, xrcd->user);
}

static int xrc_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct cairn_xrcd *xrcd = container_of(ibxrcd, struct cairn_xrcd, ibxrcd);

	cairn_share_give(&to_cairn_dev(ibxrcd->device)->nic, CAIRN_SHARE_XRCD,
			 xrcd->user);
	return 0;
}

int cairn_xrc_add_srq(struct cairn_srq *srq)
{
	struct cairn_dev *dev = to_cairn_dev(srq->ibsrq.device);
	u32 *srqn = &srq->ibsrq.ext.xrc.srq_num;
	int err;

	err = xa_alloc_cyclic(&dev->xrc_srqs, srqn, srq,
			      XA_LIMIT(1, CAIRN_24BIT_MASK), &dev->next_srqn,
			      GFP_KERNEL);
	return min(err, 0);
}

void cairn_xrc_remove_srq(struct cairn_srq *srq)
{
	struct cairn_dev *dev = to_cairn_dev(srq->ibsrq.device);

	xa_erase(&dev->xrc_srqs, srq->ibsrq.ext.xrc.srq_num);
	cairn_epoch_wait(&dev->nic.epoch);
}

int cairn_xrc_take_srq(struct cairn_qp *qp, u32 srqn)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	struct cairn_srq *srq = xa_load(&dev->xrc_srqs, srqn);

	if (!srq || srq->ibsrq.ext.xrc.xrcd != qp->ibqp.xrcd)
		return -ENOENT;
	qp->pd = srq->ibsrq.pd;
	qp->receives = &srq->rq;
	qp->recv_cq = to_cairn_cq(srq->ibsrq.ext.cq);
	return 0;
}

const struct ib_device_ops cairn_xrc_ops = {
	.alloc_xrcd = xrc_alloc_xrcd,
	.dealloc_xrcd = xrc_dealloc_xrcd,
	INIT_RDMA_OBJ_SIZE(ib_xrcd, cairn_xrcd, ibxrcd),
};
