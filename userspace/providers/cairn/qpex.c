// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The extended posting interface. A call that begins a work request writes its
 * WQE into the ring at once, setters complete it, and only wr_complete moves the
 * write pointer. After the first error everything is ignored until wr_complete
 * reports it.
 */
#include <errno.h>
#include <stdlib.h>

#include "ah.h"
#include "check_work.h"
#include "doorbell.h"
#include "dv.h"
#include "fault.h"
#include "inline.h"
#include "mw.h"
#include "qpex.h"
#include "send.h"
#include "wqe.h"
#include "xrc.h"

/* A request whose data goes inline by the rule. Until wr_complete the program may write it. */
struct cairn_wr_late {
	uint32_t at;
	struct cairn_inline in;
};

static const struct {
	uint32_t send_op;	/* enum ibv_qp_create_send_ops_flags */
	uint8_t opcode;		/* enum cairn_wqe_opcode */
} send_ops[] = {
	{ IBV_QP_EX_WITH_RDMA_WRITE, CAIRN_WQE_WRITE },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, CAIRN_WQE_WRITE_IMM },
	{ IBV_QP_EX_WITH_SEND, CAIRN_WQE_SEND },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM, CAIRN_WQE_SEND_IMM },
	{ IBV_QP_EX_WITH_RDMA_READ, CAIRN_WQE_READ },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, CAIRN_WQE_CAS },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, CAIRN_WQE_FAA },
	{ IBV_QP_EX_WITH_LOCAL_INV, CAIRN_WQE_LOCAL_INV },
	{ IBV_QP_EX_WITH_BIND_MW, CAIRN_WQE_BIND_MW },
	{ IBV_QP_EX_WITH_SEND_WITH_INV, CAIRN_WQE_SEND_INV },
#if VERBS_CORE >= 44
	{ VERBS_QP_EX_WITH_ATOMIC_WRITE, CAIRN_WQE_ATOMIC_WRITE },
#endif
#if VERBS_CORE >= 45
	{ VERBS_QP_EX_WITH_FLUSH, CAIRN_WQE_FLUSH },
#endif
};

bool cairn_qpex_supported(enum ibv_qp_type type, uint64_t send_ops_flags)
{
	const struct cairn_qp qp = { .type_bit = cairn_wqe_qp_type_bit(type) };

	for (size_t i = 0; i < sizeof(send_ops) / sizeof(send_ops[0]); i++)
		if (cairn_wqe_op(&qp, send_ops[i].opcode))
			send_ops_flags &= ~(uint64_t)send_ops[i].send_op;
	return !send_ops_flags;
}

static void qpex_fail(struct cairn_qp *qp, int err)
{
	if (!qp->batch.err)
		qp->batch.err = err;
	qp->batch.wqe = NULL;
}

/* The current WQE must have got its mandatory setters. */
static void qpex_seal(struct cairn_qp *qp)
{
	struct cairn_wr_batch *batch = &qp->batch;

	if (!batch->wqe)
		return;
	if (batch->need_data || batch->need_address)
		qpex_fail(qp, EINVAL);
	else if (qp->type_bit == CAIRN_XRC)
		cairn_xrc_set_srqn(batch->wqe, batch->srqn);
}

static struct cairn_send_wqe *qpex_begin(struct ibv_qp_ex *ibqp,
					 uint8_t opcode)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	const struct cairn_wqe_op *op = cairn_wqe_op(qp, opcode);
	struct cairn_wr_batch *batch = &qp->batch;
	struct cairn_ring *ring = &qp->sq.ring;

	qpex_seal(qp);
	if (batch->err)
		return NULL;
	if (!op || !cairn_wqe_send_flags_valid(op, ibqp->wr_flags)) {
		qpex_fail(qp, EINVAL);
		return NULL;
	}
	if (!cairn_queue_has_room(&qp->sq, 1)) {
		qpex_fail(qp, ENOMEM);
		return NULL;
	}
	batch->form = op->form;
	batch->need_data = op->form == CAIRN_FORM_ATOMIC;
	batch->need_address = qp->type_bit == CAIRN_UD ||
			      qp->type_bit == CAIRN_XRC;
	batch->at = ring->index;
	batch->wqe = cairn_wqe_begin(qp, opcode, ibqp->wr_id, ibqp->wr_flags);
	ring->index++;
	qp->sq.posted++;
	return batch->wqe;
}

