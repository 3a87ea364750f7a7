// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>

#include "ah.h"
#include "check_work.h"
#include "doorbell.h"
#include "inline.h"
#include "mw.h"
#include "send.h"
#include "wqe.h"
#include "xrc.h"

bool cairn_send_ready(const struct cairn_qp *qp)
{
	return qp->sq.ring.units && qp->vqp.qp.state >= IBV_QPS_RTS;
}

int cairn_send_wake(struct cairn_qp *qp, uint32_t index)
{
	struct ibv_context *ctx = qp->vqp.qp.context;

	cairn_ready_mark(&qp->ready);
	switch (cairn_ready_state(&qp->ready)) {
	case CAIRN_LANE_AWAKE:
		return 0;
	case CAIRN_LANE_LAZY:
		return cairn_doorbell_later(ctx, qp->sq.ring.qid, index);
	default:
		return cairn_doorbell(ctx, qp->sq.ring.qid, index);
	}
}

static uint32_t send_first(uint64_t bits)
{
	return (uint32_t)__builtin_ctzll(bits);
}

/* Rings each queue alone to find those that fail. A queue may be rung twice. */
static uint64_t send_ring_each(struct ibv_qp *const *qp, const uint32_t *index,
			       uint64_t which)
{
	uint64_t failed = 0;

	for (; which; which &= which - 1) {
		uint32_t i = send_first(which);

		if (cairn_doorbell(qp[i]->context, to_cqp(qp[i])->sq.ring.qid,
				   index[i]))
			failed |= 1ULL << i;
	}
	return failed;
}

/* One doorbell for queues of one context. Return: the bits of those that fail. */
static uint64_t send_ring_all(struct ibv_qp *const *qp, const uint32_t *index,
			      uint64_t which)
{
	struct cairn_doorbell doorbell[CAIRN_MAX_DOORBELLS];
	uint32_t count = 0;
	uint64_t rest;

	for (rest = which; rest; rest &= rest - 1) {
		uint32_t i = send_first(rest);

		doorbell[count++] = (struct cairn_doorbell){
			.qid = to_cqp(qp[i])->sq.ring.qid,
			.index = index[i],
		};
	}
	if (!cairn_doorbells(qp[send_first(which)]->context, doorbell, count))
		return 0;
	return count == 1 ? which : send_ring_each(qp, index, which);
}

/* The bits of @which whose queue pairs have the context of the first one. */
static uint64_t send_beside_first(struct ibv_qp *const *qp, uint64_t which)
{
	const struct ibv_context *ctx = qp[send_first(which)]->context;
	uint64_t rest, same = 0;

	for (rest = which; rest; rest &= rest - 1)
		if (qp[send_first(rest)]->context == ctx)
			same |= rest & -rest;
	return same;
}

uint64_t cairn_send_wake_all(struct ibv_qp *const *qp, const uint32_t *index,
			     uint64_t which)
{
	uint64_t rest, same, ring = 0, failed = 0;

	for (rest = which; rest; rest &= rest - 1)
		cairn_ready_mark(&to_cqp(qp[send_first(rest)])->ready);
	/* A lazy lane, too: what a group posts leaves together. */
	for (rest = which; rest; rest &= rest - 1)
		if (cairn_ready_state(&to_cqp(qp[send_first(rest)])->ready) !=
		    CAIRN_LANE_AWAKE)
			ring |= rest & -rest;
	for (rest = ring; rest; rest &= ~same) {
		same = send_beside_first(qp, rest);
		failed |= send_ring_all(qp, index, same);
	}
	return failed;
}

/* enum ibv_wr_opcode to enum cairn_wqe_opcode, or CAIRN_WQE_OPCODES. */
static unsigned int send_opcode(enum ibv_wr_opcode opcode)
{
	/* Plus one: 0 means that it is not in the table, as SEND is opcode 0. */
	static const uint8_t opcodes[] = {
		[IBV_WR_RDMA_WRITE] = CAIRN_WQE_WRITE + 1,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = CAIRN_WQE_WRITE_IMM + 1,
		[IBV_WR_SEND] = CAIRN_WQE_SEND + 1,
		[IBV_WR_SEND_WITH_IMM] = CAIRN_WQE_SEND_IMM + 1,
		[IBV_WR_RDMA_READ] = CAIRN_WQE_READ + 1,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = CAIRN_WQE_CAS + 1,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = CAIRN_WQE_FAA + 1,
		[IBV_WR_LOCAL_INV] = CAIRN_WQE_LOCAL_INV + 1,
		[IBV_WR_BIND_MW] = CAIRN_WQE_BIND_MW + 1,
		[IBV_WR_SEND_WITH_INV] = CAIRN_WQE_SEND_INV + 1,
		[VERBS_WR_ATOMIC_WRITE] = CAIRN_WQE_ATOMIC_WRITE + 1,
	};

	if (opcode == CAIRNDV_WR_WRITE_PERSIST)
		return CAIRN_WQE_WRITE_PERSIST;
	if (opcode == CAIRNDV_WR_WRITE_PERSIST_WITH_IMM)
		return CAIRN_WQE_WRITE_PERSIST_IMM;
	if ((unsigned int)opcode >= sizeof(opcodes) || !opcodes[opcode])
		return CAIRN_WQE_OPCODES;
	return opcodes[opcode] - 1u;
}

