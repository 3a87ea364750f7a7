/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_DOORBELL_H
#define CAIRN_DOORBELL_H

#include <rdma/cairn-abi.h>

#include "cairn.h"

/* Wakes the device: 0 or errno. May execute sends before it returns. */
int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index);
/* The same of count queues, CAIRN_MAX_DOORBELLS at most, with one call. */
int cairn_doorbells(struct ibv_context *ctx, struct cairn_doorbell *db,
		    uint32_t count);

#endif /* CAIRN_DOORBELL_H */
