/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Posting sends. */
#ifndef CAIRN_SEND_H
#define CAIRN_SEND_H

#include "qp.h"

int cairn_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
/*
 * Return: the result that posting one request would have now, without the doorbell.
 * Room in the ring stays as long as no other thread posts.
 */
int cairn_send_check(struct ibv_qp *qp, const struct ibv_send_wr *wr);
/* A BIND_MW for a window of type 1. */
int cairn_send_bind(struct ibv_qp *qp, struct ibv_send_wr *wr);
/* Return: whether the QP's state allows posts. */
bool cairn_send_ready(const struct cairn_qp *qp);
/*
 * Tells the device of published WQEs up to @index. The caller does not hold the SQ
 * lock, because the doorbell may execute them before it returns.
 */
int cairn_send_wake(struct cairn_qp *qp, uint32_t index);

/*
 * Posts one request without telling the device; cairn_send_wake_all() does, up to
 * *@index. Return: 0 or an errno of posting.
 */
int cairn_send_put(struct ibv_qp *qp, const struct ibv_send_wr *wr,
		   uint32_t *index);
/*
 * Tells the device of the requests in qp[i] up to index[i], for each bit i of @which,
 * with one doorbell for those of a context. The QPs are at most 64.
 * Return: the bits of QPs that an unplugged device did not take.
 */
uint64_t cairn_send_wake_all(struct ibv_qp *const *qp, const uint32_t *index,
			     uint64_t which);

#endif /* CAIRN_SEND_H */
