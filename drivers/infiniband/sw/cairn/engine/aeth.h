/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Codes in an AETH. */
#ifndef CAIRN_ENGINE_AETH_H
#define CAIRN_ENGINE_AETH_H

#include <linux/types.h>

u8 cairn_aeth_encode_credits(int posted);	/* negative: credits do not apply */
int cairn_aeth_decode_credits(u8 syndrome);	/* -1: credits do not apply */
u64 cairn_aeth_rnr_ns(u8 code);

#endif
