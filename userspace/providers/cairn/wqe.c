// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "wqe.h"

static const struct cairn_wqe_op ops[CAIRN_WQE_OPCODES] = {
	[CAIRN_WQE_SEND] = {
		.qp_types = CAIRN_RC | CAIRN_XRC | CAIRN_UC | CAIRN_UD,
		.form = CAIRN_FORM_SEND,
	},
	[CAIRN_WQE_SEND_IMM] = {
		.qp_types = CAIRN_RC | CAIRN_XRC | CAIRN_UC | CAIRN_UD,
		.form = CAIRN_FORM_SEND,
		.imm_or_key = true,
	},
	[CAIRN_WQE_SEND_INV] = {
		.qp_types = CAIRN_RC | CAIRN_XRC,	/* UC has no such opcode */
		.form = CAIRN_FORM_SEND,
		.imm_or_key = true,
	},
	[CAIRN_WQE_WRITE] = {
		.qp_types = CAIRN_RC | CAIRN_XRC | CAIRN_UC,
		.form = CAIRN_FORM_WRITE,
	},
	[CAIRN_WQE_WRITE_IMM] = {
		.qp_types = CAIRN_RC | CAIRN_XRC | CAIRN_UC,
		.form = CAIRN_FORM_WRITE,
		.imm_or_key = true,
	},
	[CAIRN_WQE_READ] = {
		.qp_types = CAIRN_RC | CAIRN_XRC,
		.form = CAIRN_FORM_READ,
	},
	[CAIRN_WQE_CAS] = {
		.qp_types = CAIRN_RC | CAIRN_XRC,
		.form = CAIRN_FORM_ATOMIC,
	},
	[CAIRN_WQE_FAA] = {
		.qp_types = CAIRN_RC | CAIRN_XRC,
		.form = CAIRN_FORM_ATOMIC,
	},
	[CAIRN_WQE_LOCAL_INV] = {
		.qp_types = CAIRN_RC | CAIRN_UC,
		.form = CAIRN_FORM_LOCAL,
		.imm_or_key = true,
	},
	[CAIRN_WQE_BIND_MW] = {
		.qp_types = CAIRN_RC | CAIRN_UC,
		.form = CAIRN_FORM_BIND,
	},
	[CAIRN_WQE_WRITE_PERSIST] = {
		.qp_types = CAIRN_RC,
		.form = CAIRN_FORM_WRITE,
		.early = true,
	},
	[CAIRN_WQE_WRITE_PERSIST_IMM] = {
		.qp_types = CAIRN_RC,
		.form = CAIRN_FORM_WRITE,
		.imm_or_key = true,
		.early = true,
	},
	[CAIRN_WQE_FLUSH] = {
		.qp_types = CAIRN_RC | CAIRN_XRC,
		.form = CAIRN_FORM_FLUSH,
	},
	[CAIRN_WQE_ATOMIC_WRITE] = {
		.qp_types = CAIRN_RC | CAIRN_XRC,
		.form = CAIRN_FORM_WORD,
	},
	[CAIRN_WQE_PERSIST_DONE] = {
		.qp_types = CAIRN_RC,
		.form = CAIRN_FORM_TOKENS,
	},
};

const struct cairn_wqe_op *cairn_wqe_op(const struct cairn_qp *qp,
					unsigned int opcode)
{
	if (opcode >= CAIRN_WQE_OPCODES ||
	    !(ops[opcode].qp_types & qp->type_bit) || qp->refused & 1u << opcode)
		return NULL;
	return &ops[opcode];
}

struct cairn_send_wqe *cairn_wqe_begin(struct cairn_qp *qp, uint8_t opcode,
				       uint64_t wr_id, unsigned int send_flags)
{
	struct cairn_ring *ring = &qp->sq.ring;
	struct cairn_send_wqe *wqe = cairn_ring_unit(ring, ring->index);
	uint8_t flags = qp->signal_all;

	if (send_flags & IBV_SEND_SIGNALED)
		flags |= CAIRN_WQE_SIGNALED;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= CAIRN_WQE_SOLICITED;
	if (send_flags & IBV_SEND_FENCE) {
		flags |= CAIRN_WQE_FENCE;
		qp->fence_at = ring->index;
		qp->fenced = true;
	}
	if (send_flags & CAIRNDV_SEND_EARLY)
		flags |= CAIRN_WQE_EARLY;
	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->flags = flags;
	wqe->num_sge = 0;
	wqe->units = 1;
	wqe->imm_or_key = 0;
	wqe->remote_addr = 0;
	wqe->rkey = 0;
	wqe->inline_len = 0;
	return wqe;
}

void cairn_wqe_put_sges(struct cairn_ring *ring, uint32_t index,
			struct cairn_send_wqe *wqe, size_t offset,
			const struct ibv_sge *sges)
{
	size_t bytes = wqe->num_sge * sizeof(*sges);

	wqe->units = (uint8_t)cairn_wqe_units(offset - CAIRN_WQE_DATA_OFFSET +
					      bytes);
	if (bytes)
		cairn_ring_put(ring, index, offset, sges, bytes);
}

void cairn_wqe_add_inline(struct cairn_ring *ring, uint32_t index,
			  struct cairn_send_wqe *wqe, const void *data,
			  size_t bytes)
{
	if (bytes)
		cairn_ring_put(ring, index,
			       CAIRN_WQE_DATA_OFFSET + wqe->inline_len, data,
			       bytes);
	wqe->flags |= CAIRN_WQE_INLINE;
	wqe->inline_len += (uint32_t)bytes;
	wqe->units = (uint8_t)cairn_wqe_units(wqe->inline_len);
}
