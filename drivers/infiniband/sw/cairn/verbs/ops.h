/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Parts of struct ib_device_ops: each file has the operations of its objects. */
#ifndef CAIRN_VERBS_OPS_H
#define CAIRN_VERBS_OPS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops cairn_ah_ops;
extern const struct ib_device_ops cairn_cq_ops;
extern const struct ib_device_ops cairn_leave_ops;
extern const struct ib_device_ops cairn_link_ops;
extern const struct ib_device_ops cairn_mcast_ops;
extern const struct ib_device_ops cairn_moderate_ops;
extern const struct ib_device_ops cairn_modify_ops;
extern const struct ib_device_ops cairn_pd_ops;
extern const struct ib_device_ops cairn_peer_ops;
extern const struct ib_device_ops cairn_poll_ops;
extern const struct ib_device_ops cairn_post_ops;
extern const struct ib_device_ops cairn_qp_ops;
extern const struct ib_device_ops cairn_qp_counter_ops;
extern const struct ib_device_ops cairn_restrack_ops;
extern const struct ib_device_ops cairn_srq_ops;
extern const struct ib_device_ops cairn_stats_ops;
extern const struct ib_device_ops cairn_xrc_ops;

/* compat/ops.h calls these. */
int cairn_cq_resize(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int cairn_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp);
int cairn_counter_unbind_qp(struct ib_qp *ibqp);

#endif
