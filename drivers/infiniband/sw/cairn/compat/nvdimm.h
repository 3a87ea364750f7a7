/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* libnvdimm exports this to modules, but declares it in a private header. */
#ifndef CAIRN_COMPAT_NVDIMM_H
#define CAIRN_COMPAT_NVDIMM_H

#include <linux/badblocks.h>
#include <linux/libnvdimm.h>
#include <linux/range.h>

/* Adds the bad blocks of @range to @bb, as offsets from the range's start. */
typedef void nvdimm_populate_fn(struct nd_region *region, struct badblocks *bb,
				const struct range *range);
extern nvdimm_populate_fn nvdimm_badblocks_populate;

#endif
