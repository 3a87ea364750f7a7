/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_MR_H
#define CAIRN_MR_H

#include "cairn.h"

struct cairn_mr {
	struct verbs_mr vmr;	/* must be first */
	uint32_t persist;	/* enum cairn_mr_flags, as the device agreed */
};

static inline struct cairn_mr *to_cmr(struct ibv_mr *mr)
{
	return cairn_container_of(mr, struct cairn_mr, vmr.ibv_mr);
}

#endif /* CAIRN_MR_H */
