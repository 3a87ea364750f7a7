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

struct cairn_icrc_impl {
	const char *name;
	/* Raw CRC-32 (reflected, no inversion) of len bytes continued from crc;
	 * any alignment, any length, callable wherever packets are handled.
	 */
	u32 (*update)(u32 crc, const void *data, u32 len);
};

/* Four interleaved streams, 16 KiB of tables: the portable one. */
extern const struct cairn_icrc_impl cairn_icrc_portable;
/* fold.c: no tables but for the last 320 bytes and for short data. */
extern const struct cairn_icrc_impl cairn_icrc_folding;
/* One stream, 8 KiB of tables: for processors that gain nothing from four. */
extern const struct cairn_icrc_impl cairn_icrc_slicing;

/**
 * cairn_icrc_select() - set the implementation of the running system
 * @impl: NULL for the portable one
 *
 * The first call also computes the tables of the implementations above, so a
 * calibration selects NULL before it times them. All of it is read-only once
 * the module has initialised.
 *
 * Context: module initialisation, before any other call; not concurrently.
 */
void cairn_icrc_select(const struct cairn_icrc_impl *impl);

/**
 * cairn_icrc_ip4() - start the ICRC of IPv4 packets
 * @ip: the 20 bytes of IPv4 header (no options) as on the wire
 * @udp: the 8 bytes of UDP header
 *
 * The fields that routers may change are taken as ones whatever they hold, so
 * checksums need not be there yet; lengths and addresses must be. The id is left
 * out: packets of a train differ in nothing else before their BTH. @ip and @udp
 * need no alignment. IBTA 7.8.1, Annex A17.3.3.
 *
 * Context: any.
 * Return: for cairn_icrc_bth().
 */
u32 cairn_icrc_ip4(const u8 *ip, const u8 *udp);

/**
 * cairn_icrc_ip6() - start the ICRC of IPv6 packets
 * @ip: the 40 bytes of IPv6 header as on the wire, UDP following directly
 * @udp: as for cairn_icrc_ip4()
 *
 * Context: any.
 * Return: for cairn_icrc_bth(), with an id of 0.
 */
u32 cairn_icrc_ip6(const u8 *ip, const u8 *udp);

/**
 * cairn_icrc_bth() - continue the ICRC of one packet over its headers
 * @base: of cairn_icrc_ip4() or cairn_icrc_ip6()
 * @id: IPv4 id of the packet; 0 for IPv6
 * @bth: the headers from BTH on, any alignment
 * @len: bytes at @bth to cover, at least 12; payload may be among them
 *
 * Context: any.
 * Return: the raw CRC, for cairn_icrc_update() and cairn_icrc_finish().
 */
u32 cairn_icrc_bth(u32 base, u16 id, const u8 *bth, u32 len);

/**
 * cairn_icrc_update() - continue over payload and pad
 * @crc: what the last call returned
 * @data: any alignment
 * @len: bytes, may be 0
 *
 * Context: any.
 * Return: the raw CRC.
 */
u32 cairn_icrc_update(u32 crc, const void *data, u32 len);

/**
 * cairn_icrc_finish() - end an ICRC
 * @crc: the raw CRC over everything up to the last pad byte
 *
 * Context: any.
 * Return: the four bytes to store, or to compare with, at the end of the packet.
 */
__le32 cairn_icrc_finish(u32 crc);

#endif
