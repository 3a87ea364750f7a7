/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits of packets in flight, and how a message is cut into packets. */
#ifndef CAIRN_ENGINE_WINDOW_H
#define CAIRN_ENGINE_WINDOW_H

#include <linux/minmax.h>
#include "engine/qp.h"

/* Limit of unacknowledged data of one QP, requested READ responses included. A busy
 * receiver must be able to queue all of it (lane/exec.c bounds its queue).
 */
#define CAIRN_WINDOW_BYTES	(512 * 1024)
#define CAIRN_WINDOW_PACKETS	512
/* Packets after which an acknowledgement is requested at the latest. */
#define CAIRN_ACK_INTERVAL	64
/* A train fits an IP packet of 64 KiB with all its headers. */
#define CAIRN_TRAIN_BYTES	64000
/* Outstanding PSNs stay comparable (IBTA 9.7.2). */
#define CAIRN_PSN_SPAN		((1u << 23) - 1)

/* Packets (PSNs) of @length bytes; an empty message has one. */
static inline u32 cairn_window_npkts(const struct cairn_qpc *qpc, u32 length)
{
	u32 pmtu = qpc->attrs.pmtu;

	return length ? (length - 1) / pmtu + 1 : 1;
}

/* Bytes that count for the rate: @n packets of an opcode, @payload in all. */
static inline u32 cairn_window_packet_bytes(u8 opcode, u32 n, u32 payload)
{
	return n * (cairn_opcodes[opcode].hdr_len + CAIRN_ICRC_LEN) + payload +
	       cairn_pkt_pad(payload);
}

/* The window in packets. */
static inline u32 cairn_window(const struct cairn_qpc *qpc)
{
	return min_t(u32, CAIRN_WINDOW_BYTES / qpc->attrs.pmtu,
		     CAIRN_WINDOW_PACKETS);
}

/* Response packets of one READ request. A longer READ takes several requests,
 * each of which starts at a multiple of this number.
 */
static inline u32 cairn_window_read_chunk(const struct cairn_qpc *qpc)
{
	return cairn_window(qpc) / 2;
}

/* Request messages (SSNs) that a READ of @npkts packets takes. */
static inline u32 cairn_window_read_requests(const struct cairn_qpc *qpc, u32 npkts)
{
	return (npkts - 1) / cairn_window_read_chunk(qpc) + 1;
}

#endif
