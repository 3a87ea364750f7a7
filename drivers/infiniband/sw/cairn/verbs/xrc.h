/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * XRC, extended reliable connections (IBTA Annex A14): a process has one connection to
 * a host, for all processes there. A request has the number of the shared receive queue
 * (SRQ) that it is for. The connection's target and its SRQs belong to one XRC domain,
 * which processes share through a file.
 *
 * A target has no receive queue, completion queue or protection domain of its own. It
 * uses those of the request's SRQ, in the run of the engine that executes the request.
 */
#ifndef CAIRN_VERBS_XRC_H
#define CAIRN_VERBS_XRC_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

static inline bool cairn_xrc_is_target(const struct cairn_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_XRC_TGT;
}

/* The QP of attribute @id of a method, or ERR_PTR(-ENOENT). With XRC several handles may
 * share one QP; real_qp is the one that this driver has created.
 */
static inline struct ib_qp *cairn_xrc_attr_qp(struct uverbs_attr_bundle *attrs,
					      u16 id)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, id);

	return IS_ERR(ibqp) ? ibqp : ibqp->real_qp;
}

void cairn_xrc_init(struct cairn_dev *dev);
void cairn_xrc_exit(struct cairn_dev *dev);

/* Allocate a number for @srq, by which requests find it. Return: 0; -EBUSY: no number is
 * free; -ENOMEM.
 */
int cairn_xrc_add_srq(struct cairn_srq *srq);

/* Remove the number, and wait until no run of the engine uses @srq. Sleeps. */
void cairn_xrc_remove_srq(struct cairn_srq *srq);

/**
 * cairn_xrc_take_srq() - make a target use the SRQ of a request
 * @qp: the target
 * @srqn: number of the SRQ
 *
 * Context: in a run, under the responder's lock. Valid until the end of the run.
 * Return: 0; -ENOENT: no such SRQ, or it belongs to another domain.
 */
int cairn_xrc_take_srq(struct cairn_qp *qp, u32 srqn);

#endif
