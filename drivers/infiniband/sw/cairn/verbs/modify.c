// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changing and reading a queue pair's attributes and state.
 *
 * modify_lock makes changes one at a time. What may sleep (memory, the path) is
 * prepared under it; then both side locks are taken, the transition is checked
 * against the state that the engine may have changed meanwhile, and everything
 * is applied at once.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include "queue/host_index.h"
#include "queue/next_ring.h"
#include "queue/queue.h"
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/rq.h"
#include "verbs/udata.h"
#include "verbs/verbs.h"

static_assert((int)CAIRN_QP_RESET == (int)IB_QPS_RESET);
static_assert((int)CAIRN_QP_INIT == (int)IB_QPS_INIT);
static_assert((int)CAIRN_QP_RTR == (int)IB_QPS_RTR);
static_assert((int)CAIRN_QP_RTS == (int)IB_QPS_RTS);
static_assert((int)CAIRN_QP_SQD == (int)IB_QPS_SQD);
static_assert((int)CAIRN_QP_SQE == (int)IB_QPS_SQE);
static_assert((int)CAIRN_QP_ERR == (int)IB_QPS_ERR);

/* One attempt to modify. */
struct change {
	const struct ib_qp_attr *attr;
	int mask;
	enum ib_qp_state cur, next;
	struct cairn_path path;		/* with IB_QP_AV */
	struct cairn_rate_limit rate;	/* with IB_QP_RATE_LIMIT */
	struct cairn_rdres *rd;		/* with IB_QP_MAX_DEST_RD_ATOMIC */
	u32 rd_mask;
	struct cairn_next_ring *sq, *rq;	/* with IB_QP_CAP: new rings */
};

#define AT(name)	offsetof(struct ib_qp_attr, name)
#define LEN(name)	sizeof_field(struct ib_qp_attr, name)

/* The attributes that can be set, and their values. */
static const struct field {
	u32 bit;
	u16 offset, size;
	u32 min, max;
} fields[] = {
	{ IB_QP_EN_SQD_ASYNC_NOTIFY, AT(en_sqd_async_notify),
	  LEN(en_sqd_async_notify), 0, U8_MAX },
	{ IB_QP_ACCESS_FLAGS, AT(qp_access_flags), LEN(qp_access_flags),
	  0, U32_MAX },
	{ IB_QP_PKEY_INDEX, AT(pkey_index), LEN(pkey_index), 0, 0 },
	{ IB_QP_PORT, AT(port_num), LEN(port_num), 1, 1 },
	{ IB_QP_QKEY, AT(qkey), LEN(qkey), 0, U32_MAX },
	{ IB_QP_PATH_MTU, AT(path_mtu), LEN(path_mtu),
	  IB_MTU_256, IB_MTU_4096 },
	{ IB_QP_TIMEOUT, AT(timeout), LEN(timeout), 0, 31 },
	{ IB_QP_RETRY_CNT, AT(retry_cnt), LEN(retry_cnt), 0, 7 },
	{ IB_QP_RNR_RETRY, AT(rnr_retry), LEN(rnr_retry), 0, 7 },
	{ IB_QP_RQ_PSN, AT(rq_psn), LEN(rq_psn), 0, CAIRN_24BIT_MASK },
	{ IB_QP_MAX_QP_RD_ATOMIC, AT(max_rd_atomic), LEN(max_rd_atomic),
	  0, CAIRN_MAX_RD_ATOM },
	{ IB_QP_MIN_RNR_TIMER, AT(min_rnr_timer), LEN(min_rnr_timer), 0, 31 },
	{ IB_QP_SQ_PSN, AT(sq_psn), LEN(sq_psn), 0, CAIRN_24BIT_MASK },
	{ IB_QP_MAX_DEST_RD_ATOMIC, AT(max_dest_rd_atomic),
	  LEN(max_dest_rd_atomic), 0, CAIRN_MAX_RD_ATOM },
	{ IB_QP_PATH_MIG_STATE, AT(path_mig_state), LEN(path_mig_state),
	  IB_MIG_MIGRATED, IB_MIG_MIGRATED },
	{ IB_QP_DEST_QPN, AT(dest_qp_num), LEN(dest_qp_num),
	  0, CAIRN_24BIT_MASK },
};

