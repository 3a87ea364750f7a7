// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* AETH values: credit count code (IBTA table 42), RNR NAK timer (table 45). */
#include <linux/kernel.h>
#include "engine/aeth.h"
#include "wire/hdr.h"

/* Code n stands for credits[n] receives; the code is rounded down. */
static const u16 credits[31] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768,
};

/* Units of 10 us. */
static const u16 rnr_timer[32] = {
	/* 0 is the longest */
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};

u8 cairn_aeth_encode_credits(int posted)
{
	u32 lo = 0, hi = ARRAY_SIZE(credits) - 1;

	if (posted < 0)
		return CAIRN_AETH_CREDIT_INVALID;
	while (lo < hi) {
		u32 mid = (lo + hi + 1) / 2;

		if (credits[mid] <= posted)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

int cairn_aeth_decode_credits(u8 syndrome)
{
	u8 code = syndrome & CAIRN_AETH_VALUE_MASK;

	return code < ARRAY_SIZE(credits) ? credits[code] : -1;
}

u64 cairn_aeth_rnr_ns(u8 code)
{
	code &= CAIRN_AETH_VALUE_MASK;
	return (code ? rnr_timer[code] : 65536) * 10000ULL;
}
