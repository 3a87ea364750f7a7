// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include "persist/domain.h"

bool cairn_domain_can_writeback(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API);
}

/* Memory is given to a device, or to System RAM, in units of this size. */
#define DOMAIN_STEP	((u64)SZ_2M)

/* region_intersects() sees the outermost resource only, so System RAM on persistent
 * memory looks persistent to it. The struct pages tell the two apart.
 */
static bool domain_is_device(phys_addr_t start, size_t len)
{
	phys_addr_t at = start, end = start + len;

	for (; at < end; at = ALIGN_DOWN(at, DOMAIN_STEP) + DOMAIN_STEP)
		if (!is_zone_device_page(pfn_to_page(PHYS_PFN(at))))
			return false;
	return true;
}

bool cairn_domain_is_pmem(phys_addr_t start, size_t len)
{
	return region_intersects(start, len, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY) ==
		       REGION_INTERSECTS &&
	       domain_is_device(start, len);
}
