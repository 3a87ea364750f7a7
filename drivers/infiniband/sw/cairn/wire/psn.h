/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * 24-bit sequence arithmetic for PSN, MSN and SSN (IBTA 9.7.2). Two numbers
 * are compared by their distance on the ring of 2^24, which is meaningful
 * while they are less than 2^23 apart.
 */
#ifndef CAIRN_WIRE_PSN_H
#define CAIRN_WIRE_PSN_H

#include "wire/hdr.h"

static inline u32 cairn_psn_add(u32 psn, u32 n)
{
	return (psn + n) & CAIRN_24BIT_MASK;
}

/* Signed distance from b to a: positive when a comes after b. */
static inline s32 cairn_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

#endif
