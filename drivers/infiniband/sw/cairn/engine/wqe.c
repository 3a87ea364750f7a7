// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work requests: the opcode table and the check of private WQE copies. */
#include <linux/minmax.h>
#include "engine/wqe.h"

#define T(t)	(1 << CAIRN_TRANSPORT_##t)

#define MESSAGE(op)							\
	.first = CAIRN_BTH_##op##_FIRST, .middle = CAIRN_BTH_##op##_MIDDLE

const struct cairn_wqe_op cairn_wqe_ops[CAIRN_WQE_OPCODES] = {
	[CAIRN_WQE_SEND] = {
		.transports = T(RC) | T(XRC) | T(UC) | T(UD),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_CREDIT,
		.cqe_opcode = CAIRN_CQE_SEND,
		MESSAGE(SEND),
		.last = CAIRN_BTH_SEND_LAST,
		.only = CAIRN_BTH_SEND_ONLY,
	},
	[CAIRN_WQE_SEND_IMM] = {
		.transports = T(RC) | T(XRC) | T(UC) | T(UD),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_CREDIT | CAIRN_WOP_EXTRA,
		.cqe_opcode = CAIRN_CQE_SEND,
		MESSAGE(SEND),
		.last = CAIRN_BTH_SEND_LAST_IMM,
		.only = CAIRN_BTH_SEND_ONLY_IMM,
	},
	[CAIRN_WQE_SEND_INV] = {
		.transports = T(RC) | T(XRC),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_CREDIT | CAIRN_WOP_EXTRA,
		.cqe_opcode = CAIRN_CQE_SEND,
		MESSAGE(SEND),
		.last = CAIRN_BTH_SEND_LAST_INV,
		.only = CAIRN_BTH_SEND_ONLY_INV,
	},
	[CAIRN_WQE_WRITE] = {
		.transports = T(RC) | T(XRC) | T(UC),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_RETH,
		.cqe_opcode = CAIRN_CQE_WRITE,
		MESSAGE(WRITE),
		.last = CAIRN_BTH_WRITE_LAST,
		.only = CAIRN_BTH_WRITE_ONLY,
	},
	[CAIRN_WQE_WRITE_IMM] = {
		.transports = T(RC) | T(XRC) | T(UC),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_CREDIT |
			 CAIRN_WOP_RETH | CAIRN_WOP_EXTRA,
		.cqe_opcode = CAIRN_CQE_WRITE,
		MESSAGE(WRITE),
		.last = CAIRN_BTH_WRITE_LAST_IMM,
		.only = CAIRN_BTH_WRITE_ONLY_IMM,
	},
	[CAIRN_WQE_WRITE_PERSIST] = {
		.transports = T(RC),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_RETH | CAIRN_WOP_PERSIST,
		.cqe_opcode = CAIRN_CQE_WRITE_PERSIST,
		MESSAGE(WRITE_PERSIST),
		.last = CAIRN_BTH_WRITE_PERSIST_LAST,
		.only = CAIRN_BTH_WRITE_PERSIST_ONLY,
	},
	[CAIRN_WQE_WRITE_PERSIST_IMM] = {
		.transports = T(RC),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_CREDIT |
			 CAIRN_WOP_RETH | CAIRN_WOP_EXTRA | CAIRN_WOP_PERSIST,
		.cqe_opcode = CAIRN_CQE_WRITE_PERSIST,
		MESSAGE(WRITE_PERSIST),
		.last = CAIRN_BTH_WRITE_PERSIST_LAST_IMM,
		.only = CAIRN_BTH_WRITE_PERSIST_ONLY_IMM,
	},
	[CAIRN_WQE_READ] = {
		.transports = T(RC) | T(XRC),
		.flags = CAIRN_WOP_READS | CAIRN_WOP_RETH,
		.cqe_opcode = CAIRN_CQE_READ,
		.only = CAIRN_BTH_READ_REQUEST,
	},
	[CAIRN_WQE_CAS] = {
		.transports = T(RC) | T(XRC),
		.flags = CAIRN_WOP_READS | CAIRN_WOP_ATOMIC,
		.cqe_opcode = CAIRN_CQE_CAS,
		.only = CAIRN_BTH_CMP_SWAP,
	},
	[CAIRN_WQE_FAA] = {
		.transports = T(RC) | T(XRC),
		.flags = CAIRN_WOP_READS | CAIRN_WOP_ATOMIC,
		.cqe_opcode = CAIRN_CQE_FAA,
		.only = CAIRN_BTH_FETCH_ADD,
	},
	[CAIRN_WQE_ATOMIC_WRITE] = {
		.transports = T(RC) | T(XRC),
		.flags = CAIRN_WOP_INLINE | CAIRN_WOP_READS | CAIRN_WOP_RETH,
		.cqe_opcode = CAIRN_CQE_ATOMIC_WRITE,
		.only = CAIRN_BTH_ATOMIC_WRITE,
	},
	[CAIRN_WQE_FLUSH] = {
		.transports = T(RC) | T(XRC),
		.flags = CAIRN_WOP_READS | CAIRN_WOP_RETH,
		.cqe_opcode = CAIRN_CQE_FLUSH,
		.only = CAIRN_BTH_FLUSH,
	},
	[CAIRN_WQE_LOCAL_INV] = {
		.transports = T(RC) | T(UC),
		.flags = CAIRN_WOP_LOCAL,
		.cqe_opcode = CAIRN_CQE_LOCAL_INV,
	},
	[CAIRN_WQE_BIND_MW] = {
		.transports = T(RC) | T(UC),
		.flags = CAIRN_WOP_LOCAL,
		.cqe_opcode = CAIRN_CQE_BIND_MW,
	},
	[CAIRN_WQE_PERSIST_DONE] = {
		.transports = T(RC),
		.flags = CAIRN_WOP_LOCAL,
		.cqe_opcode = CAIRN_CQE_PERSIST_DONE,
	},
	[CAIRN_WQE_REG_MR] = {
		.transports = T(RC) | T(UC),
		.flags = CAIRN_WOP_LOCAL,
		.cqe_opcode = CAIRN_CQE_REG_MR,
	},
};

