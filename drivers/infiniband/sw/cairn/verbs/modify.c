// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changes and reads the attributes and the state of a QP.
 *
 * modify_lock serialises changes. Everything that may sleep (memory, the path) is
 * prepared under it. Then both side locks are taken and the transition is checked
 * against the current state, which the engine may have changed. If it is allowed, the
 * whole change is applied. Readers take the side locks only.
 */
#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include "compat/flush.h"
#include "engine/completer.h"
#include "engine/pace.h"
#include "engine/sq_resize.h"
#include "lane/lane.h"
#include "mem/odp_wait.h"
#include "queue/host_index.h"
#include "queue/next_ring.h"
#include "queue/queue.h"
#include "verbs/ah.h"
#include "verbs/limits.h"
#include "verbs/link.h"
#include "verbs/ops.h"
#include "verbs/post.h"
#include "verbs/qp.h"
#include "verbs/rq.h"
#include "verbs/udata.h"
#include "verbs/xrc.h"

static_assert((int)CAIRN_QP_RESET == (int)IB_QPS_RESET);
static_assert((int)CAIRN_QP_INIT == (int)IB_QPS_INIT);
static_assert((int)CAIRN_QP_RTR == (int)IB_QPS_RTR);
static_assert((int)CAIRN_QP_RTS == (int)IB_QPS_RTS);
static_assert((int)CAIRN_QP_SQD == (int)IB_QPS_SQD);
static_assert((int)CAIRN_QP_SQE == (int)IB_QPS_SQE);
static_assert((int)CAIRN_QP_ERR == (int)IB_QPS_ERR);

/* Source ports between two addresses, at most; a power of two. */
#define MODIFY_FLOWS	4U

/* A change, while it is prepared and applied. */
struct modify_change {
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

/* The attributes that can be set, and the ranges of their values. */
static const struct modify_field {
	u32 bit;
	u16 offset, size;
	u32 min, max;
} modify_fields[] = {
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

static u32 modify_field_value(const struct modify_field *field,
			      const struct ib_qp_attr *attr)
{
	const void *value = (const u8 *)attr + field->offset;

	switch (field->size) {
	case sizeof(u8):
		return *(const u8 *)value;
	case sizeof(u16):
		return *(const u16 *)value;
	default:
		return *(const u32 *)value;
	}
}

static int modify_check_values(const struct ib_qp_attr *attr, int mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modify_fields); i++) {
		const struct modify_field *field = &modify_fields[i];
		u32 value;

		if (!(mask & field->bit))
			continue;
		value = modify_field_value(field, attr);
		if (value < field->min || value > field->max)
			return -EINVAL;
	}
	if (mask & IB_QP_ACCESS_FLAGS &&
	    attr->qp_access_flags &
		    ~(IB_ACCESS_SUPPORTED | CAIRN_IB_ACCESS_FLUSH))
		return -EINVAL;
	return 0;
}

/* Store what is set, for query_qp and for modify_apply_attrs(). */
static void modify_remember(struct ib_qp_attr *to,
			    const struct ib_qp_attr *from, int mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modify_fields); i++)
		if (mask & modify_fields[i].bit)
			memcpy((u8 *)to + modify_fields[i].offset,
			       (const u8 *)from + modify_fields[i].offset,
			       modify_fields[i].size);
	if (mask & IB_QP_AV) {
		to->ah_attr = from->ah_attr;
		/* ib_core has the reference to the GID, so the pointer is not kept. */
		to->ah_attr.grh.sgid_attr = NULL;
	}
}