static uint64_t send_sges_length(const struct ibv_send_wr *wr)
{
	uint64_t sum = 0;

	for (int i = 0; i < wr->num_sge; i++)
		sum += wr->sg_list[i].length;
	return sum;
}

/* @windows: which type of window may be bound. */
static bool send_valid(const struct cairn_qp *qp, const struct cairn_wqe_op *op,
		       const struct ibv_send_wr *wr, enum ibv_mw_type windows)
{
	if (!cairn_wqe_send_flags_valid(op, wr->send_flags))
		return false;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_send_sge)
		return false;
	if (op->form == CAIRN_FORM_ATOMIC && wr->num_sge != 1)
		return false;
	if (op->form == CAIRN_FORM_WORD &&
	    send_sges_length(wr) != sizeof(uint64_t))
		return false;
	if (op->form == CAIRN_FORM_SEND && qp->type_bit == CAIRN_UD &&
	    !wr->wr.ud.ah)
		return false;
	if (op->form == CAIRN_FORM_BIND &&
	    (!wr->bind_mw.mw || wr->bind_mw.mw->type != windows))
		return false;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return true;
	return cairn_wqe_form_inlines(op) && send_sges_length(wr) <= qp->max_inline;
}

/* Bytes from CAIRN_WQE_DATA_OFFSET on, of a valid request. */
static size_t send_data_bytes(const struct cairn_wqe_op *op,
			      const struct ibv_send_wr *wr)
{
	if (op->form == CAIRN_FORM_LOCAL)
		return 0;
	if (op->form == CAIRN_FORM_ATOMIC || op->form == CAIRN_FORM_BIND)
		return CAIRN_UNIT_SIZE - CAIRN_WQE_DATA_OFFSET;
	if (wr->send_flags & IBV_SEND_INLINE)
		return send_sges_length(wr);
	return (size_t)wr->num_sge * sizeof(*wr->sg_list);
}

static void send_set_target(const struct cairn_qp *qp,
			    const struct cairn_wqe_op *op,
			    struct cairn_send_wqe *wqe,
			    const struct ibv_send_wr *wr)
{
	switch (op->form) {
	case CAIRN_FORM_SEND:
		if (qp->type_bit != CAIRN_UD)
			break;
		wqe->ud.ah = to_cah(wr->wr.ud.ah)->num;
		wqe->ud.qpn = wr->wr.ud.remote_qpn;
		wqe->qkey = wr->wr.ud.remote_qkey;
		break;
	case CAIRN_FORM_WRITE:
	case CAIRN_FORM_READ:
	case CAIRN_FORM_WORD:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
		break;
	case CAIRN_FORM_ATOMIC:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
		break;
	case CAIRN_FORM_BIND:
		cairn_mw_fill(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
			      &wr->bind_mw.bind_info);
		break;
	}
}

static void send_set_data(struct cairn_ring *ring,
			  const struct cairn_wqe_op *op,
			  struct cairn_send_wqe *wqe,
			  const struct ibv_send_wr *wr,
			  const struct cairn_inline *in)
{
	size_t offset = CAIRN_WQE_DATA_OFFSET;

	if (op->form == CAIRN_FORM_LOCAL || op->form == CAIRN_FORM_BIND)
		return;
	if (in) {
		cairn_inline_set(wqe, in);
		cairn_inline_copy(ring, ring->index, in);
		return;
	}
	if (wr->send_flags & IBV_SEND_INLINE) {
		wqe->flags |= CAIRN_WQE_INLINE;
		for (int i = 0; i < wr->num_sge; i++)
			cairn_wqe_add_inline(ring, ring->index, wqe,
					     (void *)(uintptr_t)
					     wr->sg_list[i].addr,
					     wr->sg_list[i].length);
		return;
	}
	if (op->form == CAIRN_FORM_ATOMIC)
		offset = CAIRN_WQE_ATOMIC_SGE_OFFSET;
	wqe->num_sge = (uint8_t)wr->num_sge;
	cairn_wqe_put_sges(ring, ring->index, wqe, offset, wr->sg_list);
}

/* How a request becomes a WQE. */
struct send_plan {
	unsigned int opcode;
	const struct cairn_wqe_op *op;
	bool rule;		/* its data goes inline, by the rule */
	struct cairn_inline in;
};

