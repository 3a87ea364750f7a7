/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Posting sends. */
#ifndef CAIRN_SEND_H
#define CAIRN_SEND_H

#include "qp.h"

int cairn_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
/*
 * What posting one request would return now, doorbell apart. Room that is there stays,
 * as long as nobody else posts.
 */
int cairn_send_check(struct ibv_qp *qp, const struct ibv_send_wr *wr);
/* A BIND_MW for a window of type 1. */
int cairn_send_bind(struct ibv_qp *qp, struct ibv_send_wr *wr);
/* Whether the QP's state allows posts. */
bool cairn_send_ready(const struct cairn_qp *qp);
/*
 * Tells the device of WQEs up to index, which were published. Not under the SQ
 * lock: the doorbell may execute them before it returns.
 */
int cairn_send_wake(struct cairn_qp *qp, uint32_t index);

/*
 * Posts one request, of which the device is told later: up to *index. 0 or what
 * posting it would return.
 */
int cairn_send_put(struct ibv_qp *qp, const struct ibv_send_wr *wr,
		   uint32_t *index);
/*
 * Tells the device of what was put into qp[i] up to index[i], for each bit i of which,
 * with one doorbell for all that need one. The QPs are of one context, 64 at most.
 * Returns the bits of those that the device did not take (it is gone).
 */
uint64_t cairn_send_wake_all(struct ibv_qp *const *qp, const uint32_t *index,
			     uint64_t which);

#endif /* CAIRN_SEND_H */
