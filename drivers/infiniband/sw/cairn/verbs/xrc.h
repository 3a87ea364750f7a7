/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * XRC, extended reliable connections (IBTA Annex A14): a process has one connection to
 * a host, for all processes there. Its requests name the shared receive queue (SRQ) that
 * they are for. The connection's target, and the SRQs that it reaches, belong to one XRC
 * domain, which processes share by a file.
 *
 * A target has no queue, completion queue and protection domain of its own. It takes
 * them from the SRQ of each request, for the run of the engine that executes it.
 */
#ifndef CAIRN_VERBS_XRC_H
#define CAIRN_VERBS_XRC_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

static inline bool cairn_xrc_is_target(const struct cairn_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_XRC_TGT;
}

/* The QP that a process names in attribute @id of a method, or ERR_PTR(-ENOENT). With
 * XRC several handles may stand for one QP, and only that is ours.
 */
static inline struct ib_qp *cairn_xrc_attr_qp(struct uverbs_attr_bundle *attrs,
					      u16 id)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, id);

	return IS_ERR(ibqp) ? ibqp : ibqp->real_qp;
}

void cairn_xrc_init(struct cairn_dev *dev);
void cairn_xrc_exit(struct cairn_dev *dev);

/* Give @srq a number by which requests find it. 0, -EBUSY or -ENOMEM. */
int cairn_xrc_add_srq(struct cairn_srq *srq);

/* No run of the engine uses @srq any more on return. Sleeps. */
void cairn_xrc_remove_srq(struct cairn_srq *srq);

/**
 * cairn_xrc_take_srq() - what peers send to a target is for this SRQ
 * @qp: the target
 * @srqn: its number
 *
 * Context: in a run, below the responder's lock. Good until the end of the run.
 * Return: 0, or -ENOENT: there is none, or it is of another domain.
 */
int cairn_xrc_take_srq(struct cairn_qp *qp, u32 srqn);

#endif
