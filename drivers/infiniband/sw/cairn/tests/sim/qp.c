// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The host side of a QP: create, connect, post. */
#include <arpa/inet.h>
#include <stdlib.h>
#include "sim/sim.h"

#define COMMON								\
	.sq_depth = 128,						\
	.rq_depth = 64,							\
	.rq_stride = 1,							\
	.max_sge = CAIRN_MAX_SGE,					\
	.max_inline = CAIRN_MAX_INLINE,					\
	.max_msg = 1u << 31,						\
	.rd_slots = 16

const struct sim_qp_init sim_rc = {
	.transport = CAIRN_TRANSPORT_RC,
	COMMON
};

const struct sim_qp_init sim_uc = {
	.transport = CAIRN_TRANSPORT_UC,
	COMMON
};

const struct sim_qp_init sim_ud = {
	.transport = CAIRN_TRANSPORT_UD,
	COMMON
};

const struct sim_qp_init sim_xrc_ini = {
	.transport = CAIRN_TRANSPORT_XRC,
	.initiator = true,
	COMMON
};

const struct sim_qp_init sim_xrc_tgt = {
	.transport = CAIRN_TRANSPORT_XRC,
	COMMON
};

const struct cairn_qp_attrs sim_attrs = {
	.qkey = 0x11111111,
	.pkey = CAIRN_PKEY_DEFAULT,
	.pmtu = 1024,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.min_rnr_timer = 1,
	.max_rd_atomic = 16,
	.max_dest_rd_atomic = 16,
	.remote_read = true,
	.remote_write = true,
	.remote_atomic = true,
	.flush = CAIRN_FLUSH_PLT,
	.sqd_notify = true,
};

u8 *sim_unit(u8 *ring, u32 depth, u32 idx)
{
	return ring + (idx & (depth - 1)) * CAIRN_UNIT_SIZE;
}

static void rq_init(struct sim_rq *rq, u32 depth, u32 stride, u32 start)
{
	rq->ring = calloc(depth, CAIRN_UNIT_SIZE);
	rq->depth = depth;
	rq->stride = stride;
	rq->head = start;
	rq->tail = start;
}

struct sim_rq *sim_rq(u32 depth, u32 stride, u32 start)
{
	struct sim_rq *rq = calloc(1, sizeof(*rq));

	rq_init(rq, depth, stride, start);
	rq->shared = true;
	return rq;
}

void sim_rq_free(struct sim_rq *rq)
{
	free(rq->ring);
	free(rq);
}

static void fill_qpc(struct cairn_qpc *qpc, const struct sim_qp_init *init,
		     const struct sim_rq *rq)
{
	u32 records = min(init->records ?: 4, init->sq_depth);

	qpc->transport = init->transport;
	qpc->sq_sig_all = init->sig_all;
	qpc->has_srq = init->srq || init->transport == CAIRN_TRANSPORT_XRC;
	qpc->takes = init->initiator ? CAIRN_TRANSPORT_NONE : init->transport;
	qpc->max_send_sge = init->max_sge;
	qpc->max_recv_sge = init->max_sge;
	qpc->max_inline = init->max_inline;
	qpc->sq_depth = init->sq_depth;
	qpc->max_msg = init->max_msg;
	qpc->max_units = DIV_ROUND_UP(CAIRN_WQE_DATA_OFFSET +
				      max(init->max_sge * (u32)sizeof(struct cairn_sge),
					  (u32)init->max_inline),
				      CAIRN_UNIT_SIZE);
	qpc->req.ext = aligned_alloc(CAIRN_LINE, cairn_requester_ext_size(qpc->max_units));
	qpc->req.swr_mask = records - 1;
	qpc->max_records = init->sq_depth;
	qpc->req.swr = malloc(records * sizeof(*qpc->req.swr));
	qpc->resp.rwqe = malloc(rq->stride * CAIRN_UNIT_SIZE);
	qpc->resp.replay.mask = init->rd_slots - 1;
}