/* The current WQE, with room for that many bytes of data, or NULL. */
static struct cairn_send_wqe *qpex_reserve(struct cairn_qp *qp,
					   size_t data_bytes)
{
	struct cairn_wr_batch *batch = &qp->batch;
	struct cairn_ring *ring = &qp->sq.ring;
	uint32_t units = cairn_wqe_units(data_bytes);

	ring->index = batch->at;
	if (!cairn_ring_room(ring, units)) {
		qpex_fail(qp, ENOMEM);
		return NULL;
	}
	ring->index += units;
	return batch->wqe;
}

static void qpex_wr_send(struct ibv_qp_ex *ibqp)
{
	qpex_begin(ibqp, CAIRN_WQE_SEND);
}

static void qpex_begin_key(struct ibv_qp_ex *ibqp, uint8_t opcode,
			   uint32_t imm_or_key)
{
	struct cairn_send_wqe *wqe = qpex_begin(ibqp, opcode);

	if (wqe)
		wqe->imm_or_key = imm_or_key;
}

static void qpex_wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	qpex_begin_key(ibqp, CAIRN_WQE_SEND_IMM, (uint32_t)imm_data);
}

static void qpex_wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	qpex_begin_key(ibqp, CAIRN_WQE_SEND_INV, invalidate_rkey);
}

static void qpex_wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	qpex_begin_key(ibqp, CAIRN_WQE_LOCAL_INV, invalidate_rkey);
}

/* @array has *@room elements of @size bytes, @used of which are used. Return: an array in its
 * place with room for one more; NULL: no memory.
 */
static void *qpex_grow(void *array, uint32_t used, uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? 2 * *room : 4;

	if (used < *room)
		return array;
	array = realloc(array, wanted * size);
	if (array)
		*room = wanted;
	return array;
}

/* Return: 0, or ENOMEM. */
static int qpex_keep_key(struct cairn_wr_batch *batch, struct ibv_mw *mw)
{
	struct cairn_wr_bind *bind = qpex_grow(batch->bind, batch->binds, &batch->bind_room,
					       sizeof(*bind));

	if (!bind)
		return ENOMEM;
	batch->bind = bind;
	bind[batch->binds++] = (struct cairn_wr_bind){ mw, mw->rkey };
	return 0;
}

static void qpex_wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw,
			    uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct cairn_send_wqe *wqe = qpex_begin(ibqp, CAIRN_WQE_BIND_MW);
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	int err;

	if (!wqe)
		return;
	err = mw->type == IBV_MW_TYPE_2 ? qpex_keep_key(&qp->batch, mw) : EINVAL;
	if (err)
		qpex_fail(qp, err);
	else
		cairn_mw_fill(wqe, mw, rkey, info);
}

static struct cairn_send_wqe *qpex_begin_remote(struct ibv_qp_ex *ibqp,
						uint8_t opcode, uint32_t rkey,
						uint64_t remote_addr)
{
	struct cairn_send_wqe *wqe = qpex_begin(ibqp, opcode);

	if (wqe) {
		wqe->remote_addr = remote_addr;
		wqe->rkey = rkey;
	}
	return wqe;
}

static void qpex_wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			       uint64_t remote_addr)
{
	qpex_begin_remote(ibqp, CAIRN_WQE_WRITE, rkey, remote_addr);
}

static void qpex_begin_remote_imm(struct ibv_qp_ex *ibqp, uint8_t opcode,
				  uint32_t rkey, uint64_t remote_addr,
				  __be32 imm_data)
{
	struct cairn_send_wqe *wqe = qpex_begin_remote(ibqp, opcode, rkey,
						       remote_addr);

	if (wqe)
		wqe->imm_or_key = (uint32_t)imm_data;
}

static void qpex_wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				   uint64_t remote_addr, __be32 imm_data)
{
	qpex_begin_remote_imm(ibqp, CAIRN_WQE_WRITE_IMM, rkey, remote_addr,
			      imm_data);
}

static void qpex_wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr)
{
	qpex_begin_remote(ibqp, CAIRN_WQE_READ, rkey, remote_addr);
}

/* @wqe is NULL after an error of the batch. */
static void qpex_set_atomic(struct cairn_send_wqe *wqe, uint64_t compare_add,
			    uint64_t swap)
{
	if (wqe) {
		wqe->atomic.compare_add = compare_add;
		wqe->atomic.swap = swap;
	}
}

