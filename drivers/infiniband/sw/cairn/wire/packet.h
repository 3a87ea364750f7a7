/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The description of one packet, with its headers in host order, and the functions
 * that parse bytes into it and build bytes from it.
 */
#ifndef CAIRN_WIRE_PACKET_H
#define CAIRN_WIRE_PACKET_H

#include "wire/opcode.h"

struct cairn_pkt {
	const struct cairn_opcode *op;
	u8 opcode;
	u8 pad;			/* bytes, 0..3 */
	bool solicited;
	bool ack_req;
	bool becn;
	u16 pkey;
	u32 qpn;		/* destination */
	u32 psn;

	/* Each is valid if op->hdrs has its header. */
	u64 va;			/* RETH, AtomicETH */
	u32 rkey;		/* RETH, AtomicETH, IETH (to invalidate) */
	u32 dma_len;		/* RETH, bytes */
	u8 plt;			/* FETH: enum cairn_flush_plt or any */
	u8 sel;			/* FETH: enum cairn_flush_sel or any */
	u64 swap_add;
	u64 compare;
	u64 orig;		/* AtomicAckETH */
	u8 syndrome;		/* AETH */
	u8 durability;		/* PERSIST ACK: enum cairn_durability or any */
	u32 msn;
	__be32 imm;
	union {
		u32 qkey;	/* DETH */
		u32 srqn;	/* XRCETH */
	};
	u32 src_qpn;		/* DETH */

	u32 payload_off;	/* from the first BTH byte */
	u32 payload_len;	/* bytes, pad and ICRC excluded */

	bool ce;		/* set by the receive path: ECN reports congestion */
	u16 flow;		/* set by the receive path: UDP source port, any byte order */
	/* Set by the receive path: the object that has the payload. The engine passes it
	 * on, but never reads it.
	 */
	const void *cookie;
	u32 base;		/* offset of the BTH in cookie */
	bool handed;		/* cookie is the sender's memory, on this host */
	u32 sender;		/* set by the receive path: QP on this host; 0: unknown */
	bool kept;		/* set by the responder: it was kept ahead of a gap */
	/* cairn_resp_rx_refused() and kept packets: the request is not to be executed, but
	 * answered with this syndrome, or CAIRN_REFUSE_QP_FATAL; 0: no such thing.
	 */
	u8 refuse;
};

#define CAIRN_REFUSE_QP_FATAL	0xff	/* end the queue pair instead */

/* Why a packet is dropped. */
enum cairn_parse_error {
	CAIRN_PARSE_OK = 0,
	CAIRN_PARSE_SHORT,	/* shorter than its headers, pad and ICRC */
	CAIRN_PARSE_OPCODE,	/* opcode not defined */
	CAIRN_PARSE_VERSION,	/* TVer not 0 */
	CAIRN_PARSE_LENGTH,	/* payload where none may be, bad pad or CNP */
};

/**
 * cairn_pkt_parse() - read and check the headers of one packet
 * @pkt: filled in; ce, flow, cookie, base, handed, sender, kept and refuse are not changed
 * @hdr: the packet from its BTH on, any alignment; min(@len, CAIRN_MAX_HDR)
 *	bytes readable
 * @len: bytes from the BTH to the end of the ICRC
 *
 * Every length is checked against @len; no byte behind it is read. These checks
 * need state and are the caller's: the ICRC (wire/icrc.h), the opcode against the
 * QP, the payload against path MTU and DMA length. FECN, MigReq and the pad's
 * contents are ignored. IBTA 9.2, 9.3, 9.6; Annex A17.9.3 (CNP).
 *
 * Context: any.
 * Return: CAIRN_PARSE_OK, or why the packet is dropped; @pkt is then partly
 * undefined.
 */
enum cairn_parse_error cairn_pkt_parse(struct cairn_pkt *pkt, const u8 *hdr,
				       u32 len);

/**
 * cairn_pkt_build() - write the headers of one packet
 * @hdr: room for op->hdr_len bytes (CAIRN_MAX_HDR is enough), any alignment
 * @pkt: opcode, solicited, ack_req, becn, pkey, qpn, psn, payload_len and the
 *	extension fields that the opcode has; op and pad are derived. 24-bit
 *	numbers are truncated to 24 bits, durability to 7.
 *
 * MigReq is set in all but a CNP, as hardware does. The payload is followed by
 * cairn_pkt_pad() zero bytes and the ICRC. IBTA 9.2, 9.3.
 *
 * Context: any.
 * Return: the header length in bytes; 0 when the opcode is not defined: nothing
 * is written.
 */
u32 cairn_pkt_build(u8 *hdr, const struct cairn_pkt *pkt);

/**
 * cairn_pkt_pad() - length of the pad between payload and ICRC (IBTA 9.2.4)
 * @payload_len: bytes
 *
 * Return: 0..3 bytes.
 */
static inline u32 cairn_pkt_pad(u32 payload_len)
{
	return -payload_len & 3;
}

/* Does a request name memory of its receiver? */
static inline bool cairn_pkt_has_key(const struct cairn_pkt *pkt)
{
	return cairn_opcodes[pkt->opcode].hdrs & (CAIRN_HDR_RETH | CAIRN_HDR_ATOMICETH);
}

#endif
