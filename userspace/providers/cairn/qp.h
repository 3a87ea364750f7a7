/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_QP_H
#define CAIRN_QP_H

#include "queue.h"
#include "ready.h"
#include "rq.h"

/* A window that a batch binds: the key that it has again if the batch is not posted. */
struct cairn_wr_bind {
	struct ibv_mw *mw;
	uint32_t rkey;
};

struct cairn_pd;
struct cairn_wr_late;

/* Between wr_start and wr_complete or wr_abort; the SQ lock is held. */
struct cairn_wr_batch {
	uint32_t start;			/* where the batch began */
	uint32_t posted;		/* WQEs then */
	uint32_t at;			/* where the current WQE begins */
	struct cairn_send_wqe *wqe;	/* current, NULL: none or after error */
	uint8_t form;			/* of the current, enum cairn_wqe_form */
	bool need_data;			/* setters that it still lacks */
	bool need_address;		/* UD: of the peer; XRC: of the SRQ */
	uint32_t srqn;			/* XRC */
	struct cairn_wr_bind *bind;	/* in their order */
	uint32_t binds, bind_room;
	struct cairn_wr_late *late;	/* qpex.c */
	uint32_t lates, late_room;
	int err;			/* first error, for wr_complete */
};

struct cairn_qp {
	struct verbs_qp vqp;		/* must be first */
	/* Zero. Later libraries read past the end of our verbs_qp. */
	uint8_t abi_room[64];
	struct cairn_queue sq;
	struct cairn_ready ready;	/* of sq */
	struct cairn_rq rq;
	uint32_t max_send_sge;
	uint32_t max_inline;		/* bytes */
	uint32_t inline_threshold;	/* bytes, inline.h; atomic */
	uint32_t fence_at;		/* where the last WQE with a fence begins */
	bool fenced;			/* the device may not have finished it */
	const struct ibv_pd *pd;
	struct cairn_pd *parent;	/* pd.h; or NULL */
	uint8_t type_bit;		/* enum cairn_qp_types */
	uint8_t signal_all;		/* CAIRN_WQE_SIGNALED or 0 */
	uint32_t refused;		/* bits of enum cairn_wqe_opcode: a profile has them not */
	struct cairn_wr_batch batch;
};

static inline struct cairn_qp *to_cqp(struct ibv_qp *qp)
{
	return cairn_container_of(qp, struct cairn_qp, vqp.qp);
}

static inline struct cairn_qp *to_cqp_ex(struct ibv_qp_ex *qp)
{
	return cairn_container_of(qp, struct cairn_qp, vqp.qp_ex);
}

struct cairn_qp *cairn_qp_alloc(enum ibv_qp_type type, bool signal_all);
void cairn_qp_free(struct cairn_qp *qp);
struct ibv_qp *cairn_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *cairn_create_qp_ex(struct ibv_context *ctx,
				  struct ibv_qp_init_attr_ex *attr);
int cairn_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
/* Only sends the command: no ring changes, no completion is discarded. */
int cairn_qp_modify_cmd(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int cairn_modify_qp_rate_limit(struct ibv_qp *qp,
			       struct ibv_qp_rate_limit_attr *attr);
int cairn_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);
int cairn_destroy_qp(struct ibv_qp *qp);
int cairn_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);

#endif /* CAIRN_QP_H */