static int modify_prepare_rd(struct modify_change *change)
{
	u32 wanted = change->attr->max_dest_rd_atomic;
	u32 entries = roundup_pow_of_two(max(wanted, 1U));

	change->rd = kvcalloc(entries, sizeof(*change->rd),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	change->rd_mask = entries - 1;
	return change->rd ? 0 : -ENOMEM;
}

/*
 * A flow label, from which the UDP source port is made. Connections between two
 * addresses share a few ports, so that their packets can leave in one train. There is
 * one port for each lane, as more would not spread the work of this host any further.
 * Both ends hash the same two QP numbers. So connections that share a port in one
 * direction mostly share one in the other, and the answers to a train are a train, too.
 * The port depends on a secret: an attacker that does not see the packets has to guess
 * it (Documentation/security.rst).
 */
static u32 modify_flow(const struct cairn_qp *qp,
		       const struct modify_change *change)
{
	const struct ib_global_route *grh =
		rdma_ah_read_grh(&change->attr->ah_attr);
	u32 dqpn = change->mask & IB_QP_DEST_QPN ? change->attr->dest_qp_num :
						   qp->qpc.attrs.dqpn;
	u32 flows = roundup_pow_of_two(min(cairn_lanes(), MODIFY_FLOWS));
	static siphash_key_t secret;
	struct {
		union ib_gid from, to;
		u64 number;
	} flow = { .to = grh->dgid };

	get_random_once(&secret, sizeof(secret));
	if (grh->sgid_attr)
		flow.from = grh->sgid_attr->gid;
	flow.number = hash_32(qp->ibqp.qp_num ^ dqpn, 8) % flows;
	return siphash(&flow, sizeof(flow), &secret) & IB_GRH_FLOWLABEL_MASK;
}

/* A connection has one peer, so the address of a group is refused. */
static int modify_prepare_path(struct cairn_qp *qp,
			       struct modify_change *change)
{
	const struct ib_global_route *grh =
		rdma_ah_read_grh(&change->attr->ah_attr);
	int err;

	if (rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw))
		return -EINVAL;
	err = cairn_ah_to_path(to_cairn_dev(qp->ibqp.device),
			       &change->attr->ah_attr,
			       modify_flow(qp, change), &change->path);
	change->path.qpn = qp->qpc.qpn;
	if (qp->is_user)
		change->path.uid = current_uid();
	return err;
}

/* Allocate the rings of a kernel consumer. A size of 0 keeps the ring. The size of a
 * receive queue is ignored if the QP has an SRQ.
 */
static int modify_alloc_rings(struct cairn_qp *qp, struct modify_change *change)
{
	const struct ib_qp_cap *cap = &change->attr->cap;

	if (cap->max_send_wr > CAIRN_MAX_QP_WR ||
	    (!qp->qpc.has_srq && cap->max_recv_wr > CAIRN_MAX_QP_WR) ||
	    cap->max_send_sge > qp->cold->cap.max_send_sge ||
	    cap->max_recv_sge > qp->cold->cap.max_recv_sge ||
	    cap->max_inline_data > qp->cold->cap.max_inline_data)
		return -EINVAL;
	if (cap->max_send_wr) {
		change->sq = cairn_next_ring_alloc(&qp->sq, CAIRN_QUEUE_SEND,
						   cap->max_send_wr,
						   cairn_next_ring_send_units(&qp->cold->cap));
		if (!change->sq)
			return -ENOMEM;
	}
	if (cap->max_recv_wr && !qp->qpc.has_srq) {
		change->rq = cairn_next_ring_alloc(&qp->rq.queue,
						   CAIRN_QUEUE_RECV,
						   cap->max_recv_wr,
						   qp->rq.queue.stride);
		if (!change->rq)
			return -ENOMEM;
	}
	return 0;
}

/* A process has prepared its rings (verbs/prepare_ring.c), because its command does not
 * have the sizes.
 */
static int modify_prepare_rings(struct cairn_qp *qp,
				struct modify_change *change)
{
	if (!qp->is_user)
		return modify_alloc_rings(qp, change);
	change->sq = cairn_next_ring_take(&qp->sq);
	change->rq = cairn_next_ring_take(&qp->rq.queue);
	return change->sq || change->rq ? 0 : -EINVAL;
}

/* Do everything that may sleep. On error the caller frees what was allocated. */
static int modify_prepare(struct cairn_qp *qp, struct modify_change *change)
{
	int err = 0;

	if (change->mask & IB_QP_PATH_MTU && change->attr->path_mtu >
	    cairn_link_active_mtu(to_cairn_dev(qp->ibqp.device)))
		return -EINVAL;
	if (change->mask & IB_QP_AV)
		err = modify_prepare_path(qp, change);
	if (!err && change->mask & IB_QP_MAX_DEST_RD_ATOMIC)
		err = modify_prepare_rd(change);
	if (!err && change->mask & IB_QP_CAP)
		err = modify_prepare_rings(qp, change);
	return err;
}

