// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The opcode table (IBTA vol. 1 table 38, Annex A17 for the CNP, A19 for FLUSH and
 * ATOMIC WRITE, and ours in the manufacturer-specific range).
 */
#include <linux/build_bug.h>
#include "wire/opcode.h"

#define F	CAIRN_OP_FIRST
#define L	CAIRN_OP_LAST
#define P	CAIRN_OP_PAYLOAD
#define R	CAIRN_OP_RESPONSE
#define A	CAIRN_OP_ANSWERED
#define BTH	CAIRN_HDR_BTH
#define RETH	CAIRN_HDR_RETH
#define FETH	CAIRN_HDR_FETH
#define AETH	CAIRN_HDR_AETH
#define IMM	CAIRN_HDR_IMMDT
#define INV	CAIRN_HDR_IETH
#define DETH	CAIRN_HDR_DETH
#define ATOM	CAIRN_HDR_ATOMICETH
#define ATOMACK	CAIRN_HDR_ATOMICACKETH

#define ENTRY(nm, t, k, fl, hdr)					\
	{								\
		.name = nm,						\
		.transport = CAIRN_TRANSPORT_##t,			\
		.kind = CAIRN_KIND_##k,					\
		.flags = (fl),						\
		.hdrs = (hdr),						\
		.hdr_len = CAIRN_HDR_LEN(hdr) +				\
			   BUILD_BUG_ON_ZERO(CAIRN_HDR_LEN(hdr) >	\
					     CAIRN_MAX_HDR),		\
	}

#define OP(t, op, k, fl, ext)						\
	[CAIRN_BTH_##t | CAIRN_BTH_##op] =				\
		ENTRY(#t " " #op, t, k, fl, BTH | (ext))

const struct cairn_opcode cairn_opcodes[256] = {
	OP(RC, SEND_FIRST, SEND, F | P, 0),
	OP(RC, SEND_MIDDLE, SEND, P, 0),
	OP(RC, SEND_LAST, SEND, L | P, 0),
	OP(RC, SEND_LAST_IMM, SEND, L | P, IMM),
	OP(RC, SEND_ONLY, SEND, F | L | P, 0),
	OP(RC, SEND_ONLY_IMM, SEND, F | L | P, IMM),
	OP(RC, WRITE_FIRST, WRITE, F | P, RETH),
	OP(RC, WRITE_MIDDLE, WRITE, P, 0),
	OP(RC, WRITE_LAST, WRITE, L | P, 0),
	OP(RC, WRITE_LAST_IMM, WRITE, L | P, IMM),
	OP(RC, WRITE_ONLY, WRITE, F | L | P, RETH),
	OP(RC, WRITE_ONLY_IMM, WRITE, F | L | P, RETH | IMM),
	OP(RC, READ_REQUEST, READ_REQ, F | L | A, RETH),
	OP(RC, READ_RESP_FIRST, READ_RESP, F | P | R, AETH),
	OP(RC, READ_RESP_MIDDLE, READ_RESP, P | R, 0),
	OP(RC, READ_RESP_LAST, READ_RESP, L | P | R, AETH),
	OP(RC, READ_RESP_ONLY, READ_RESP, F | L | P | R, AETH),
	OP(RC, ACK, ACK, F | L | R, AETH),
	OP(RC, ATOMIC_ACK, ATOMIC_ACK, F | L | R, AETH | ATOMACK),
	OP(RC, CMP_SWAP, ATOMIC_REQ, F | L | A, ATOM),
	OP(RC, FETCH_ADD, ATOMIC_REQ, F | L | A, ATOM),
	OP(RC, SEND_LAST_INV, SEND, L | P, INV),
	OP(RC, SEND_ONLY_INV, SEND, F | L | P, INV),
	OP(RC, FLUSH, FLUSH, F | L | A, FETH | RETH),
	OP(RC, ATOMIC_WRITE, ATOMIC_WRITE, F | L | P | A, RETH),

	OP(RC, WRITE_PERSIST_FIRST, WRITE_PERSIST, F | P, RETH),
	OP(RC, WRITE_PERSIST_MIDDLE, WRITE_PERSIST, P, 0),
	OP(RC, WRITE_PERSIST_LAST, WRITE_PERSIST, L | P, 0),
	OP(RC, WRITE_PERSIST_ONLY, WRITE_PERSIST, F | L | P, RETH),
	OP(RC, PERSIST_ACK, PERSIST_ACK, F | L | R, AETH),

	OP(UC, SEND_FIRST, SEND, F | P, 0),
	OP(UC, SEND_MIDDLE, SEND, P, 0),
	OP(UC, SEND_LAST, SEND, L | P, 0),
	OP(UC, SEND_LAST_IMM, SEND, L | P, IMM),
	OP(UC, SEND_ONLY, SEND, F | L | P, 0),
	OP(UC, SEND_ONLY_IMM, SEND, F | L | P, IMM),
	OP(UC, WRITE_FIRST, WRITE, F | P, RETH),
	OP(UC, WRITE_MIDDLE, WRITE, P, 0),
	OP(UC, WRITE_LAST, WRITE, L | P, 0),
	OP(UC, WRITE_LAST_IMM, WRITE, L | P, IMM),
	OP(UC, WRITE_ONLY, WRITE, F | L | P, RETH),
	OP(UC, WRITE_ONLY_IMM, WRITE, F | L | P, RETH | IMM),

	OP(UD, SEND_ONLY, SEND, F | L | P, DETH),
	OP(UD, SEND_ONLY_IMM, SEND, F | L | P, DETH | IMM),

	[CAIRN_BTH_CNP] = ENTRY("CNP", CNP, CNP, F | L | P | R, BTH),
};
