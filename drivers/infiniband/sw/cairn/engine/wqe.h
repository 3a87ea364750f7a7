/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Properties of send opcodes, and the check of a private WQE copy. */
#ifndef CAIRN_ENGINE_WQE_H
#define CAIRN_ENGINE_WQE_H

#include "engine/qp.h"

enum cairn_wqe_op_flags {
	CAIRN_WOP_INLINE = 1 << 0,	/* may carry inline data */
	CAIRN_WOP_CREDIT = 1 << 1,	/* consumes a receive at the peer */
	CAIRN_WOP_READS = 1 << 2,	/* has a response: bounded, replayed */
	CAIRN_WOP_ATOMIC = 1 << 3,
	CAIRN_WOP_LOCAL = 1 << 4,	/* sends no packet */
	CAIRN_WOP_RETH = 1 << 5,	/* first packet has a RETH */
	CAIRN_WOP_EXTRA = 1 << 6,	/* last packet has an IMM or IETH */
	CAIRN_WOP_PERSIST = 1 << 7,	/* ends when its data is durable */
};

struct cairn_wqe_op {
	u8 transports;		/* bit per enum cairn_transport, 0: undefined */
	u8 flags;		/* enum cairn_wqe_op_flags */
	u8 cqe_opcode;
	/* BTH operation of each position in a message. */
	u8 first, middle, last, only;
};

extern const struct cairn_wqe_op cairn_wqe_ops[CAIRN_WQE_OPCODES];

/**
 * cairn_wqe_check_send() - check a private copy of a send WQE
 * @qpc: the QP, for its limits
 * @wqe: the copy, all of its units
 * @length: the message length in bytes
 *
 * Return: 0, or the enum cairn_cqe_status of the failure.
 */
u8 cairn_wqe_check_send(const struct cairn_qpc *qpc,
			const union cairn_wqe_buf *wqe, u32 *length);

/* The same for a receive WQE of @units units. */
u8 cairn_wqe_check_recv(const struct cairn_qpc *qpc,
			const union cairn_wqe_buf *wqe, u32 units, u32 *length);

static inline struct cairn_sge *cairn_wqe_sges(union cairn_wqe_buf *wqe)
{
	return (struct cairn_sge *)(wqe->bytes + CAIRN_WQE_DATA_OFFSET);
}

/* The tokens of a PERSIST_DONE, whose copy was checked. */
static inline const u64 *cairn_wqe_tokens(const struct cairn_send_wqe *wqe)
{
	return (const u64 *)((const u8 *)wqe + CAIRN_WQE_DATA_OFFSET);
}

#endif