static int modify_check_transition(struct cairn_qp *qp,
				   struct modify_change *change)
{
	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
	if (qp->retired)
		return -EIO;
	change->cur = qp->qpc.state;
	change->next = change->mask & IB_QP_STATE ? change->attr->qp_state :
						    change->cur;
	if (change->mask & IB_QP_CUR_STATE &&
	    change->attr->cur_qp_state != change->cur)
		return -EINVAL;
	if (change->mask & IB_QP_CAP &&
	    (change->cur == IB_QPS_ERR || change->next == IB_QPS_ERR))
		return -EINVAL;
	/* ib_core's table has no sizes of rings and no transition from RTR to RTR. It
	 * has rate limits for raw packet QPs only.
	 */
	if (change->mask & ~(IB_QP_CAP | IB_QP_CUR_STATE) &&
	    !ib_modify_qp_is_ok(change->cur, change->next, qp->ibqp.qp_type,
				change->mask & ~(IB_QP_CAP | IB_QP_RATE_LIMIT)))
		return -EINVAL;
	if (change->mask & IB_QP_RATE_LIMIT &&
	    (change->next != IB_QPS_RTS || qp->ibqp.qp_type == IB_QPT_GSI ||
	     !cairn_rate_check(&change->rate, cairn_pace_packet_max(&qp->qpc))))
		return -EINVAL;
	return 0;
}

/* Copy most of the outstanding units, before the locks are taken. */
static int modify_copy_rings(struct cairn_qp *qp, struct modify_change *change)
{
	int err = 0;

	if (change->sq)
		err = cairn_next_ring_move(&qp->sq, CAIRN_QUEUE_SEND,
					   change->sq, U32_MAX);
	if (change->rq && !err)
		err = cairn_next_ring_move(&qp->rq.queue, CAIRN_QUEUE_RECV,
					   change->rq, U32_MAX);
	return err;
}

static int modify_check_sq(struct cairn_qp *qp, struct modify_change *change)
{
	int err = cairn_sq_fits(&qp->qpc, change->sq->depth,
				change->sq->max_wr - 1);

	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
	lockdep_assert_held(&qp->sq_post_lock);
	if (err)
		return err;
	return cairn_next_ring_move(&qp->sq, CAIRN_QUEUE_SEND, change->sq,
				    CAIRN_NEXT_RING_LOCKED);
}

/* Both rings change or none: sq_post_lock is kept until the receive queue has changed. */
static int modify_switch_rings(struct cairn_qp *qp,
			       struct modify_change *change)
{
	unsigned long flags;
	int err = 0;

	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
	spin_lock_irqsave(&qp->sq_post_lock, flags);
	if (change->sq)
		err = modify_check_sq(qp, change);
	if (change->rq && !err)
		err = cairn_rq_resize(&qp->rq, change->rq);
	if (change->sq && !err) {
		/* The new ring has the units of outstanding WQEs only. */
		if (!qp->is_user)
			cairn_post_count_done(qp);
		cairn_next_ring_swap(&qp->sq, change->sq);
		cairn_sq_resize(&qp->qpc, change->sq->depth, &change->sq->swr,
				change->sq->max_wr - 1);
		qp->qpc.max_records = change->sq->max_wr;
		qp->cold->cap.max_send_wr = change->sq->max_wr;
	}
	spin_unlock_irqrestore(&qp->sq_post_lock, flags);
	if (change->rq && !err)
		qp->cold->cap.max_recv_wr = change->rq->max_wr;
	return err;
}

static u8 modify_flush_plt(int access)
{
	return (access & IB_ACCESS_FLUSH_GLOBAL ? CAIRN_FLUSH_GLOBAL : 0) |
	       (access & IB_ACCESS_FLUSH_PERSISTENT ?
		CAIRN_FLUSH_PERSISTENT : 0);
}

