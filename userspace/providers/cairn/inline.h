/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The inline rule (Documentation/origins.rst, Q6): a short SEND or WRITE carries
 * its data in the WQE although the program gave a scatter/gather list. The device then
 * looks up no key and no memory. cairndv_set_inline_threshold(3) has the conditions.
 */
#ifndef CAIRN_INLINE_H
#define CAIRN_INLINE_H

#include "wqe.h"

/* The threshold in bytes that a program has not set. */
#define CAIRN_INLINE_DEFAULT	64
/* With more pieces than this a scatter/gather list is cheaper. */
#define CAIRN_INLINE_PIECES	4

/* The pieces to copy into a WQE. */
struct cairn_inline {
	size_t n;
	size_t bytes;
	struct ibv_data_buf buf[CAIRN_INLINE_PIECES];
};

/* CAIRN_INLINE_THRESHOLD in the environment: bytes, or UINT32_MAX: not set. */
uint32_t cairn_inline_env(void);

/* Sets the threshold of a new QP with a max_inline. @asked: cap.max_inline_data. */
void cairn_inline_init(struct cairn_qp *qp, uint32_t asked);

/*
 * Return: whether the rule says inline; then @in is filled. The caller has checked the
 * list against the QP's limits. The request has no fence: with one, an earlier READ may
 * still be writing the data. The same holds for requests behind one with a fence. The
 * send queue is locked.
 */
bool cairn_inline_rule(struct cairn_qp *qp, const struct cairn_wqe_op *op,
		       const struct ibv_sge *sges, size_t num_sge,
		       struct cairn_inline *in);

/* The header of a WQE without data gets what it says of @in. */
void cairn_inline_set(struct cairn_send_wqe *wqe, const struct cairn_inline *in);
/* Copies @in into the WQE at @index, for which there is room. */
void cairn_inline_copy(struct cairn_ring *ring, uint32_t index,
		       const struct cairn_inline *in);

#endif /* CAIRN_INLINE_H */