static void qpex_wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
				   uint64_t remote_addr, uint64_t compare,
				   uint64_t swap)
{
	qpex_set_atomic(qpex_begin_remote(ibqp, CAIRN_WQE_CAS, rkey,
					  remote_addr), compare, swap);
}

static void qpex_wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				     uint64_t remote_addr, uint64_t add)
{
	qpex_set_atomic(qpex_begin_remote(ibqp, CAIRN_WQE_FAA, rkey,
					  remote_addr), add, 0);
}

#if VERBS_CORE >= 44
static void qpex_wr_atomic_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
				 uint64_t remote_addr, const void *word)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	struct cairn_send_wqe *wqe = qpex_begin_remote(ibqp,
						       CAIRN_WQE_ATOMIC_WRITE,
						       rkey, remote_addr);

	if (wqe)
		cairn_wqe_add_inline(&qp->sq.ring, qp->batch.at, wqe, word,
				     sizeof(uint64_t));
}
#endif

/* Every extended QP has these four, without flags at its creation. */
int cairndv_wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey,
		     uint64_t remote_addr, size_t length, uint8_t type,
		     uint8_t level)
{
	struct cairn_send_wqe *wqe;

	if (!cairn_dv_owns(ibqp->qp_base.context))
		return EOPNOTSUPP;
	wqe = qpex_begin_remote(ibqp, CAIRN_WQE_FLUSH, rkey, remote_addr);
	if (!wqe)
		return 0;
	/* the length of the region holds */
	if (level == CAIRNDV_FLUSH_MR)
		length = 0;
	if (!type || type & ~CAIRNDV_FLUSH_TYPES || level > CAIRNDV_FLUSH_MR ||
	    length > UINT32_MAX)
		qpex_fail(to_cqp_ex(ibqp), EINVAL);
	wqe->flush.length = (uint32_t)length;
	wqe->flush.plt = type;
	wqe->flush.sel = level;
	wqe->flush.reserved = 0;
	return 0;
}

#if VERBS_CORE >= 45
static void qpex_wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey,
			  uint64_t remote_addr, size_t length, uint8_t type,
			  uint8_t level)
{
	cairndv_wr_flush(ibqp, rkey, remote_addr, length, type, level);
}
#endif

int cairndv_wr_write_persist(struct ibv_qp_ex *ibqp, uint32_t rkey,
			     uint64_t remote_addr)
{
	if (!cairn_dv_owns(ibqp->qp_base.context))
		return EOPNOTSUPP;
	qpex_begin_remote(ibqp, CAIRN_WQE_WRITE_PERSIST, rkey, remote_addr);
	return 0;
}

int cairndv_wr_write_persist_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				 uint64_t remote_addr, __be32 imm_data)
{
	if (!cairn_dv_owns(ibqp->qp_base.context))
		return EOPNOTSUPP;
	qpex_begin_remote_imm(ibqp, CAIRN_WQE_WRITE_PERSIST_IMM, rkey,
			      remote_addr, imm_data);
	return 0;
}

int cairndv_wr_persist_done(struct ibv_qp_ex *ibqp, const uint64_t *tokens,
			    uint32_t num, int status)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	size_t bytes = (size_t)num * sizeof(*tokens);
	struct cairn_send_wqe *wqe;

	if (!cairn_dv_owns(ibqp->qp_base.context))
		return EOPNOTSUPP;
	wqe = qpex_begin(ibqp, CAIRN_WQE_PERSIST_DONE);
	if (!wqe)
		return 0;
	if (!num || num > CAIRNDV_PERSIST_ANSWERS || bytes > qp->max_inline ||
	    status < 0) {
		qpex_fail(qp, EINVAL);
		return 0;
	}
	if (!qpex_reserve(qp, bytes))
		return 0;
	if (to_cctx(ibqp->qp_base.context)->faulty)
		status = cairn_fault_persist_request(ibqp->qp_base.context, tokens, num,
						     status);
	wqe->imm_or_key = (uint32_t)status;
	cairn_wqe_add_inline(&qp->sq.ring, qp->batch.at, wqe, tokens, bytes);
	return 0;
}

static void qpex_wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
				uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct cairn_wr_batch *batch = &to_cqp_ex(ibqp)->batch;
	struct cairn_send_wqe *wqe = batch->wqe;

	if (!wqe)
		return;
	if (!ah) {
		qpex_fail(to_cqp_ex(ibqp), EINVAL);
		return;
	}
	wqe->ud.ah = to_cah(ah)->num;
	wqe->ud.qpn = remote_qpn;
	wqe->qkey = remote_qkey;
	batch->need_address = false;
}