static u64 wqe_sge_sum(const struct cairn_sge *sge, u32 n)
{
	u64 sum = 0;

	while (n--)
		sum += sge++->length;
	return sum;
}

static u8 wqe_check_atomic(const struct cairn_send_wqe *wqe)
{
	const struct cairn_sge *sge = (const void *)
		((const u8 *)wqe + CAIRN_WQE_ATOMIC_SGE_OFFSET);

	if (wqe->num_sge != 1 || sge->length != sizeof(u64))
		return CAIRN_CQE_LOC_LEN_ERR;
	return 0;
}

static u8 wqe_check_flush(const struct cairn_send_wqe *wqe)
{
	if (wqe->flags & CAIRN_WQE_INLINE || wqe->num_sge ||
	    wqe->flush.reserved || !wqe->flush.plt ||
	    wqe->flush.plt & ~CAIRN_FLUSH_PLT ||
	    wqe->flush.sel > CAIRN_FLUSH_REGION)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	return 0;
}

/* Bytes behind the header that the units of @wqe have. */
static u32 wqe_room(const struct cairn_qpc *qpc, const struct cairn_send_wqe *wqe)
{
	return min(wqe->units, qpc->max_units) * CAIRN_UNIT_SIZE -
	       CAIRN_WQE_DATA_OFFSET;
}

static u8 wqe_check_persist_done(const struct cairn_qpc *qpc,
				 const struct cairn_send_wqe *wqe)
{
	if (!(wqe->flags & CAIRN_WQE_INLINE) || wqe->num_sge ||
	    wqe->remote_addr || wqe->rkey)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	if (!wqe->inline_len || wqe->inline_len % sizeof(u64) ||
	    wqe->inline_len > CAIRN_MAX_PERSIST_DONES * sizeof(u64) ||
	    wqe->inline_len > wqe_room(qpc, wqe))
		return CAIRN_CQE_LOC_LEN_ERR;
	return 0;
}

