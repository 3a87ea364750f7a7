/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* XRC domains with their SRQs and target queue pairs. */
#ifndef CAIRN_XRC_H
#define CAIRN_XRC_H

#include "qp.h"
#include "wqe.h"

struct ibv_xrcd *cairn_open_xrcd(struct ibv_context *ctx,
				 struct ibv_xrcd_init_attr *attr);
int cairn_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *cairn_open_qp(struct ibv_context *ctx,
			     struct ibv_qp_open_attr *attr);
struct ibv_srq *cairn_create_srq_ex(struct ibv_context *ctx,
				    struct ibv_srq_init_attr_ex *attr);
int cairn_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);

/* Sets the destination SRQ of a WQE that has all of its data. */
static inline void cairn_xrc_set_srqn(struct cairn_send_wqe *wqe, uint32_t srqn)
{
	wqe->inline_len |= srqn << CAIRN_XRC_SRQN_SHIFT;
}

#endif /* CAIRN_XRC_H */