/* It shares a word with the length of the data, which comes later (qpex_seal()). */
static void qpex_wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, uint32_t remote_srqn)
{
	struct cairn_wr_batch *batch = &to_cqp_ex(ibqp)->batch;

	batch->srqn = remote_srqn;
	batch->need_address = false;
}

/* The 8 bytes of an atomic write come with its call. */
static bool qpex_takes_data(uint8_t form)
{
	return form == CAIRN_FORM_SEND || form == CAIRN_FORM_WRITE ||
	       form == CAIRN_FORM_READ || form == CAIRN_FORM_ATOMIC;
}

/* Return: false: no memory. */
static bool qpex_keep_late(struct cairn_wr_batch *batch, const struct cairn_inline *in)
{
	struct cairn_wr_late *late = qpex_grow(batch->late, batch->lates, &batch->late_room,
					       sizeof(*late));

	if (!late)
		return false;
	batch->late = late;
	late[batch->lates++] = (struct cairn_wr_late){ batch->at, *in };
	return true;
}

/* The current request gets other data than it had. */
static void qpex_drop_late(struct cairn_wr_batch *batch)
{
	if (batch->lates && batch->late[batch->lates - 1].at == batch->at)
		batch->lates--;
}

static void qpex_copy_late(struct cairn_qp *qp)
{
	const struct cairn_wr_batch *batch = &qp->batch;

	for (uint32_t i = 0; i < batch->lates; i++)
		cairn_inline_copy(&qp->sq.ring, batch->late[i].at, &batch->late[i].in);
}

/* Return: whether the rule puts the data of the current request inline. */
static bool qpex_rule(struct cairn_qp *qp, const struct ibv_sge *sges, size_t num_sge)
{
	struct cairn_wr_batch *batch = &qp->batch;
	const struct cairn_wqe_op *op = cairn_wqe_op(qp, batch->wqe->opcode);
	struct cairn_inline in;

	if (batch->wqe->flags & CAIRN_WQE_FENCE ||
	    !cairn_inline_rule(qp, op, sges, num_sge, &in) || !qpex_keep_late(batch, &in))
		return false;
	if (qpex_reserve(qp, in.bytes)) {
		batch->wqe->num_sge = 0;
		cairn_inline_set(batch->wqe, &in);
	}
	return true;
}

static void qpex_wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				 const struct ibv_sge *sges)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	struct cairn_wr_batch *batch = &qp->batch;
	bool atomic = batch->form == CAIRN_FORM_ATOMIC;
	size_t offset = atomic ? CAIRN_WQE_ATOMIC_SGE_OFFSET :
				 CAIRN_WQE_DATA_OFFSET;

	if (!batch->wqe)
		return;
	if (!qpex_takes_data(batch->form) || num_sge > qp->max_send_sge ||
	    (atomic && num_sge != 1)) {
		qpex_fail(qp, EINVAL);
		return;
	}
	batch->wqe->flags &= (uint8_t)~CAIRN_WQE_INLINE;
	batch->wqe->inline_len = 0;
	batch->need_data = false;
	qpex_drop_late(batch);
	if (qpex_rule(qp, sges, num_sge))
		return;
	if (!qpex_reserve(qp, offset - CAIRN_WQE_DATA_OFFSET +
			  num_sge * sizeof(*sges)))
		return;
	batch->wqe->num_sge = (uint8_t)num_sge;
	cairn_wqe_put_sges(&qp->sq.ring, batch->at, batch->wqe, offset, sges);
}

static void qpex_wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey,
			    uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	qpex_wr_set_sge_list(ibqp, 1, &sge);
}

static bool qpex_inline_fits(const struct cairn_qp *qp, size_t num_buf,
			     const struct ibv_data_buf *bufs, size_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < num_buf; i++) {
		if (bufs[i].length > qp->max_inline - *bytes)
			return false;
		*bytes += bufs[i].length;
	}
	return true;
}

