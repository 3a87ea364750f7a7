/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What an AETH says in codes. */
#ifndef CAIRN_ENGINE_AETH_H
#define CAIRN_ENGINE_AETH_H

#include <linux/types.h>

u8 cairn_credits_encode(int posted);	/* negative: credits do not apply */
int cairn_credits_decode(u8 syndrome);	/* -1: credits do not apply */
u64 cairn_rnr_timer_ns(u8 code);

#endif