void *sim_zalloc(size_t bytes)
{
	void *mem = aligned_alloc(CAIRN_LINE, bytes);

	return mem ? memset(mem, 0, bytes) : NULL;
}

struct sim_qp *sim_qp(struct sim *sim, u32 host, const struct sim_qp_init *init)
{
	struct sim_qp *qp = sim_zalloc(sizeof(*qp));

	BUG_ON(sim->qps == SIM_QPS);
	sim->qp[sim->qps++] = qp;
	qp->s = sim;
	qp->host = host;
	qp->peer = host;
	qp->pd = SIM_PD;
	INIT_LIST_HEAD(&qp->room_wait.entry);
	qp->sq = calloc(init->sq_depth, CAIRN_UNIT_SIZE);
	qp->hold_room = 1024;
	qp->sq_head = init->sq_start;
	qp->sq_tail = init->sq_start;
	qp->rq = init->srq ?: &qp->own_rq;
	if (!init->srq)
		rq_init(qp->rq, init->rq_depth, init->rq_stride,
			init->rq_start);
	fill_qpc(&qp->c, init, qp->rq);
	qp->c.qpn = 0x10 + sim->qps + (sim_below(&sim->rand, 1 << 15) << 8);
	qp->c.cc.params = &sim->cc;
	qp->c.cc.line_kbps = 100000000;
	cairn_qpc_init(&qp->c);
	cairn_qpc_reset(&qp->c, qp->sq_tail);
	return qp;
}

bool sim_resize_sq(struct sim_qp *qp, u32 depth, u32 records)
{
	struct cairn_swr *swr;
	u8 *sq;
	u32 i;

	if (qp->sq_tail - qp->sq_head > depth ||
	    cairn_sq_fits(&qp->c, depth, records - 1))
		return false;
	sq = calloc(depth, CAIRN_UNIT_SIZE);
	for (i = qp->sq_head; i != qp->sq_tail; i++)
		memcpy(sim_unit(sq, depth, i),
		       sim_unit(qp->sq, qp->c.sq_depth, i), CAIRN_UNIT_SIZE);
	free(qp->sq);
	qp->sq = sq;
	swr = calloc(records, sizeof(*swr));
	cairn_sq_resize(&qp->c, depth, &swr, records - 1);
	qp->c.max_records = records;
	free(swr);
	return true;
}

void sim_modify(struct sim_qp *qp, enum cairn_state state)
{
	struct cairn_budget flush;
	bool done = state != CAIRN_QP_RTS;

	while (!done) {
		flush = (struct cairn_budget){ CAIRN_MAX_REAPS, S32_MAX };
		sim_enter(qp, CAIRN_REQ);
		done = cairn_comp_flush_sqe(&qp->c, &flush) ||
		       qp->c.req.unreported;
		sim_leave(qp);
	}
	cairn_qpc_set_state(&qp->c, state);
	cairn_env_kick(&qp->c, CAIRN_REQ);
	cairn_env_kick(&qp->c, CAIRN_RESP);
}

/* The same as modify_qp(RESET): both rings are empty afterwards. */
void sim_reset(struct sim_qp *qp)
{
	cairn_qpc_set_state(&qp->c, CAIRN_QP_RESET);
	cairn_qpc_reset(&qp->c, qp->sq_tail);
	cairn_qicache_drop(&qp->s->qicache, qp->c.qpn);
	qp->rung.valid = false;
	/* as in the driver: the question of the old connection is dropped */
	qp->peer_asked = 0;
	memset(qp->inval_end, 0, sizeof(qp->inval_end));
	qp->sq_head = qp->sq_tail;
	qp->rq_rings = false;
	if (qp->rq == &qp->own_rq)
		qp->rq->head = qp->rq->tail;
}