static u32 field_value(const struct field *f, const struct ib_qp_attr *attr)
{
	const void *p = (const u8 *)attr + f->offset;

	switch (f->size) {
	case sizeof(u8):
		return *(const u8 *)p;
	case sizeof(u16):
		return *(const u16 *)p;
	default:
		return *(const u32 *)p;
	}
}

static int check_values(const struct ib_qp_attr *attr, int mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];
		u32 value;

		if (!(mask & f->bit))
			continue;
		value = field_value(f, attr);
		if (value < f->min || value > f->max)
			return -EINVAL;
	}
	if (mask & IB_QP_ACCESS_FLAGS &&
	    attr->qp_access_flags & ~IB_ACCESS_SUPPORTED)
		return -EINVAL;
	return 0;
}

/* Remember what was set, for query and for apply_attrs(). */
static void merge(struct ib_qp_attr *to, const struct ib_qp_attr *from,
		  int mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (mask & fields[i].bit)
			memcpy((u8 *)to + fields[i].offset,
			       (const u8 *)from + fields[i].offset,
			       fields[i].size);
	if (mask & IB_QP_AV) {
		to->ah_attr = from->ah_attr;
		/* The reference stays with ib_core. */
		to->ah_attr.grh.sgid_attr = NULL;
	}
}

static int prepare_rd(struct change *c)
{
	u32 n = roundup_pow_of_two(max_t(u32, c->attr->max_dest_rd_atomic, 1));

	c->rd = kvcalloc(n, sizeof(*c->rd), GFP_KERNEL_ACCOUNT);
	c->rd_mask = n - 1;
	return c->rd ? 0 : -ENOMEM;
}

static int prepare_path(struct cairn_qp *qp, struct change *c)
{
	u32 dqpn = c->mask & IB_QP_DEST_QPN ? c->attr->dest_qp_num :
					      qp->attr.dest_qp_num;

	return cairn_path_from_ah(to_cairn_dev(qp->ibqp.device),
				  &c->attr->ah_attr,
				  rdma_calc_flow_label(qp->ibqp.qp_num, dqpn),
				  &c->path);
}

/* A kernel consumer's rings; 0 leaves a queue as it is, and one that an SRQ
 * replaces has no size.
 */
static int alloc_rings(struct cairn_qp *qp, struct change *c)
{
	const struct ib_qp_cap *cap = &c->attr->cap;

	if (cap->max_send_wr > CAIRN_MAX_QP_WR ||
	    (!qp->ibqp.srq && cap->max_recv_wr > CAIRN_MAX_QP_WR) ||
	    cap->max_send_sge > qp->cap.max_send_sge ||
	    cap->max_recv_sge > qp->cap.max_recv_sge ||
	    cap->max_inline_data > qp->cap.max_inline_data)
		return -EINVAL;
	if (cap->max_send_wr) {
		c->sq = cairn_next_ring_alloc(&qp->sq, CAIRN_QUEUE_SEND,
					      cap->max_send_wr,
					      cairn_send_units(&qp->cap));
		if (!c->sq)
			return -ENOMEM;
	}
	if (cap->max_recv_wr && !qp->ibqp.srq) {
		c->rq = cairn_next_ring_alloc(&qp->rq.queue, CAIRN_QUEUE_RECV,
					      cap->max_recv_wr,
					      qp->rq.queue.stride);
		if (!c->rq)
			return -ENOMEM;
	}
	return 0;
}

/* A process has prepared its rings; the command cannot carry the sizes. */
static int prepare_rings(struct cairn_qp *qp, struct change *c)
{
	if (!qp->is_user)
		return alloc_rings(qp, c);
	c->sq = cairn_next_ring_take(&qp->sq);
	c->rq = cairn_next_ring_take(&qp->rq.queue);
	return c->sq || c->rq ? 0 : -EINVAL;
}

