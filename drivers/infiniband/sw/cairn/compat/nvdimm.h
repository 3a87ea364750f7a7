/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What libnvdimm exports to modules and declares in its own directory only. */
#ifndef CAIRN_COMPAT_NVDIMM_H
#define CAIRN_COMPAT_NVDIMM_H

#include <linux/badblocks.h>
#include <linux/libnvdimm.h>
#include <linux/range.h>

/* Enters the bad blocks of a range, counted from its start. */
typedef void nvdimm_populate_fn(struct nd_region *region, struct badblocks *bb,
				const struct range *range);
extern nvdimm_populate_fn nvdimm_badblocks_populate;

#endif
