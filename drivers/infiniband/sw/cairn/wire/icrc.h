/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC of RoCEv2 (IBTA 7.8.1, Annex A17.3.3).
 *
 * CRC-32: polynomial 0x04C11DB7, reflected, seed all ones, result inverted. It
 * covers eight bytes of ones in place of the LRH, then the packet from the IP
 * header to the last pad byte. These fields count as ones: IPv4 TOS, TTL and
 * header checksum; IPv6 traffic class, flow label and hop limit; UDP checksum;
 * BTH byte 4. The ICRC is stored least significant byte first.
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

/* Portable: four interleaved streams, 16 KiB of tables. */
extern const struct cairn_icrc_impl cairn_icrc_portable;
/* fold.c: tables only for the last 320 bytes and for short data. */
extern const struct cairn_icrc_impl cairn_icrc_folding;

/**
 * cairn_icrc_select() - set the implementation of the running system
 * @impl: NULL for the portable one
 *
 * The first call also computes the tables of the implementations above, so a
 * calibration selects NULL before it times them. Tables and selection are
 * read-only once the module has initialised.
 *
 * Context: module initialisation, before any other call; not concurrently.
 */
void cairn_icrc_select(const struct cairn_icrc_impl *impl);

/**
 * cairn_icrc_ip4() - start the ICRC of IPv4 packets
 * @ip: the 20 bytes of IPv4 header (no options) as on the wire
 * @udp: the 8 bytes of UDP header
 *
 * The fields that routers may change count as ones whatever they hold, so the
 * checksums may be missing; lengths and addresses must be set. The id is left
 * out: it is the only field before the BTH in which packets of a train differ.
 * @ip and @udp need no alignment. IBTA 7.8.1, Annex A17.3.3.
 *
 * Context: any.
 * Return: the base for cairn_icrc_bth().
 */
u32 cairn_icrc_ip4(const u8 *ip, const u8 *udp);

/**
 * cairn_icrc_ip6() - start the ICRC of IPv6 packets
 * @ip: the 40 bytes of IPv6 header as on the wire, UDP following directly
 * @udp: as for cairn_icrc_ip4()
 *
 * Context: any.
 * Return: the base for cairn_icrc_bth(), with an id of 0.
 */
u32 cairn_icrc_ip6(const u8 *ip, const u8 *udp);

/**
 * cairn_icrc_bth() - continue the ICRC of one packet over its headers
 * @base: returned by cairn_icrc_ip4() or cairn_icrc_ip6()
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
 * @crc: the last call's result
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
