/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_AH_H
#define CAIRN_AH_H

#include "cairn.h"

struct cairn_ah {
	struct ibv_ah ah;
	uint32_t num;		/* names it in a UD send WQE */
};

static inline struct cairn_ah *to_cah(struct ibv_ah *ah)
{
	return cairn_container_of(ah, struct cairn_ah, ah);
}

struct ibv_ah *cairn_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int cairn_destroy_ah(struct ibv_ah *ah);

#endif /* CAIRN_AH_H */
