/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which memory belongs to the persistence domain. flush.h moves bytes into it. */
#ifndef CAIRN_PERSIST_DOMAIN_H
#define CAIRN_PERSIST_DOMAIN_H

#include <linux/types.h>

/* Can this kernel write cache lines back? Constant. */
bool cairn_domain_can_writeback(void);

/**
 * cairn_domain_is_pmem() - is all of a physical range persistent memory?
 * @start: physical address, of memory that has a struct page
 * @len: bytes, not 0
 *
 * The kernel's resource tree must describe it as IORES_DESC_PERSISTENT_MEMORY, and
 * its pages must be a device's (ZONE_DEVICE), not System RAM. origins.rst, P3.
 *
 * Context: process.
 * Return: true if it is.
 */
bool cairn_domain_is_pmem(phys_addr_t start, size_t len);

#endif
