/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pages that the CPU may touch by the kernel's direct map. */
#ifndef CAIRN_MEM_PAGE_H
#define CAIRN_MEM_PAGE_H

#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/types.h>

/* Has memory_failure() marked @page? It marks only the head of a huge page of hugetlbfs. */
static inline bool cairn_page_poisoned(struct page *page)
{
	struct page *head = compound_head(page);

	return PageHWPoison(page) ||
	       (unlikely(PageHWPoison(head)) && PageHuge(head));
}

/**
 * cairn_page_touchable() - may the data path use this page?
 * @page: referenced, or mapped so that its use does not change
 *
 * Pages outside the direct map are refused (memfd_secret(), guest memory of KVM), and
 * pages of devices, offline pages and pages with a hardware error.
 *
 * Context: any.
 * Return: true if it can be read by the direct map.
 */
bool cairn_page_touchable(struct page *page);

#endif