/* Copy attributes from qp->cold->attr to the engine's state. */
static void modify_apply_attrs(struct cairn_qp *qp)
{
	const struct ib_qp_attr *from = &qp->cold->attr;
	struct cairn_qp_attrs *to = &qp->qpc.attrs;

	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
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
	to->flush = modify_flush_plt(from->qp_access_flags);
	to->sqd_notify = from->en_sqd_async_notify;
	to->cc = qp->cc;
}

/* A datagram is one packet, limited by the current MTU of the port. */
static void modify_apply_mtu(struct cairn_qp *qp,
			     const struct modify_change *change)
{
	struct cairn_qpc *qpc = &qp->qpc;
	enum ib_mtu mtu;

	if (change->mask & IB_QP_PATH_MTU)
		qpc->attrs.pmtu = ib_mtu_enum_to_int(change->attr->path_mtu);
	if (qpc->transport == CAIRN_TRANSPORT_UD &&
	    change->next == IB_QPS_RTR) {
		mtu = cairn_link_active_mtu(to_cairn_dev(qp->ibqp.device));
		qpc->attrs.pmtu = max(ib_mtu_enum_to_int(mtu), CAIRN_MIN_PMTU);
		qpc->max_msg = qpc->attrs.pmtu;
	}
}

/* Each side has a path of its own, as it caches the route under its own lock. */
static void modify_apply_path(struct cairn_qp *qp,
			      const struct cairn_path *path)
{
	int side;

	for (side = 0; side < CAIRN_SIDES; side++) {
		cairn_path_drop_route(&qp->path[side]);
		qp->path[side] = *path;
	}
}

/* The rate is the smaller one of the rate limit and the address vector's static rate. */
static void modify_apply_rate(struct cairn_qp *qp,
			      const struct modify_change *change)
{
	struct cairn_rate_limit *to = &qp->qpc.attrs.rate;
	u32 fixed = qp->path[CAIRN_REQ].kbps;

	if (change->mask & IB_QP_RATE_LIMIT) {
		qp->cold->rate = change->rate;
		qp->cold->attr.rate_limit = change->rate.kbps;
	}
	qp->qpc.cc.line_kbps =
		READ_ONCE(to_cairn_dev(qp->ibqp.device)->line_kbps);
	*to = qp->cold->rate;
	if (fixed && (!to->kbps || fixed < to->kbps))
		to->kbps = fixed;
}

/* Responder resources only grow, because their records answer duplicates. The array that
 * is not used stays in @change, and the caller frees it.
 */
static void modify_apply_rd(struct cairn_qp *qp, struct modify_change *change)
{
	struct cairn_responder *resp = &qp->qpc.resp;
	u32 i, slot;

	/* An XRC target gets the array now, because an allocation on its data path
	 * would be charged to no process.
	 */
	if (!resp->replay.res && cairn_xrc_is_target(qp)) {
		resp->replay.mask = change->rd_mask;
		swap(resp->replay.res, change->rd);
		return;
	}
	if (resp->replay.mask >= change->rd_mask)
		return;
	/* The engine allocates the array when it needs it. */
	if (!resp->replay.res) {
		resp->replay.mask = change->rd_mask;
		return;
	}
	for (i = 0; i <= resp->replay.mask; i++) {
		slot = resp->replay.head - 1 - i;
		change->rd[slot & change->rd_mask] =
			resp->replay.res[slot & resp->replay.mask];
	}
	swap(resp->replay.res, change->rd);
	swap(resp->replay.mask, change->rd_mask);
}

/* Return to RESET: posted requests are dropped. */
static void modify_reset(struct cairn_qp *qp)
{
	struct cairn_queue *sq = &qp->sq;

	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
	cairn_host_index_reset(sq);
	sq->index = cairn_queue_host_index(sq);
	cairn_qpc_reset(&qp->qpc, sq->index);
	cairn_odp_waits_reset(qp);
	qp->qpc.attrs = (struct cairn_qp_attrs){ .pmtu = CAIRN_MIN_PMTU };
	memset(&qp->cold->attr, 0, sizeof(qp->cold->attr));
	memset(&qp->cold->rate, 0, sizeof(qp->cold->rate));
	modify_apply_path(qp, &(struct cairn_path){});
	cairn_queue_set_state(sq, CAIRN_QUEUE_READY);
	cairn_queue_publish(sq);
	if (!qp->qpc.has_srq)
		cairn_rq_reset(&qp->rq);
}

