/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 5.16 folios are marked dirty. Before, pages were. */
#ifndef CAIRN_COMPAT_FOLIO_H
#define CAIRN_COMPAT_FOLIO_H

#include <linux/mm.h>
#include "compat/found.h"

static inline void compat_page_mark_dirty(struct page *page)
{
#ifdef CAIRN_HAS_FOLIO
	folio_mark_dirty(page_folio(page));
#else
	set_page_dirty(compound_head(page));
#endif
}

#endif
