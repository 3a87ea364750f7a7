/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SRQ_H
#define CAIRN_SRQ_H

#include "rq.h"

struct cairn_srq {
	struct verbs_srq vsrq;		/* must be first */
	struct cairn_rq rq;
};

static inline struct cairn_srq *to_csrq(struct ibv_srq *srq)
{
	return cairn_container_of(srq, struct cairn_srq, vsrq.srq);
}

/* Maps the ring. Return: 0 or a positive errno. */
int cairn_srq_map(struct ibv_context *ctx, struct cairn_srq *srq,
		  const struct cairn_ring_desc *desc);
struct ibv_srq *cairn_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
int cairn_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int cairn_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int cairn_destroy_srq(struct ibv_srq *srq);
int cairn_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);

#endif /* CAIRN_SRQ_H */
