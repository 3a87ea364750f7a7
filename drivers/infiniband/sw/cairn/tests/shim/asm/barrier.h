/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_ASM_BARRIER_H
#define CAIRN_SHIM_ASM_BARRIER_H

/* Waits for the write-backs of the simulated CPU (sim/memory.c). */
void pmem_wmb(void);

/* Orders stores and waits for no write-back, as on some architectures. */
#define wmb()	__sync_synchronize()

#endif
