/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The persistence domain: which memory is in it, and how bytes get there.
 *
 * Write-back and fence are two steps, so that one fence serves the lines of
 * many packets: cairn_domain_writeback() for each piece, then
 * cairn_domain_fence() on the same CPU. In between nothing is promised.
 */
#ifndef CAIRN_PERSIST_DOMAIN_H
#define CAIRN_PERSIST_DOMAIN_H

#include <linux/types.h>

/* Can this kernel write lines back at all? Constant. */
bool cairn_domain_can_writeback(void);

/**
 * cairn_domain_is_pmem() - is physical memory persistent, all of it?
 * @start: physical address
 * @len: bytes, not 0
 *
 * As the kernel's resource tree describes it (IORES_DESC_PERSISTENT_MEMORY).
 * origins.rst, P3. Context: process.
 */
bool cairn_domain_is_pmem(phys_addr_t start, size_t len);

/**
 * cairn_domain_writeback() - start the way of bytes into the domain
 * @va: kernel address, of memory that is mapped write-back
 * @len: bytes
 *
 * Writes back the cache lines that hold the bytes, and no others.
 * origins.rst, P4. Context: any; the fence follows on the same CPU without a
 * sleep between.
 */
void cairn_domain_writeback(void *va, size_t len);

/* What this CPU has written back is durable on return. origins.rst, P4, P8. Any
 * context.
 */
void cairn_domain_fence(void);

#endif
