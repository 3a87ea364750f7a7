/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The persistence domain: which memory is in it. flush.h: how bytes get there. */
#ifndef CAIRN_PERSIST_DOMAIN_H
#define CAIRN_PERSIST_DOMAIN_H

#include <linux/types.h>

/* Can this kernel write lines back at all? Constant. */
bool cairn_domain_can_writeback(void);

/**
 * cairn_domain_is_pmem() - is physical memory persistent, all of it?
 * @start: physical address, of memory that has a struct page
 * @len: bytes, not 0
 *
 * As the kernel's resource tree describes it (IORES_DESC_PERSISTENT_MEMORY), and
 * used as a device's memory (ZONE_DEVICE), not as System RAM. origins.rst, P3.
 * Context: process.
 */
bool cairn_domain_is_pmem(phys_addr_t start, size_t len);

#endif
