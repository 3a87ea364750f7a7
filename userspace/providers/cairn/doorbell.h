/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_DOORBELL_H
#define CAIRN_DOORBELL_H

#include <rdma/cairn-abi.h>

#include "cairn.h"

/* Wakes the device. May execute sends before it returns. Return: 0 or errno. */
int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index);
/* The same for @count queues, at most CAIRN_MAX_DOORBELLS, with one call. */
int cairn_doorbells(struct ibv_context *ctx, struct cairn_doorbell *db,
		    uint32_t count);

#endif /* CAIRN_DOORBELL_H */
