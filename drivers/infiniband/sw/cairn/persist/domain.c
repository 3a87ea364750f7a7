// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/compiler.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <asm/barrier.h>
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

void cairn_domain_writeback(void *va, size_t len)
{
	arch_wb_cache_pmem(va, len);
}

/* A function of its own, so that whoever watches the domain can probe it. */
noinline void cairn_domain_fence(void)
{
	/* Completes the write-backs of this CPU before any later store. */
	pmem_wmb();
}