/* XRC: the SRQ's number shares a word with the inline length. */
static u32 wqe_inline_len(const struct cairn_qpc *qpc,
			  const struct cairn_send_wqe *wqe)
{
	if (qpc->transport == CAIRN_TRANSPORT_XRC)
		return wqe->inline_len & CAIRN_XRC_INLINE_MASK;
	return wqe->inline_len;
}

static u8 wqe_check_data(const struct cairn_qpc *qpc,
			 const union cairn_wqe_buf *buf, u32 *length)
{
	const struct cairn_send_wqe *wqe = &buf->send;
	u32 room = wqe_room(qpc, wqe);
	u64 sum;

	if (wqe->flags & CAIRN_WQE_INLINE) {
		if (!(cairn_wqe_ops[wqe->opcode].flags & CAIRN_WOP_INLINE))
			return CAIRN_CQE_LOC_QP_OP_ERR;
		sum = wqe_inline_len(qpc, wqe);
		if (sum > min_t(u32, room, CAIRN_MAX_INLINE))
			return CAIRN_CQE_LOC_LEN_ERR;
	} else {
		if (wqe->num_sge > qpc->max_send_sge ||
		    wqe->num_sge * sizeof(struct cairn_sge) > room)
			return CAIRN_CQE_LOC_QP_OP_ERR;
		sum = wqe_sge_sum(wqe->sge, wqe->num_sge);
	}
	if (sum > qpc->max_msg)
		return CAIRN_CQE_LOC_LEN_ERR;
	*length = sum;
	return 0;
}

/* The length of the record is 0, as the response has no payload. */
static u8 wqe_check_atomic_write(const struct cairn_qpc *qpc,
				 const union cairn_wqe_buf *buf, u32 *length)
{
	u8 status = wqe_check_data(qpc, buf, length);

	if (!status && *length != sizeof(u64))
		status = CAIRN_CQE_LOC_LEN_ERR;
	*length = 0;
	return status;
}

u8 cairn_wqe_check_send(const struct cairn_qpc *qpc,
			const union cairn_wqe_buf *buf, u32 *length)
{
	const struct cairn_send_wqe *wqe = &buf->send;
	const struct cairn_wqe_op *op;

	*length = 0;
	if (wqe->opcode >= CAIRN_WQE_OPCODES || wqe->flags & ~CAIRN_WQE_FLAGS)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	op = &cairn_wqe_ops[wqe->opcode];
	if (wqe->flags & CAIRN_WQE_EARLY && !(op->flags & CAIRN_WOP_PERSIST))
		return CAIRN_CQE_LOC_QP_OP_ERR;
	if (!(op->transports & 1 << qpc->transport))
		return CAIRN_CQE_LOC_QP_OP_ERR;
	if (wqe->opcode == CAIRN_WQE_BIND_MW && wqe->bind.reserved)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	if (wqe->opcode == CAIRN_WQE_PERSIST_DONE)
		return wqe_check_persist_done(qpc, wqe);
	if (op->flags & CAIRN_WOP_LOCAL)
		return 0;
	if (op->flags & CAIRN_WOP_ATOMIC) {
		*length = sizeof(u64);
		return wqe_check_atomic(wqe);
	}
	if (wqe->opcode == CAIRN_WQE_FLUSH)
		return wqe_check_flush(wqe);
	if (wqe->opcode == CAIRN_WQE_ATOMIC_WRITE)
		return wqe_check_atomic_write(qpc, buf, length);
	return wqe_check_data(qpc, buf, length);
}

u8 cairn_wqe_check_recv(const struct cairn_qpc *qpc,
			const union cairn_wqe_buf *buf, u32 units, u32 *length)
{
	const struct cairn_recv_wqe *wqe = &buf->recv;
	u32 room = units * CAIRN_UNIT_SIZE - CAIRN_RECV_SGE_OFFSET;
	u64 sum;

	if (wqe->num_sge > CAIRN_MAX_SGE ||
	    wqe->num_sge * sizeof(struct cairn_sge) > room)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	sum = wqe_sge_sum(wqe->sge, wqe->num_sge);
	*length = min_t(u64, sum, 0xffffffffu);
	return 0;
}