/* All that may sleep. On error the caller discards. */
static int prepare(struct cairn_qp *qp, struct change *c)
{
	int err = 0;

	if (c->mask & IB_QP_PATH_MTU && c->attr->path_mtu >
	    cairn_active_mtu(to_cairn_dev(qp->ibqp.device)))
		return -EINVAL;
	if (c->mask & IB_QP_AV)
		err = prepare_path(qp, c);
	if (!err && c->mask & IB_QP_MAX_DEST_RD_ATOMIC)
		err = prepare_rd(c);
	if (!err && c->mask & IB_QP_CAP)
		err = prepare_rings(qp, c);
	return err;
}

/* Both side locks held. */
static int check_transition(struct cairn_qp *qp, struct change *c)
{
	c->cur = qp->qpc.state;
	c->next = c->mask & IB_QP_STATE ? c->attr->qp_state : c->cur;
	if (c->mask & IB_QP_CUR_STATE && c->attr->cur_qp_state != c->cur)
		return -EINVAL;
	if (c->mask & IB_QP_CAP &&
	    (c->cur == IB_QPS_ERR || c->next == IB_QPS_ERR))
		return -EINVAL;
	/* ib_core's table does not know of sizes, nor of RTR to RTR; it knows
	 * rate limits of raw packet QPs only.
	 */
	if (c->mask & ~(IB_QP_CAP | IB_QP_CUR_STATE) &&
	    !ib_modify_qp_is_ok(c->cur, c->next, qp->ibqp.qp_type,
				c->mask & ~(IB_QP_CAP | IB_QP_RATE_LIMIT)))
		return -EINVAL;
	if (c->mask & IB_QP_RATE_LIMIT &&
	    (c->next != IB_QPS_RTS || qp->ibqp.qp_type == IB_QPT_GSI ||
	     !cairn_rate_check(&c->rate, cairn_packet_max(&qp->qpc))))
		return -EINVAL;
	return 0;
}

/* Before the locks: most of what is outstanding. */
static int copy_rings(struct cairn_qp *qp, struct change *c)
{
	int err = 0;

	if (c->sq)
		err = cairn_next_ring_move(&qp->sq, CAIRN_QUEUE_SEND, c->sq,
					   U32_MAX);
	if (c->rq && !err)
		err = cairn_next_ring_move(&qp->rq.queue, CAIRN_QUEUE_RECV,
					   c->rq, U32_MAX);
	return err;
}

/* Both side locks and sq_post_lock held. */
static int check_sq(struct cairn_qp *qp, struct change *c)
{
	if (!cairn_req_fits(&qp->qpc, c->sq->depth, c->sq->max_wr - 1))
		return -EINVAL;
	return cairn_next_ring_move(&qp->sq, CAIRN_QUEUE_SEND, c->sq,
				    CAIRN_NEXT_RING_LOCKED);
}

/* sq_post_lock is kept while the other queue is tried: both change, or none.
 * Both side locks held.
 */
static int switch_rings(struct cairn_qp *qp, struct change *c)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->sq_post_lock, flags);
	if (c->sq)
		err = check_sq(qp, c);
	if (c->rq && !err)
		err = cairn_rq_resize(&qp->rq, c->rq);
	if (c->sq && !err) {
		cairn_next_ring_swap(&qp->sq, c->sq);
		cairn_req_resize(&qp->qpc, c->sq->depth, &c->sq->swr,
				 c->sq->max_wr - 1);
		qp->cap.max_send_wr = c->sq->max_wr;
	}
	spin_unlock_irqrestore(&qp->sq_post_lock, flags);
	if (c->rq && !err)
		qp->cap.max_recv_wr = c->rq->max_wr;
	qp->init.cap = qp->cap;
	return err;
}

/* The engine's view of qp->attr. Both side locks held. */
static void apply_attrs(struct cairn_qp *qp)
{
	const struct ib_qp_attr *from = &qp->attr;
	struct cairn_qp_attrs *to = &qp->qpc.attrs;

	to->dqpn = from->dest_qp_num;
	to->qkey = from->qkey;
	to->pkey = CAIRN_PKEY_DEFAULT;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->min_rnr_timer = from->min_rnr_timer;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->remote_read = from->qp_access_flags & IB_ACCESS_REMOTE_READ;
	to->remote_write = from->qp_access_flags & IB_ACCESS_REMOTE_WRITE;
	to->remote_atomic = from->qp_access_flags & IB_ACCESS_REMOTE_ATOMIC;
	to->sqd_notify = from->en_sqd_async_notify;
	to->cc = qp->cc;
}