static void qpex_wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num_buf,
					 const struct ibv_data_buf *bufs)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	struct cairn_wr_batch *batch = &qp->batch;
	struct cairn_send_wqe *wqe = batch->wqe;
	size_t bytes;

	if (!wqe)
		return;
	if ((batch->form != CAIRN_FORM_SEND &&
	     batch->form != CAIRN_FORM_WRITE) ||
	    !qpex_inline_fits(qp, num_buf, bufs, &bytes)) {
		qpex_fail(qp, EINVAL);
		return;
	}
	qpex_drop_late(batch);
	if (!qpex_reserve(qp, bytes))
		return;
	wqe->num_sge = 0;
	wqe->inline_len = 0;
	wqe->flags |= CAIRN_WQE_INLINE;
	for (size_t i = 0; i < num_buf; i++)
		cairn_wqe_add_inline(&qp->sq.ring, batch->at, wqe, bufs[i].addr,
				     bufs[i].length);
}

static void qpex_wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
				    size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	qpex_wr_set_inline_data_list(ibqp, 1, &buf);
}

static void qpex_wr_start(struct ibv_qp_ex *ibqp)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	struct cairn_wr_batch *batch = &qp->batch;

	cairn_queue_lock(&qp->sq);
	batch->start = qp->sq.ring.index;
	batch->posted = qp->sq.posted;
	batch->binds = 0;
	batch->lates = 0;
	batch->wqe = NULL;
	batch->err = cairn_send_ready(qp) ? 0 : EINVAL;
}

/* The write pointer was not published, so going back is enough. */
static void qpex_wr_abort(struct ibv_qp_ex *ibqp)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	struct cairn_wr_batch *batch = &qp->batch;

	while (batch->binds) {
		const struct cairn_wr_bind *bind = &batch->bind[--batch->binds];

		bind->mw->rkey = bind->rkey;
	}
	qp->sq.ring.index = batch->start;
	qp->sq.posted = batch->posted;
	cairn_queue_unlock(&qp->sq);
}

static int qpex_wr_complete(struct ibv_qp_ex *ibqp)
{
	struct cairn_qp *qp = to_cqp_ex(ibqp);
	struct cairn_wr_batch *batch = &qp->batch;
	uint32_t index;
	int err;

	qpex_seal(qp);
	err = batch->err;
	if (err || qp->sq.ring.index == batch->start) {
		qpex_wr_abort(ibqp);
		if (cairn_queue_checked(&qp->sq))
			cairn_work_refused(qp, err);
		if (err == ENOMEM)
			cairn_doorbell_unrung(ibqp->qp_base.context);
		return err;
	}
	index = qp->sq.ring.index;
	qpex_copy_late(qp);
	if (cairn_queue_checked(&qp->sq))
		cairn_work_sent(qp, batch->start);
	cairn_ring_publish(&qp->sq.ring);
	cairn_queue_unlock(&qp->sq);
	return cairn_send_wake(qp, index);
}

void cairn_qpex_fill(struct cairn_qp *qp)
{
	struct ibv_qp_ex *ibqp = &qp->vqp.qp_ex;

	ibqp->wr_start = qpex_wr_start;
	ibqp->wr_complete = qpex_wr_complete;
	ibqp->wr_abort = qpex_wr_abort;
	ibqp->wr_send = qpex_wr_send;
	ibqp->wr_send_imm = qpex_wr_send_imm;
	ibqp->wr_send_inv = qpex_wr_send_inv;
	ibqp->wr_bind_mw = qpex_wr_bind_mw;
	ibqp->wr_local_inv = qpex_wr_local_inv;
	ibqp->wr_rdma_write = qpex_wr_rdma_write;
	ibqp->wr_rdma_write_imm = qpex_wr_rdma_write_imm;
	ibqp->wr_rdma_read = qpex_wr_rdma_read;
	ibqp->wr_atomic_cmp_swp = qpex_wr_atomic_cmp_swp;
	ibqp->wr_atomic_fetch_add = qpex_wr_atomic_fetch_add;
#if VERBS_CORE >= 44
	ibqp->wr_atomic_write = qpex_wr_atomic_write;
#endif
#if VERBS_CORE >= 45
	ibqp->wr_flush = qpex_wr_flush;
#endif
	ibqp->wr_set_sge = qpex_wr_set_sge;
	ibqp->wr_set_sge_list = qpex_wr_set_sge_list;
	ibqp->wr_set_inline_data = qpex_wr_set_inline_data;
	ibqp->wr_set_inline_data_list = qpex_wr_set_inline_data_list;
	if (qp->type_bit == CAIRN_UD)
		ibqp->wr_set_ud_addr = qpex_wr_set_ud_addr;
	if (qp->type_bit == CAIRN_XRC)
		ibqp->wr_set_xrc_srqn = qpex_wr_set_xrc_srqn;
}