void sim_to_rts(struct sim_qp *qp, u32 peer, u32 dqpn,
		const struct cairn_qp_attrs *attrs, u32 rq_psn, u32 sq_psn)
{
	qp->c.attrs = *attrs;
	qp->c.attrs.dqpn = dqpn;
	qp->peer = peer;
	qp->psn = sq_psn;
	sim_modify(qp, CAIRN_QP_INIT);
	cairn_resp_set_psn(&qp->c, rq_psn);
	sim_modify(qp, CAIRN_QP_RTR);
	cairn_req_set_psn(&qp->c, sq_psn);
	if (!qp->s->strangers) {
		qp->c.req.peer_port.sport = htons(SIM_SPORT);
		qp->c.req.peer_port.known = true;
		qp->c.req.peer_port.changes = 1;
	}
	sim_modify(qp, CAIRN_QP_RTS);
}

static u32 first_psn(struct sim *sim)
{
	if (!sim->wrap_within)
		return sim_below(&sim->rand, 1 << 24);
	return (1 << 24) - 1 - sim_below(&sim->rand, sim->wrap_within);
}

void sim_connect(struct sim_qp *qp_a, struct sim_qp *qp_b,
		 const struct cairn_qp_attrs *attrs)
{
	u32 pa = first_psn(qp_a->s);
	u32 pb = first_psn(qp_a->s);

	sim_to_rts(qp_a, qp_b->host, qp_b->c.qpn, attrs, pb, pa);
	sim_to_rts(qp_b, qp_a->host, qp_a->c.qpn, attrs, pa, pb);
}

/*
 * Work requests.
 */

static bool is_atomic(const struct sim_wr *wr)
{
	return wr->opcode == CAIRN_WQE_CAS || wr->opcode == CAIRN_WQE_FAA;
}

u32 sim_wqe_units(const struct sim_wr *wr)
{
	u32 bytes = CAIRN_WQE_DATA_OFFSET;

	if (is_atomic(wr))
		return 1;
	if (wr->flags & CAIRN_WQE_INLINE)
		bytes += wr->inline_len;
	else
		bytes += wr->num_sge * sizeof(struct cairn_sge);
	return (bytes + CAIRN_UNIT_SIZE - 1) / CAIRN_UNIT_SIZE;
}

static void fill_wqe(union cairn_wqe_buf *wqe, const struct sim_wr *wr)
{
	struct cairn_send_wqe *entry = &wqe->send;

	memset(wqe, 0, sizeof(*wqe));
	entry->wr_id = wr->wr_id;
	entry->opcode = wr->opcode;
	entry->flags = wr->flags;
	entry->num_sge = wr->flags & CAIRN_WQE_INLINE ? 0 : wr->num_sge;
	entry->units = sim_wqe_units(wr);
	entry->imm_or_key = wr->imm_or_key;
	entry->remote_addr = wr->remote_addr;
	entry->rkey = wr->rkey;
	if (wr->ah | wr->qpn | wr->qkey) {
		entry->ud.ah = wr->ah;
		entry->ud.qpn = wr->qpn;
		entry->qkey = wr->qkey;
	}
	if (is_atomic(wr)) {
		entry->atomic.compare_add = wr->compare_add;
		entry->atomic.swap = wr->swap;
		memcpy(wqe->bytes + CAIRN_WQE_ATOMIC_SGE_OFFSET, wr->sge,
		       sizeof(*wr->sge));
	} else if (wr->opcode == CAIRN_WQE_FLUSH) {
		entry->flush.length = wr->flush_len;
		entry->flush.plt = wr->plt;
		entry->flush.sel = wr->sel;
	} else if (wr->flags & CAIRN_WQE_INLINE) {
		entry->inline_len = wr->inline_len;
		memcpy(wqe->bytes + CAIRN_WQE_DATA_OFFSET, wr->inl,
		       wr->inline_len);
	} else if (wr->num_sge) {
		memcpy(wqe->bytes + CAIRN_WQE_DATA_OFFSET, wr->sge,
		       wr->num_sge * sizeof(*wr->sge));
	}
	entry->inline_len |= wr->srqn << CAIRN_XRC_SRQN_SHIFT;
}