/* A datagram is one packet, as long as the port allows now. */
static void apply_mtu(struct cairn_qp *qp, const struct change *c)
{
	struct cairn_qpc *q = &qp->qpc;
	enum ib_mtu mtu;

	if (c->mask & IB_QP_PATH_MTU)
		q->attrs.pmtu = ib_mtu_enum_to_int(c->attr->path_mtu);
	if (q->transport == CAIRN_TRANSPORT_UD && c->next == IB_QPS_RTR) {
		mtu = cairn_active_mtu(to_cairn_dev(qp->ibqp.device));
		q->attrs.pmtu = max(ib_mtu_enum_to_int(mtu), CAIRN_MIN_PMTU);
		q->max_msg = q->attrs.pmtu;
	}
}

/* Each side caches a route of its own, under its own lock. */
static void apply_path(struct cairn_qp *qp, const struct cairn_path *path)
{
	int side;

	for (side = 0; side < CAIRN_SIDES; side++) {
		cairn_path_drop_route(&qp->path[side]);
		qp->path[side] = *path;
	}
}

/* The smaller of what was asked for and the address vector's static rate. */
static void apply_rate(struct cairn_qp *qp, const struct change *c)
{
	struct cairn_rate_limit *to = &qp->qpc.attrs.rate;
	u32 fixed = qp->path[CAIRN_REQ].kbps;

	if (c->mask & IB_QP_RATE_LIMIT) {
		qp->rate = c->rate;
		qp->attr.rate_limit = c->rate.kbps;
	}
	qp->qpc.cc.line_kbps =
		READ_ONCE(to_cairn_dev(qp->ibqp.device)->line_kbps);
	*to = qp->rate;
	if (fixed && (!to->kbps || fixed < to->kbps))
		to->kbps = fixed;
}

/* Responder resources only grow: their records answer duplicates. The array
 * that is not needed stays in @c.
 */
static void apply_rd(struct cairn_responder *r, struct change *c)
{
	u32 i, n;

	if (r->rd && r->rd_mask >= c->rd_mask)
		return;
	for (i = 0; r->rd && i <= r->rd_mask; i++) {
		n = r->rd_head - 1 - i;
		c->rd[n & c->rd_mask] = r->rd[n & r->rd_mask];
	}
	swap(r->rd, c->rd);
	swap(r->rd_mask, c->rd_mask);
}

/* Back to RESET: what was posted is dropped. Both side locks held. */
static void reset(struct cairn_qp *qp)
{
	struct cairn_queue *sq = &qp->sq;

	cairn_host_index_reset(sq);
	sq->index = cairn_queue_host_index(sq);
	cairn_qpc_reset(&qp->qpc, sq->index);
	qp->qpc.attrs = (struct cairn_qp_attrs){ .pmtu = CAIRN_MIN_PMTU };
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(&qp->rate, 0, sizeof(qp->rate));
	apply_path(qp, &(struct cairn_path){});
	cairn_queue_set_state(sq, CAIRN_QUEUE_READY);
	cairn_queue_publish(sq);
	if (!qp->ibqp.srq)
		cairn_rq_reset(&qp->rq);
}

/* Checked; both side locks held. */
static void apply(struct cairn_qp *qp, struct change *c)
{
	struct cairn_qpc *q = &qp->qpc;

	if (c->next == IB_QPS_SQD && c->cur != IB_QPS_SQD)
		qp->attr.en_sqd_async_notify = 0;	/* unless asked again */
	merge(&qp->attr, c->attr, c->mask);
	apply_attrs(qp);
	apply_mtu(qp, c);
	if (c->mask & IB_QP_AV)
		apply_path(qp, &c->path);
	apply_rate(qp, c);
	if (c->rd)
		apply_rd(&q->resp, c);
	if (c->mask & IB_QP_RQ_PSN)
		cairn_resp_set_psn(q, c->attr->rq_psn);
	if (c->mask & IB_QP_SQ_PSN)
		cairn_req_set_psn(q, c->attr->sq_psn);
	if (c->next == IB_QPS_RESET)
		reset(qp);
	if (c->next == IB_QPS_RTS)
		cairn_req_flush_sqe(q);
	if (c->next != c->cur)
		cairn_qpc_set_state(q, (enum cairn_state)c->next);
}

