/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A receive queue, of a QP or shared. */
#ifndef CAIRN_RQ_H
#define CAIRN_RQ_H

#include "queue.h"

struct cairn_rq {
	struct cairn_queue queue;
	uint32_t max_sge;
};

/* 0 or errno with *bad_wr; the requests before the bad one are posted. */
int cairn_rq_post(struct cairn_rq *rq, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);

#endif /* CAIRN_RQ_H */
