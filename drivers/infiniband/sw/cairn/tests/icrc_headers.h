/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The ICRC over the headers of a packet that is no part of a train. */
#ifndef CAIRN_TESTS_ICRC_HEADERS_H
#define CAIRN_TESTS_ICRC_HEADERS_H

#include "wire/icrc.h"

static inline u32 icrc_headers4(const u8 *ip, const u8 *udp, const u8 *bth, u32 len)
{
	return cairn_icrc_bth(cairn_icrc_ip4(ip, udp), ip[4] << 8 | ip[5], bth, len);
}

static inline u32 icrc_headers6(const u8 *ip, const u8 *udp, const u8 *bth, u32 len)
{
	return cairn_icrc_bth(cairn_icrc_ip6(ip, udp), 0, bth, len);
}

#endif
