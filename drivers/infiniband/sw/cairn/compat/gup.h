/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Until 6.5 get_user_pages_remote() could return the mappings of the pages too. */
#ifndef CAIRN_COMPAT_GUP_H
#define CAIRN_COMPAT_GUP_H

#include <linux/mm.h>
#include "compat/found.h"

static inline long compat_get_user_pages_remote(struct mm_struct *mm,
						unsigned long start,
						unsigned long num,
						unsigned int flags,
						struct page **pages)
{
#ifdef CAIRN_HAS_GUP_WITHOUT_VMAS
	return get_user_pages_remote(mm, start, num, flags, pages, NULL);
#else
	return get_user_pages_remote(mm, start, num, flags, pages, NULL, NULL);
#endif
}

/* Before 5.16 pages that vanish meanwhile are faulted in again, which is harmless. */
#ifndef CAIRN_HAS_FOLL_NOFAULT
#define FOLL_NOFAULT	0
#endif

#endif
