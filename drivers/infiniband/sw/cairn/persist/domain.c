// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ioport.h>
#include <linux/mm.h>
#include "persist/domain.h"

bool cairn_domain_can_writeback(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API);
}

bool cairn_domain_is_pmem(phys_addr_t start, size_t len)
{
	return region_intersects(start, len, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY) ==
	       REGION_INTERSECTS;
}
