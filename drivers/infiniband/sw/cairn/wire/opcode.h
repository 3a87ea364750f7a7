/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * BTH opcodes: one const table with the headers and the kind of each of the 256
 * codes. Header offsets are derived from the header list, never written down.
 */
#ifndef CAIRN_WIRE_OPCODE_H
#define CAIRN_WIRE_OPCODE_H

#include "wire/hdr.h"

/* In wire order: the offset of a header is the length of the bits below it. */
enum cairn_hdr {
	CAIRN_HDR_BTH = 1 << 0,
	CAIRN_HDR_DETH = 1 << 1,
	CAIRN_HDR_XRCETH = 1 << 2,
	CAIRN_HDR_FETH = 1 << 3,
	CAIRN_HDR_RETH = 1 << 4,
	CAIRN_HDR_ATOMICETH = 1 << 5,
	CAIRN_HDR_AETH = 1 << 6,
	CAIRN_HDR_ATOMICACKETH = 1 << 7,
	CAIRN_HDR_IMMDT = 1 << 8,
	CAIRN_HDR_IETH = 1 << 9,
};

#define CAIRN_HDR_LEN_IF(mask, bit, hdr)				\
	(((mask) & CAIRN_HDR_##bit) ? sizeof(struct cairn_##hdr) : 0)

/* Length of a header list, bytes. */
#define CAIRN_HDR_LEN(mask)						\
	(CAIRN_HDR_LEN_IF(mask, BTH, bth) +				\
	 CAIRN_HDR_LEN_IF(mask, DETH, deth) +				\
	 CAIRN_HDR_LEN_IF(mask, XRCETH, xrceth) +			\
	 CAIRN_HDR_LEN_IF(mask, FETH, feth) +				\
	 CAIRN_HDR_LEN_IF(mask, RETH, reth) +				\
	 CAIRN_HDR_LEN_IF(mask, ATOMICETH, atomiceth) +			\
	 CAIRN_HDR_LEN_IF(mask, AETH, aeth) +				\
	 CAIRN_HDR_LEN_IF(mask, ATOMICACKETH, atomicacketh) +		\
	 CAIRN_HDR_LEN_IF(mask, IMMDT, immdt) +				\
	 CAIRN_HDR_LEN_IF(mask, IETH, ieth))

/* Offset of header @bit in a list that has it, bytes from the BTH. */
#define CAIRN_HDR_LEN_BELOW(mask, bit)	CAIRN_HDR_LEN((mask) & ((bit) - 1))

/* cairn_qp_reliable() relies on the order: reliable transports come first. */
enum cairn_transport {
	CAIRN_TRANSPORT_NONE,	/* no packet has it: opcode not defined */
	CAIRN_TRANSPORT_RC,
	CAIRN_TRANSPORT_XRC,
	CAIRN_TRANSPORT_UC,
	CAIRN_TRANSPORT_UD,
	CAIRN_TRANSPORT_CNP,
};

enum cairn_kind {
	CAIRN_KIND_NONE,
	CAIRN_KIND_SEND,
	CAIRN_KIND_WRITE,
	CAIRN_KIND_READ_REQ,
	CAIRN_KIND_ATOMIC_REQ,
	CAIRN_KIND_ATOMIC_WRITE,
	CAIRN_KIND_FLUSH,
	CAIRN_KIND_READ_RESP,
	CAIRN_KIND_ACK,
	CAIRN_KIND_ATOMIC_ACK,
	CAIRN_KIND_CNP,
	CAIRN_KIND_WRITE_PERSIST,
	CAIRN_KIND_PERSIST_ACK,
};

enum cairn_op_flags {
	CAIRN_OP_FIRST = 1 << 0,	/* starts a message (FIRST, ONLY) */
	CAIRN_OP_LAST = 1 << 1,		/* ends a message (LAST, ONLY) */
	CAIRN_OP_PAYLOAD = 1 << 2,	/* may carry payload */
	CAIRN_OP_RESPONSE = 1 << 3,	/* goes to the requester */
	CAIRN_OP_ANSWERED = 1 << 4,	/* a response acknowledges it, not an ACK */
	CAIRN_OP_TO_SRQ = 1 << 5,	/* an XRCETH names the receive queue */
};

struct cairn_opcode {
	const char *name;	/* NULL: not defined */
	u8 transport;		/* enum cairn_transport */
	u8 kind;		/* enum cairn_kind */
	u8 flags;		/* enum cairn_op_flags */
	u16 hdrs;		/* enum cairn_hdr, with BTH */
	u8 hdr_len;		/* bytes, BTH included, 12..CAIRN_MAX_HDR */
};

/* Transport prefix and operation of the BTH opcode (IBTA table 38). */
#define CAIRN_BTH_RC		0x00
#define CAIRN_BTH_UC		0x20
#define CAIRN_BTH_UD		0x60
#define CAIRN_BTH_XRC		0xa0
#define CAIRN_BTH_CNP		0x81
#define CAIRN_BTH_OP_MASK	0x1f

enum cairn_bth_op {
	CAIRN_BTH_SEND_FIRST = 0x00,
	CAIRN_BTH_SEND_MIDDLE = 0x01,
	CAIRN_BTH_SEND_LAST = 0x02,
	CAIRN_BTH_SEND_LAST_IMM = 0x03,
	CAIRN_BTH_SEND_ONLY = 0x04,
	CAIRN_BTH_SEND_ONLY_IMM = 0x05,
	CAIRN_BTH_WRITE_FIRST = 0x06,
	CAIRN_BTH_WRITE_MIDDLE = 0x07,
	CAIRN_BTH_WRITE_LAST = 0x08,
	CAIRN_BTH_WRITE_LAST_IMM = 0x09,
	CAIRN_BTH_WRITE_ONLY = 0x0a,
	CAIRN_BTH_WRITE_ONLY_IMM = 0x0b,
	CAIRN_BTH_READ_REQUEST = 0x0c,
	CAIRN_BTH_READ_RESP_FIRST = 0x0d,
	CAIRN_BTH_READ_RESP_MIDDLE = 0x0e,
	CAIRN_BTH_READ_RESP_LAST = 0x0f,
	CAIRN_BTH_READ_RESP_ONLY = 0x10,
	CAIRN_BTH_ACK = 0x11,
	CAIRN_BTH_ATOMIC_ACK = 0x12,
	CAIRN_BTH_CMP_SWAP = 0x13,
	CAIRN_BTH_FETCH_ADD = 0x14,
	CAIRN_BTH_SEND_LAST_INV = 0x16,
	CAIRN_BTH_SEND_ONLY_INV = 0x17,
	CAIRN_BTH_FLUSH = 0x1c,
	CAIRN_BTH_ATOMIC_WRITE = 0x1d,
	/* Manufacturer-specific range, RC only (Documentation/wire.rst). */
	CAIRN_BTH_WRITE_PERSIST_FIRST = 0xc0,
	CAIRN_BTH_WRITE_PERSIST_MIDDLE = 0xc1,
	CAIRN_BTH_WRITE_PERSIST_LAST = 0xc2,
	CAIRN_BTH_WRITE_PERSIST_ONLY = 0xc3,
	CAIRN_BTH_WRITE_PERSIST_LAST_IMM = 0xc4,
	CAIRN_BTH_WRITE_PERSIST_ONLY_IMM = 0xc5,
	CAIRN_BTH_PERSIST_ACK = 0xc8,
};

/* Indexed by the BTH opcode. A code that is not defined has no name. */
extern const struct cairn_opcode cairn_opcodes[256];

#endif
