/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The forms of a send WQE, and the QP types that may carry each. */
#ifndef CAIRN_WQE_H
#define CAIRN_WQE_H

#include "cairndv.h"
#include "qp.h"

/* QP types as bits. */
enum cairn_qp_types {
	CAIRN_RC = 1 << 0,
	CAIRN_UC = 1 << 1,
	CAIRN_UD = 1 << 2,
	CAIRN_XRC = 1 << 3,	/* initiator */
};

static inline uint8_t cairn_wqe_qp_type_bit(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return CAIRN_RC;
	case IBV_QPT_UC:
		return CAIRN_UC;
	case IBV_QPT_UD:
		return CAIRN_UD;
	case IBV_QPT_XRC_SEND:
		return CAIRN_XRC;
	default:
		return 0;
	}
}

/* The parts of a WQE beyond the header. */
enum cairn_wqe_form {
	CAIRN_FORM_SEND,	/* UD: address; data */
	CAIRN_FORM_WRITE,	/* remote address; data */
	CAIRN_FORM_READ,	/* remote address; SGEs, never inline */
	CAIRN_FORM_ATOMIC,	/* remote address; operands and one SGE */
	CAIRN_FORM_LOCAL,	/* a key only */
	CAIRN_FORM_BIND,	/* mw.h */
	CAIRN_FORM_FLUSH,	/* remote address; qpex.c */
	CAIRN_FORM_WORD,	/* remote address; data, 8 bytes */
	CAIRN_FORM_TOKENS,	/* inline data; qpex.c */
};

struct cairn_wqe_op {
	uint8_t qp_types;	/* enum cairn_qp_types, 0: unknown opcode */
	uint8_t form;		/* enum cairn_wqe_form */
	bool imm_or_key;	/* carries an immediate or a key */
	bool early;		/* takes CAIRNDV_SEND_EARLY */
};

/* Return: NULL if the QP cannot carry the opcode (enum cairn_wqe_opcode). */
const struct cairn_wqe_op *cairn_wqe_op(const struct cairn_qp *qp,
					unsigned int opcode);

static inline bool cairn_wqe_form_inlines(const struct cairn_wqe_op *op)
{
	return op->form == CAIRN_FORM_SEND || op->form == CAIRN_FORM_WRITE ||
	       op->form == CAIRN_FORM_WORD;
}

/* Return: the units of a WQE with @data_bytes of SGEs or inline data. */
static inline uint32_t cairn_wqe_units(size_t data_bytes)
{
	return (uint32_t)((CAIRN_WQE_DATA_OFFSET + data_bytes +
			   CAIRN_UNIT_SIZE - 1) / CAIRN_UNIT_SIZE);
}

/* Begins the WQE at the ring's index: header, no data, one unit. */
struct cairn_send_wqe *cairn_wqe_begin(struct cairn_qp *qp, uint8_t opcode,
				       uint64_t wr_id, unsigned int send_flags);

/*
 * Both write the data of the WQE at @index and set its units. The ring has room, and the
 * caller has checked the limits. The number of @sges is the WQE's num_sge.
 */
void cairn_wqe_put_sges(struct cairn_ring *ring, uint32_t index,
			struct cairn_send_wqe *wqe, size_t offset,
			const struct ibv_sge *sges);
/* Appends to the inline data, and adds to inline_len. */
void cairn_wqe_add_inline(struct cairn_ring *ring, uint32_t index,
			  struct cairn_send_wqe *wqe, const void *data,
			  size_t bytes);

/* Return: whether the operation takes these flags. */
static inline bool cairn_wqe_send_flags_valid(const struct cairn_wqe_op *op,
					      unsigned int flags)
{
	unsigned int valid = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
			     IBV_SEND_SOLICITED | IBV_SEND_INLINE;

	if (op->early)
		valid |= CAIRNDV_SEND_EARLY;
	return !(flags & ~valid);
}

#endif /* CAIRN_WQE_H */