/* Apply a change that has been checked. */
static void modify_apply(struct cairn_qp *qp, struct modify_change *change)
{
	struct cairn_qpc *qpc = &qp->qpc;

	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
	if (change->next == IB_QPS_SQD && change->cur != IB_QPS_SQD)
		qp->cold->attr.en_sqd_async_notify = 0;	/* set again below if asked */
	modify_remember(&qp->cold->attr, change->attr, change->mask);
	modify_apply_attrs(qp);
	modify_apply_mtu(qp, change);
	if (change->mask & IB_QP_AV)
		modify_apply_path(qp, &change->path);
	modify_apply_rate(qp, change);
	if (change->rd)
		modify_apply_rd(qp, change);
	if (change->mask & IB_QP_RQ_PSN) {
		cairn_resp_set_psn(qpc, change->attr->rq_psn);
		qp->cold->counts_from[CAIRN_RESP] = get_random_u32();
	}
	if (change->mask & IB_QP_SQ_PSN) {
		cairn_req_set_psn(qpc, change->attr->sq_psn);
		qp->cold->counts_from[CAIRN_REQ] = get_random_u32();
	}
	if (change->next == IB_QPS_RESET)
		modify_reset(qp);
	if (change->next != change->cur)
		cairn_qpc_set_state(qpc, (enum cairn_state)change->next);
}

/* Before SQE becomes RTS, flush the requests that were posted. The locks are released in
 * between; requests that are posted meanwhile need not be flushed.
 */
static void modify_flush_sqe(struct cairn_qp *qp)
{
	u32 left = 2 * qp->sq.depth / CAIRN_MAX_REAPS + 2;
	bool done;

	do {
		struct cairn_budget budget = { CAIRN_MAX_REAPS, S32_MAX };

		cairn_exec_lock(&qp->exec);
		done = cairn_comp_flush_sqe(&qp->qpc, &budget);
		cairn_exec_unlock(&qp->exec);
		cond_resched();
	} while (!done && --left);
}

/* Flush the rest under both side locks. Return: 0; -EBUSY: the CQ is full. */
static int modify_end_sqe(struct cairn_qp *qp)
{
	struct cairn_budget budget = { CAIRN_MAX_REAPS, S32_MAX };

	cairn_comp_flush_sqe(&qp->qpc, &budget);
	return qp->qpc.req.unreported ? -EBUSY : 0;
}

/* Flush or send posted requests before the transition to @next. */
static void modify_leave_state(struct cairn_qp *qp, enum ib_qp_state next)
{
	if (next == IB_QPS_RTS)
		modify_flush_sqe(qp);
	else if (next == IB_QPS_ERR || next == IB_QPS_RESET)
		cairn_exec_settle(&qp->exec);
}

static int modify_locked(struct cairn_qp *qp, struct modify_change *change)
{
	int tries = CAIRN_NEXT_RING_TRIES;
	int err;

	err = modify_prepare(qp, change);
	if (err)
		goto out;
	if (change->mask & IB_QP_STATE)
		modify_leave_state(qp, change->attr->qp_state);
	do {
		err = modify_copy_rings(qp, change);
		if (err)
			break;
		cairn_exec_lock(&qp->exec);
		err = modify_check_transition(qp, change);
		if (!err && change->next == IB_QPS_RTS)
			err = modify_end_sqe(qp);
		if (!err && change->mask & IB_QP_CAP)
			err = modify_switch_rings(qp, change);
		if (!err)
			modify_apply(qp, change);
		cairn_exec_unlock(&qp->exec);
	} while (err == -EAGAIN && --tries);
out:
	/* The rings are the old ones now, or on error the new ones. */
	cairn_next_ring_free(change->rq);
	cairn_next_ring_free(change->sq);
	kvfree(change->rd);
	return err == -EAGAIN ? -EBUSY : err;
}

/* Read the tail of the command, which only a rate limit has. */
static int modify_read_rate(struct modify_change *change,
			    struct ib_udata *udata)
{
	struct cairn_modify_qp_req req = {};
	int err;

