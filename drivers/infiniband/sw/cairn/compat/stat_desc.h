/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 5.16 a counter has a description. Before, it has a name. */
#ifndef CAIRN_COMPAT_STAT_DESC_H
#define CAIRN_COMPAT_STAT_DESC_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_RDMA_STAT_DESC
struct rdma_stat_desc {
	const char *name;
};
#endif

static inline struct rdma_hw_stats *
compat_alloc_hw_stats(const struct rdma_stat_desc *descs, int count)
{
#ifdef CAIRN_HAS_RDMA_STAT_DESC
	return rdma_alloc_hw_stats_struct(descs, count,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
#else
	/* an array of structures of one pointer is one of pointers */
	return rdma_alloc_hw_stats_struct((const char *const *)descs, count,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
#endif
}

#endif
