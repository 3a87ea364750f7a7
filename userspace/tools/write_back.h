/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program makes its own stores to persistent memory durable: their cache lines are
 * written back before any later store.
 */
#ifndef CAIRN_WRITE_BACK_H
#define CAIRN_WRITE_BACK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <emmintrin.h>

static inline size_t write_back_line_size(void)
{
	return 64;
}

static inline void write_back_line(uintptr_t line)
{
	_mm_clflush((const void *)line);
}

static inline void write_back_fence(void)
{
	_mm_mfence();
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

#define WRITE_BACK_DCPOP	(1ul << 16)	/* HWCAP_DCPOP */

static inline size_t write_back_line_size(void)
{
	uint64_t ctr;

	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	return (size_t)4 << (ctr >> 16 & 15);
}

/* DC CVAP where there is a point of persistence, else DC CVAC: as the kernel does */
static inline void write_back_line(uintptr_t line)
{
	if (getauxval(AT_HWCAP) & WRITE_BACK_DCPOP)
		__asm__ volatile("sys #3, c7, c12, #1, %0" : : "r"(line) : "memory");
	else
		__asm__ volatile("dc cvac, %0" : : "r"(line) : "memory");
}

static inline void write_back_fence(void)
{
	__asm__ volatile("dsb sy" : : : "memory");
}

#else
#error "writing cache lines back is not known on this machine"
#endif

static inline void write_back(const void *bytes, size_t length)
{
	uintptr_t end = (uintptr_t)bytes + length;
	size_t size = write_back_line_size();

	for (uintptr_t at = (uintptr_t)bytes & -size; at < end; at += size)
		write_back_line(at);
	write_back_fence();
}

#endif /* CAIRN_WRITE_BACK_H */