static void ring_write(u8 *ring, u32 depth, u32 idx, const void *buf, u32 units)
{
	u32 i;

	for (i = 0; i < units; i++)
		memcpy(sim_unit(ring, depth, idx + i),
		       (const u8 *)buf + i * CAIRN_UNIT_SIZE, CAIRN_UNIT_SIZE);
}

bool sim_queue_send(struct sim_qp *qp, const struct sim_wr *wr)
{
	u32 units = sim_wqe_units(wr);
	union cairn_wqe_buf wqe;

	if (qp->sq_tail - qp->sq_head + units > qp->c.sq_depth)
		return false;
	fill_wqe(&wqe, wr);
	ring_write(qp->sq, qp->c.sq_depth, qp->sq_tail, &wqe, units);
	qp->sq_tail += units;
	return true;
}

void sim_ring(struct sim_qp *qp, u32 tail)
{
	qp->rung = (struct cairn_qi_rung){ .ptr = tail, .valid = true };
	cairn_env_kick(&qp->c, CAIRN_REQ);
}

void sim_doorbell(struct sim_qp *qp)
{
	sim_ring(qp, qp->sq_tail);
}

void sim_post_send(struct sim_qp *qp, const struct sim_wr *wr)
{
	if (!sim_queue_send(qp, wr))
		sim_fail(qp->s, "QP %u: send queue full", qp->c.qpn);
	sim_doorbell(qp);
}

bool sim_queue_recv(struct sim_rq *rq, u64 wr_id, const struct cairn_sge *sge,
		    u32 num_sge)
{
	union cairn_wqe_buf wqe;

	if (rq->tail - rq->head + rq->stride > rq->depth)
		return false;
	BUG_ON(CAIRN_RECV_SGE_OFFSET + num_sge * sizeof(*sge) >
	       rq->stride * CAIRN_UNIT_SIZE);
	memset(&wqe, 0, sizeof(wqe));
	wqe.recv.wr_id = wr_id;
	wqe.recv.num_sge = num_sge;
	if (num_sge)
		memcpy(wqe.bytes + CAIRN_RECV_SGE_OFFSET, sge,
		       num_sge * sizeof(*sge));
	ring_write(rq->ring, rq->depth, rq->tail, &wqe, rq->stride);
	rq->tail += rq->stride;
	return true;
}

void sim_post_recv(struct sim_qp *qp, u64 wr_id, const struct cairn_sge *sge,
		   u32 num_sge)
{
	if (!sim_queue_recv(qp->rq, wr_id, sge, num_sge))
		sim_fail(qp->s, "QP %u: receive queue full", qp->c.qpn);
	if (qp->rq_rings)
		cairn_env_kick(&qp->c, CAIRN_RESP);
}

int sim_release(struct sim_qp *qp, u64 token, u32 status)
{
	int err;

	sim_enter(qp, CAIRN_RESP);
	err = cairn_resp_release(&qp->c, token, status);
	sim_leave(qp);
	sim_trace(qp, "release of %llx with %u: %d",
		  (unsigned long long)token, status, err);
	cairn_env_kick(&qp->c, CAIRN_RESP);
	return err;
}

void sim_revoke(struct sim_qp *qp, u32 rkey)
{
	sim_enter(qp, CAIRN_RESP);
	cairn_resp_revoke(&qp->c, rkey);
	sim_leave(qp);
	cairn_env_kick(&qp->c, CAIRN_RESP);
}

u32 sim_async_count(const struct sim_qp *qp, enum cairn_async event)
{
	u32 i, n = 0;

	for (i = 0; i < qp->asyncs; i++)
		n += qp->async[i] == event;
	return n;
}
