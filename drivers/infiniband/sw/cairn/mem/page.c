// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The data path copies by the direct map, in contexts where a fault is a panic.
 * The kernel exports neither secretmem's nor guest_memfd's test, so a byte is
 * read in a way that may fail. A page leaves or enters the direct map only
 * while no process has it mapped. So the result is valid until the notifier
 * runs or the page is unpinned.
 */
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/uaccess.h>
#include "mem/page.h"

bool cairn_page_touchable(struct page *page)
{
	u8 byte;

	if (!pfn_valid(page_to_pfn(page)) || cairn_page_poisoned(page) ||
	    PageOffline(page) || is_device_private_page(page) ||
	    is_pci_p2pdma_page(page))
		return false;
	return !copy_from_kernel_nofault(&byte, page_address(page),
					 sizeof(byte));
}
