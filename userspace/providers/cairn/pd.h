/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_PD_H
#define CAIRN_PD_H

#include "cairn.h"

struct ibv_pd *cairn_alloc_pd(struct ibv_context *ctx);
int cairn_dealloc_pd(struct ibv_pd *pd);

#endif /* CAIRN_PD_H */
