/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC of RoCEv2 (IBTA 7.8.1, Annex A17.3.3).
 *
 * CRC-32 (polynomial 0x04C11DB7, reflected, seed all ones, result inverted)
 * over eight bytes of ones in place of the LRH, then the packet from the IP
 * header to the last pad byte with these fields as ones: IPv4 TOS, TTL and
 * header checksum; IPv6 traffic class, flow label and hop limit; UDP checksum;
 * BTH byte 4. It is stored least significant byte first.
 */
#ifndef CAIRN_WIRE_ICRC_H
#define CAIRN_WIRE_ICRC_H

#include "wire/hdr.h"

/* Chosen once, at module load, by cairn_icrc_select(). */
struct cairn_icrc_impl {
	const char *name;
	/* Raw CRC-32 (reflected, no inversion) of len bytes continued from crc. */
	u32 (*update)(u32 crc, const void *data, u32 len);
};

/**
 * cairn_icrc_select() - set the implementation of the running system
 * @impl: NULL for the portable one
 *
 * Process context, before any other call.
 */
void cairn_icrc_select(const struct cairn_icrc_impl *impl);

extern const struct cairn_icrc_impl cairn_icrc_portable;

/**
 * cairn_icrc_headers4() - start the ICRC of an IPv4 packet
 * @ip: the 20 bytes of IPv4 header (no options) as on the wire
 * @udp: the 8 bytes of UDP header
 * @bth: the headers from BTH on
 * @bth_len: bytes at @bth to cover, at least 12
 */
u32 cairn_icrc_headers4(const u8 *ip, const u8 *udp, const u8 *bth,
			u32 bth_len);

/* The same for IPv6: @ip has 40 bytes. */
u32 cairn_icrc_headers6(const u8 *ip, const u8 *udp, const u8 *bth,
			u32 bth_len);

/* Continue over payload and pad. */
u32 cairn_icrc_update(u32 crc, const void *data, u32 len);

/* The four bytes to store, or to compare with, at the end of the packet. */
__le32 cairn_icrc_finish(u32 crc);

#endif
