/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 6.3, and in later stable kernels of 6.1, a function fills a struct bio_vec. */
#ifndef CAIRN_COMPAT_BVEC_H
#define CAIRN_COMPAT_BVEC_H

#include <linux/bvec.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_BVEC_SET_PAGE
static inline void bvec_set_page(struct bio_vec *bv, struct page *page,
				 unsigned int len, unsigned int offset)
{
	bv->bv_page = page;
	bv->bv_len = len;
	bv->bv_offset = offset;
}
#endif

#endif
