/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory. A device in software has no memory of its own: this is memory of the
 * process, which children share, and which is pinned while it is registered.
 */
#ifndef CAIRN_DM_H
#define CAIRN_DM_H

#include "cairn.h"

#define CAIRN_MAX_DM	(1u << 20)	/* bytes of all device memory of a context */

struct cairn_dm {
	struct ibv_dm dm;		/* must be first */
	unsigned char *mem;
	size_t length;			/* as it was asked for */
	size_t mapped;			/* whole pages */
	unsigned int users;		/* regions */
};

static inline struct cairn_dm *to_cdm(struct ibv_dm *dm)
{
	return cairn_container_of(dm, struct cairn_dm, dm);
}

/* log_align_req up to a page. Return: NULL with EINVAL, ENOMEM (CAIRN_MAX_DM). */
struct ibv_dm *cairn_alloc_dm(struct ibv_context *ctx,
			      struct ibv_alloc_dm_attr *attr);
/* Return: 0 or EBUSY: regions are left. */
int cairn_free_dm(struct ibv_dm *ibdm);
/* Zero based, with any right but that to bind windows. */
struct ibv_mr *cairn_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t length,
			       unsigned int access);
/* A region of @dm has ended. */
void cairn_dm_release(struct cairn_dm *dm);

#endif /* CAIRN_DM_H */