/* Return: EINVAL if the QP does not take such a request. */
static int send_plan(struct cairn_qp *qp, const struct ibv_send_wr *wr,
		     enum ibv_mw_type windows, struct send_plan *plan)
{
	plan->opcode = send_opcode(wr->opcode);
	plan->op = cairn_wqe_op(qp, plan->opcode);
	if (!plan->op || !send_valid(qp, plan->op, wr, windows))
		return EINVAL;
	plan->rule = !(wr->send_flags & (IBV_SEND_INLINE | IBV_SEND_FENCE)) &&
		     cairn_inline_rule(qp, plan->op, wr->sg_list,
				       (size_t)wr->num_sge, &plan->in);
	return 0;
}

static bool send_has_room(struct cairn_queue *sq, const struct send_plan *plan,
			  const struct ibv_send_wr *wr)
{
	size_t bytes = plan->rule ? plan->in.bytes :
				    send_data_bytes(plan->op, wr);

	return cairn_queue_has_room(sq, cairn_wqe_units(bytes));
}

static int send_one(struct cairn_qp *qp, const struct ibv_send_wr *wr,
		    enum ibv_mw_type windows)
{
	struct cairn_ring *ring = &qp->sq.ring;
	struct cairn_send_wqe *wqe;
	struct send_plan plan;
	int err;

	err = send_plan(qp, wr, windows, &plan);
	if (err)
		return err;
	if (!send_has_room(&qp->sq, &plan, wr))
		return ENOMEM;
	wqe = cairn_wqe_begin(qp, (uint8_t)plan.opcode, wr->wr_id,
			      wr->send_flags);
	if (plan.op->imm_or_key)	/* a union with imm_data */
		wqe->imm_or_key = wr->invalidate_rkey;
	send_set_target(qp, plan.op, wqe, wr);
	send_set_data(ring, plan.op, wqe, wr, plan.rule ? &plan.in : NULL);
	if (qp->type_bit == CAIRN_XRC)
		cairn_xrc_set_srqn(wqe, wr->qp_type.xrc.remote_srqn);
	ring->index += wqe->units;
	qp->sq.posted++;
	return 0;
}

int cairn_send_check(struct ibv_qp *ibqp, const struct ibv_send_wr *wr)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	struct send_plan plan;
	int err;

	if (!cairn_send_ready(qp))
		return EINVAL;
	pthread_spin_lock(&qp->sq.lock);
	err = send_plan(qp, wr, IBV_MW_TYPE_2, &plan);
	if (!err && !send_has_room(&qp->sq, &plan, wr))
		err = ENOMEM;
	pthread_spin_unlock(&qp->sq.lock);
	if (err == ENOMEM)
		cairn_doorbell_unrung(ibqp->context);
	return err;
}

int cairn_send_put(struct ibv_qp *ibqp, const struct ibv_send_wr *wr,
		   uint32_t *index)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	int err;

	if (!cairn_send_ready(qp))
		return EINVAL;
	cairn_queue_lock(&qp->sq);
	*index = qp->sq.ring.index;
	err = send_one(qp, wr, IBV_MW_TYPE_2);
	if (!err && cairn_queue_checked(&qp->sq))
		cairn_work_sent(qp, *index);
	if (!err)
		cairn_ring_publish(&qp->sq.ring);
	*index = qp->sq.ring.index;
	cairn_queue_unlock(&qp->sq);
	return err;
}

/* A doorbell that fails (the device was unplugged) fails the whole list. */
static int send_list(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr, enum ibv_mw_type windows)
{
	struct cairn_qp *qp = to_cqp(ibqp);
	struct cairn_ring *ring = &qp->sq.ring;
	struct ibv_send_wr *first = wr;
	uint32_t start, index;
	int err = 0, wake;

	if (!cairn_send_ready(qp)) {
		*bad_wr = wr;
		return EINVAL;
	}
	cairn_queue_lock(&qp->sq);
	start = ring->index;
	for (; wr; wr = wr->next) {
		err = send_one(qp, wr, windows);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	index = ring->index;
	if (index != start && cairn_queue_checked(&qp->sq))
		cairn_work_sent(qp, start);
	if (index != start)
		cairn_ring_publish(ring);
	cairn_queue_unlock(&qp->sq);
	if (index == start) {
		/* The queue has room again when posts complete, also without a poll. */
		if (err == ENOMEM)
			cairn_doorbell_unrung(ibqp->context);
		return err;
	}
	wake = cairn_send_wake(qp, index);
	if (wake)
		*bad_wr = first;
	return wake ? wake : err;
}

int cairn_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	return send_list(ibqp, wr, bad_wr, IBV_MW_TYPE_2);
}

int cairn_send_bind(struct ibv_qp *ibqp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr;

	return send_list(ibqp, wr, &bad_wr, IBV_MW_TYPE_1);
}
