/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verbs_private.h where the provider is built in the tree of rdma-core: the tree's
 * own headers, by our names. The asserts are then compared with them.
 */
#ifndef CAIRN_VERBS_IN_TREE_H
#define CAIRN_VERBS_IN_TREE_H

#include <config.h>
#include <infiniband/driver.h>

#define VERBS_MATCH_END		VERBS_MATCH_SENTINEL
#define VERBS_MR_TYPE_NULL	IBV_MR_TYPE_NULL_MR

#if VERBS_CORE >= 65
#define verbs_comp_cntr			ibv_comp_cntr
#define verbs_comp_cntr_init_attr	ibv_comp_cntr_init_attr
#define verbs_comp_cntr_caps		ibv_comp_cntr_caps
#define verbs_qp_attach_comp_cntr_attr	ibv_qp_attach_comp_cntr_attr
#endif

/* An argument that came with this version. */
#if VERBS_CORE >= 57
#define VERBS_NONE_57		NULL,
#else
#define VERBS_NONE_57
#endif
#if VERBS_CORE >= 59
#define VERBS_NONE_59		NULL,
#else
#define VERBS_NONE_59
#endif

/* libcairn has one type of buffer for all requests, and its own types for responses. */
#define ibv_cmd_get_context(vctx, cmd, size, resp, resp_size) \
	ibv_cmd_get_context(vctx, (void *)(cmd), size, VERBS_NONE_57 \
			    (void *)(resp), resp_size)
#define ibv_cmd_query_port(ctx, port, attr, cmd, size) \
	ibv_cmd_query_port(ctx, port, attr, (void *)(cmd), size)
#define ibv_cmd_alloc_pd(ctx, pd, cmd, size, resp, resp_size) \
	ibv_cmd_alloc_pd(ctx, pd, (void *)(cmd), size, (void *)(resp), resp_size)
#define ibv_cmd_reg_mr(pd, addr, length, va, access, vmr, cmd, size, resp, \
		       resp_size) \
	ibv_cmd_reg_mr(pd, addr, length, va, access, vmr, (void *)(cmd), size, \
		       (void *)(resp), resp_size)
#if VERBS_CORE < 54
#define ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr, driver) \
	ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr)
#endif
#define ibv_cmd_rereg_mr(vmr, flags, addr, length, va, access, pd, cmd, size, \
			 resp, resp_size) \
	ibv_cmd_rereg_mr(vmr, flags, addr, length, va, access, pd, (void *)(cmd), \
			 size, (void *)(resp), resp_size)
#define ibv_cmd_alloc_mw(pd, type, mw, cmd, size, resp, resp_size) \
	ibv_cmd_alloc_mw(pd, type, mw, (void *)(cmd), size, (void *)(resp), resp_size)
#define ibv_cmd_create_ah(pd, ah, attr, resp, resp_size) \
	ibv_cmd_create_ah(pd, ah, attr, (void *)(resp), resp_size)
#define ibv_cmd_create_cq(ctx, cqe, channel, vector, cq, cmd, size, resp, \
			  resp_size) \
	ibv_cmd_create_cq(ctx, cqe, channel, vector, cq, (void *)(cmd), size, \
			  (void *)(resp), resp_size)
#define ibv_cmd_create_cq_ex(ctx, attr, cq, cmd, size, resp, resp_size, flags) \
	ibv_cmd_create_cq_ex(ctx, attr, VERBS_NONE_59 cq, (void *)(cmd), size, \
			     (void *)(resp), resp_size, flags)
#define ibv_cmd_resize_cq(cq, cqe, cmd, size, resp, resp_size) \
	ibv_cmd_resize_cq(cq, cqe, (void *)(cmd), size, (void *)(resp), resp_size)
#define ibv_cmd_modify_cq(cq, attr, cmd, size) \
	ibv_cmd_modify_cq(cq, attr, (void *)(cmd), size)
#define ibv_cmd_create_srq(pd, srq, attr, cmd, size, resp, resp_size) \
	ibv_cmd_create_srq(pd, srq, attr, (void *)(cmd), size, (void *)(resp), \
			   resp_size)
#define ibv_cmd_modify_srq(srq, attr, mask, cmd, size) \
	ibv_cmd_modify_srq(srq, attr, mask, (void *)(cmd), size)
#define ibv_cmd_query_srq(srq, attr, cmd, size) \
	ibv_cmd_query_srq(srq, attr, (void *)(cmd), size)
#define ibv_cmd_create_qp_ex(ctx, vqp, attr, cmd, size, resp, resp_size) \
	ibv_cmd_create_qp_ex(ctx, vqp, attr, (void *)(cmd), size, (void *)(resp), \
			     resp_size)
#define ibv_cmd_modify_qp(qp, attr, mask, cmd, size) \
	ibv_cmd_modify_qp(qp, attr, mask, (void *)(cmd), size)
#define ibv_cmd_modify_qp_ex(qp, attr, mask, cmd, size, resp, resp_size) \
	ibv_cmd_modify_qp_ex(qp, attr, mask, (void *)(cmd), size, (void *)(resp), \
			     resp_size)
#define ibv_cmd_query_qp(qp, attr, mask, init_attr, cmd, size) \
	ibv_cmd_query_qp(qp, attr, mask, init_attr, (void *)(cmd), size)

#define ibv_cmd_open_xrcd(ctx, vxrcd, vsize, attr, cmd, size, resp, resp_size) \
	ibv_cmd_open_xrcd(ctx, vxrcd, vsize, attr, (void *)(cmd), size, \
			  (void *)(resp), resp_size)
#define ibv_cmd_open_qp(ctx, vqp, vsize, attr, cmd, size, resp, resp_size) \
	ibv_cmd_open_qp(ctx, vqp, vsize, attr, (void *)(cmd), size, \
			(void *)(resp), resp_size)
#define ibv_cmd_create_srq_ex(ctx, vsrq, attr, cmd, size, resp, resp_size) \
	ibv_cmd_create_srq_ex(ctx, vsrq, attr, (void *)(cmd), size, \
			      (void *)(resp), resp_size)

#endif /* CAIRN_VERBS_IN_TREE_H */
