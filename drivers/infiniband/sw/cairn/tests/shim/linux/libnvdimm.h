/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_LIBNVDIMM_H
#define CAIRN_SHIM_LINUX_LIBNVDIMM_H

#include <stddef.h>

/* The write-back of the simulated CPU (sim/memory.c). */
void arch_wb_cache_pmem(void *addr, size_t size);

#endif
