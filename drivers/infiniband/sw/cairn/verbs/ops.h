/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions behind struct ib_device_ops, by file. Their contracts are
 * ib_core's (include/rdma/ib_verbs.h); what is ours stands at the definitions.
 */
#ifndef CAIRN_VERBS_OPS_H
#define CAIRN_VERBS_OPS_H

#include <rdma/ib_verbs.h>
#include "compat/create_cq.h"

/* pd.c */
int cairn_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void cairn_dealloc_ucontext(struct ib_ucontext *ibuc);
void cairn_disassociate_ucontext(struct ib_ucontext *ibuc);
int cairn_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int cairn_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* ah.c */
int cairn_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int cairn_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int cairn_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int cairn_destroy_ah(struct ib_ah *ibah, u32 flags);

/* cq.c */
int cairn_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    cairn_create_cq_arg *arg);
int cairn_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int cairn_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int cairn_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int cairn_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/* qp.c */
int cairn_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int cairn_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int cairn_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int cairn_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* mcast.c */
int cairn_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int cairn_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* srq.c */
int cairn_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int cairn_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int cairn_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int cairn_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* xrc.c */
int cairn_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int cairn_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/* post.c */
int cairn_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad);
int cairn_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad);
int cairn_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

/* stats.c */
struct rdma_hw_stats *cairn_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port_num);
int cairn_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int cairn_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port_num, int index);

/* qp_counter.c */
struct rdma_hw_stats *cairn_counter_alloc_stats(struct rdma_counter *counter);
int cairn_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp);
int cairn_counter_unbind_qp(struct ib_qp *ibqp);
int cairn_counter_dealloc(struct rdma_counter *counter);
int cairn_counter_update_stats(struct rdma_counter *counter);

/* restrack.c */
int cairn_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int cairn_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int cairn_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

#endif
