/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_PREFETCH_H
#define CAIRN_SHIM_LINUX_PREFETCH_H

#ifdef COUNT_LINES	/* tests/engine_scale_bench.c */
void cairn_shim_prefetch(const void *p);

#define prefetch(p)		cairn_shim_prefetch(p)
#define prefetchw(p)		cairn_shim_prefetch(p)
#else
/* The compiler leaves out calls of functions that do nothing but prefetch, but for the
 * asm.
 */
#define prefetch(p)							\
	do {								\
		__builtin_prefetch(p);					\
		asm volatile("");					\
	} while (0)
#define prefetchw(p)							\
	do {								\
		__builtin_prefetch(p, 1);				\
		asm volatile("");					\
	} while (0)
#endif

#endif