static int change_locked(struct cairn_qp *qp, struct change *c)
{
	int tries = CAIRN_NEXT_RING_TRIES;
	int err;

	err = prepare(qp, c);
	if (err)
		goto out;
	do {
		err = copy_rings(qp, c);
		if (err)
			break;
		cairn_exec_lock(&qp->exec);
		err = check_transition(qp, c);
		if (!err && c->mask & IB_QP_CAP)
			err = switch_rings(qp, c);
		if (!err)
			apply(qp, c);
		cairn_exec_unlock(&qp->exec);
	} while (err == -EAGAIN && --tries);
out:
	/* Of rings: the old ones, or new ones that were not taken. */
	cairn_next_ring_free(c->rq);
	cairn_next_ring_free(c->sq);
	kvfree(c->rd);
	return err == -EAGAIN ? -EBUSY : err;
}

/* The tail belongs to the rate limit; there is none without. */
static int read_rate(struct change *c, struct ib_udata *udata)
{
	struct cairn_modify_qp_req req = {};
	int err;

	if (!(c->mask & IB_QP_RATE_LIMIT))
		return cairn_udata_check(udata, 0);
	err = cairn_udata_read(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	if (req.typical_pkt_sz > U16_MAX)
		return -EINVAL;
	c->rate = (struct cairn_rate_limit){
		.kbps = c->attr->rate_limit,
		.burst = req.max_burst_sz,
		.typical = req.typical_pkt_sz,
	};
	return 0;
}

/**
 * cairn_modify_qp() - ib_device_ops.modify_qp
 * @ibqp: the QP
 * @attr: new values of what @mask names
 * @mask: enum ib_qp_attr_mask
 * @udata: with a rate limit struct cairn_modify_qp_req, else no tail
 *
 * A rate limit (IB_QP_RATE_LIMIT, kbit/s; 0 removes it) can be set in RTS, or
 * on the way there, and any time after that.
 *
 * IB_QP_CAP changes max_send_wr and max_recv_wr, in every state but ERR: a
 * process has prepared the rings, for a kernel consumer attr->cap counts and 0
 * leaves a queue alone.
 *
 * Returns 0, -EOPNOTSUPP (alternate paths), -EINVAL (value, tail, transition,
 * more outstanding than fits), -EBUSY (work is posted too fast to be moved),
 * -EFAULT or -ENOMEM; on error nothing has changed. Process context.
 */
int cairn_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct change c = { .attr = attr, .mask = mask };
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT) ||
	    mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	err = check_values(attr, mask);
	if (err)
		return err;
	err = read_rate(&c, udata);
	if (err)
		return err;
	mutex_lock(&qp->modify_lock);
	err = change_locked(qp, &c);
	mutex_unlock(&qp->modify_lock);
	if (err)
		return err;
	cairn_exec_kick(&qp->exec, CAIRN_REQ);
	cairn_exec_kick(&qp->exec, CAIRN_RESP);
	return 0;
}

/* What the engine changes by itself. */
static void read_live(struct cairn_qp *qp, struct ib_qp_attr *attr)
{
	const struct cairn_qpc *q = &qp->qpc;

	cairn_exec_lock(&qp->exec);
	attr->qp_state = q->state;
	attr->sq_psn = q->req.psn;
	attr->rq_psn = q->resp.epsn;
	attr->sq_draining = q->state == CAIRN_QP_SQD && !q->req.drained;
	cairn_exec_unlock(&qp->exec);
	attr->cur_qp_state = attr->qp_state;
}

/**
 * cairn_query_qp() - ib_device_ops.query_qp
 * @ibqp: the QP
 * @attr: filled in completely: as last set, or live
 * @mask: not used
 * @init: filled in
 *
 * Always 0. Process context.
 */
int cairn_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);

	mutex_lock(&qp->modify_lock);
	*attr = qp->attr;
	read_live(qp, attr);
	attr->cap = qp->cap;
	*init = qp->init;
	mutex_unlock(&qp->modify_lock);
	return 0;
}
