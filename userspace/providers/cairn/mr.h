/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_MR_H
#define CAIRN_MR_H

#include "dm.h"
#include "keys.h"

struct cairn_mr {
	struct verbs_mr vmr;	/* must be first */
	uint32_t declared;	/* enum cairn_mr_flags, as the program asked */
	uint32_t persist;	/* the same, as the device has it */
	uint32_t flush_limit;	/* ms, 0: none */
	struct cairn_region region;	/* addr NULL: not in keys.h's table */
	struct cairn_dm *dm;		/* NULL: memory of the program */
	struct cairn_dereg_mr_resp *release;	/* not NULL: it ends without waiting */
};

static inline struct cairn_mr *to_cmr(struct ibv_mr *mr)
{
	return cairn_container_of(mr, struct cairn_mr, vmr.ibv_mr);
}

struct ibv_mr *cairn_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
struct ibv_mr *cairn_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access);
struct ibv_mr *cairn_alloc_null_mr(struct ibv_pd *pd);
int cairn_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int cairn_dereg_mr(struct verbs_mr *vmr);

#endif /* CAIRN_MR_H */