	if (!(change->mask & IB_QP_RATE_LIMIT))
		return cairn_udata_check(udata, 0);
	err = cairn_udata_read(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	if (req.typical_pkt_sz > U16_MAX)
		return -EINVAL;
	change->rate = (struct cairn_rate_limit){
		.kbps = change->attr->rate_limit,
		.burst = req.max_burst_sz,
		.typical = req.typical_pkt_sz,
	};
	return 0;
}

/**
 * modify_qp() - ib_device_ops.modify_qp
 * @ibqp: the QP
 * @attr: new values of what @mask names
 * @mask: enum ib_qp_attr_mask
 * @udata: with a rate limit struct cairn_modify_qp_req, else no tail
 *
 * A rate limit (IB_QP_RATE_LIMIT, kbit/s; 0 removes it) can be set in RTS and in the
 * transition to RTS.
 *
 * IB_QP_CAP changes max_send_wr and max_recv_wr, in every state but ERR. A process has
 * prepared the rings before. For a kernel consumer the sizes are those of @attr's cap;
 * 0 keeps a ring.
 *
 * Before ERR or RESET, requests that a process has posted are sent, as far as
 * cairn_exec_settle() can.
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP: alternate path; -EINVAL: value, tail, transition, or more
 * outstanding requests than fit; -EBUSY: requests are posted faster than they are
 * copied, more than CAIRN_MAX_MOVED requests have started, or the CQ has no room for
 * the requests that end with SQE; -EIO: the device leaves; -EFAULT or -ENOMEM. On error
 * nothing has changed.
 */
static int modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	struct modify_change change = { .attr = attr, .mask = mask };
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT) ||
	    mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	err = modify_check_values(attr, mask);
	if (err)
		return err;
	err = modify_read_rate(&change, udata);
	if (err)
		return err;
	mutex_lock(&qp->cold->modify_lock);
	err = modify_locked(qp, &change);
	mutex_unlock(&qp->cold->modify_lock);
	if (err)
		return err;
	cairn_exec_kick(&qp->exec, CAIRN_REQ);
	cairn_exec_kick(&qp->exec, CAIRN_RESP);
	return 0;
}

/* Every process may read, by netlink, and it or the owner may have little CPU time. So this
 * does not take modify_lock: each change of what it reads is made under both side locks.
 */
static void modify_read(struct cairn_qp *qp, struct ib_qp_attr *attr)
{
	const struct cairn_qpc *qpc = &qp->qpc;

	cairn_exec_lock(&qp->exec);
	*attr = qp->cold->attr;
	attr->cap = qp->cold->cap;
	attr->qp_state = qpc->state;
	attr->sq_psn = qpc->req.psn;
	attr->rq_psn = qpc->resp.epsn;
	attr->sq_draining = qpc->state == CAIRN_QP_SQD && !qpc->req.drained;
	cairn_exec_unlock(&qp->exec);
	attr->cur_qp_state = attr->qp_state;
}

/**
 * modify_query_qp() - ib_device_ops.query_qp
 * @ibqp: the QP
 * @attr: all filled in: the current state and PSNs, the other values as last set
 * @mask: the PSNs are 0 if it does not have them
 * @init: filled in
 *
 * Context: process.
 * Return: 0; -EAGAIN: the QP is being destroyed, so that netlink skips it.
 */
static int modify_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			   struct ib_qp_init_attr *init)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);

	if (!cairn_qp_read_begin(qp))
		return -EAGAIN;
	modify_read(qp, attr);
	/* Netlink shows the values to every process. It calls with an empty mask. */
	if (!(mask & IB_QP_SQ_PSN))
		attr->sq_psn = 0;
	if (!(mask & IB_QP_RQ_PSN))
		attr->rq_psn = 0;
	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.sq_sig_type = qp->qpc.sq_sig_all ? IB_SIGNAL_ALL_WR :
						    IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
	};
	cairn_qp_read_end(qp);
	return 0;
}

const struct ib_device_ops cairn_modify_ops = {
	.modify_qp = modify_qp,
	.query_qp = modify_query_qp,
};
