/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_DOORBELL_H
#define CAIRN_DOORBELL_H

#include "cairn.h"

/* Wakes the device: 0 or errno. May execute sends before it returns. */
int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index);

#endif /* CAIRN_DOORBELL_H */
