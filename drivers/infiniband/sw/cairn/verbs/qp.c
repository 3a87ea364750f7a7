// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creation, destruction and events of QPs. verbs/modify.c changes their state.
 *
 * The data path finds a QP under RCU, by its number (nic.qp_table) or, for doorbells, by
 * the id of one of its queues. Creation publishes both last. To retire a QP is to remove
 * both, and to reset it. Destruction retires it, waits for a grace period and then stops
 * the runs that are left. When the device leaves, all user QPs are retired together, with
 * one grace period. So are the connected QPs of a process that has ended.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "lane/watch.h"
#include "mem/inval.h"
#include "mem/odp_wait.h"
#include "queue/host_index.h"
#include "queue/next_ring.h"
#include "queue/queue.h"
#include "queue/ready.h"
#include "verbs/comp_cntr.h"
#include "verbs/cq_wait.h"
#include "verbs/doorbell.h"
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/qp.h"
#include "verbs/rate.h"
#include "verbs/rq.h"
#include "verbs/udata.h"
#include "verbs/xrc.h"

/* Records of send WQEs that a QP is created with. Most QPs have few requests in flight,
 * and the engine allocates more when it needs them. A QP that may need more than
 * QP_MANY_RECORDS gets all at once, because the data path could not allocate so many.
 */
#define QP_FIRST_RECORDS	4U
#define QP_MANY_RECORDS		1024U

/* The smallest send queue. perftest's latency tests with events poll once for each event
 * and then post. An event may be an extra one (moderate_expire()), so they need more
 * room than they ask for.
 */
#define QP_MIN_SEND_WRS		4U

/* QP number 0 is that of the subnet manager, 1 of the GSI, 0xffffff of multicast. */
#define QPN_GSI		1
#define QPN_FIRST	2
#define QPN_LAST	(CAIRN_QPN_MULTICAST - 1)

static void qp_deliver(struct work_struct *work)
{
	static const enum ib_event_type types[] = {
		[CAIRN_ASYNC_COMM_EST] = IB_EVENT_COMM_EST,
		[CAIRN_ASYNC_SQ_DRAINED] = IB_EVENT_SQ_DRAINED,
		[CAIRN_ASYNC_QP_FATAL] = IB_EVENT_QP_FATAL,
		[CAIRN_ASYNC_QP_REQ_ERR] = IB_EVENT_QP_REQ_ERR,
		[CAIRN_ASYNC_QP_ACCESS_ERR] = IB_EVENT_QP_ACCESS_ERR,
		[CAIRN_ASYNC_LAST_WQE_REACHED] = IB_EVENT_QP_LAST_WQE_REACHED,
	};
	struct cairn_qp_cold *cold = container_of(work, struct cairn_qp_cold,
						  async.work);
	unsigned long pending = cairn_async_take(&cold->async);
	struct cairn_qp *qp = cold->qp;
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};
	unsigned int i;

	if (!qp->ibqp.event_handler)
		return;
	for_each_set_bit(i, &pending, ARRAY_SIZE(types)) {
		event.event = types[i];
		if (cairn_async_may_tell(&cold->async, qp->exec.nic))
			qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
}

void cairn_qp_async(struct cairn_qp *qp, enum cairn_async event)
{
	cairn_async_post(&qp->cold->async, event);
}

static enum cairn_transport qp_transport(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return CAIRN_TRANSPORT_RC;
	case IB_QPT_UC:
		return CAIRN_TRANSPORT_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return CAIRN_TRANSPORT_XRC;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		return CAIRN_TRANSPORT_UD;
	default:
		return CAIRN_TRANSPORT_NONE;
	}
}

static int qp_check_init(const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (qp_transport(init->qp_type) == CAIRN_TRANSPORT_NONE ||
	    init->create_flags || init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (init->qp_type == IB_QPT_GSI && (user || init->srq))
		return -EOPNOTSUPP;
	/* ib_send_wr has no member for the number of an SRQ. */
	if (init->qp_type == IB_QPT_XRC_INI && !user)
		return -EOPNOTSUPP;
	if (init->qp_type == IB_QPT_XRC_TGT)
		return init->xrcd && !init->srq ? 0 : -EINVAL;
	if (!init->send_cq ||
	    (!init->recv_cq && init->qp_type != IB_QPT_XRC_INI))
		return -EINVAL;
	if (init->qp_type == IB_QPT_XRC_INI &&
	    (init->srq || cap->max_inline_data > CAIRN_XRC_INLINE_MASK))
		return -EINVAL;
	if (cap->max_send_wr > CAIRN_MAX_QP_WR ||
	    cap->max_send_sge > CAIRN_MAX_SGE ||
	    cap->max_inline_data > CAIRN_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > CAIRN_MAX_QP_WR ||
			   cap->max_recv_sge > CAIRN_MAX_SGE))
		return -EINVAL;
	return 0;
}

/* Create the send ring and the engine's records of WQEs. */
static int qp_create_sq(struct cairn_qp *qp, struct ib_qp_cap *cap)
{
	struct cairn_requester *req = &qp->qpc.req;
	u32 wrs = roundup_pow_of_two(max(cap->max_send_wr,
					 QP_MIN_SEND_WRS));
	u32 units = cairn_next_ring_send_units(cap);
	u32 records = wrs > QP_MANY_RECORDS ? wrs :
					      min(wrs, QP_FIRST_RECORDS);
	u32 depth = roundup_pow_of_two(wrs * units);
	u32 room = units * CAIRN_UNIT_SIZE - CAIRN_WQE_DATA_OFFSET;
	int err;

	if (qp->uctx)
		err = cairn_queue_init_user(qp->uctx, &qp->sq, depth, 0, true);
	else
		err = cairn_queue_init_kernel(&qp->sq, depth, 0);
	if (err)
		return err;
	req->swr = kvcalloc(records, sizeof(*req->swr),
			    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!req->swr) {
		cairn_queue_free(&qp->sq);
		return -ENOMEM;
	}
	req->swr_mask = records - 1;
	qp->qpc.max_records = wrs;
	qp->qpc.max_units = units;
	cap->max_send_wr = wrs;
	cap->max_send_sge = min_t(u32, room / sizeof(struct cairn_sge),
				  CAIRN_MAX_SGE);
	cap->max_inline_data = min_t(u32, room,
				     qp->ibqp.qp_type == IB_QPT_XRC_INI ?
					     CAIRN_XRC_INLINE_MASK :
					     CAIRN_MAX_INLINE);
	return 0;
}

static void qp_destroy_sq(struct cairn_qp *qp)
{
	kvfree(qp->qpc.req.swr);
	cairn_queue_free(&qp->sq);
}

static int qp_create_rq(struct cairn_qp *qp, struct ib_qp_cap *cap)
{
	int err;

	if (qp->qpc.has_srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
		return 0;
	}
	err = cairn_rq_create(&to_cairn_dev(qp->ibqp.device)->nic, &qp->rq,
			      cap->max_recv_wr, cap->max_recv_sge, qp->uctx);
	if (err)
		return err;
	cap->max_recv_wr = qp->rq.max_wr;
	cap->max_recv_sge = qp->rq.max_sge;
	return 0;
}

/* Units of the largest receive WQE of the QP. An XRC target may use any SRQ. */
static u32 qp_recv_units(const struct cairn_qp *qp)
{
	if (cairn_xrc_is_target(qp))
		return CAIRN_MAX_WQE_UNITS;
	return qp->receives ? qp->receives->queue.stride : 0;
}

/* The packets of UC and UD are counted, but for the few of the GSI. */
static int qp_enter_room(struct cairn_qp *qp)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	struct cairn_room *room = NULL;

	if (qp->ibqp.qp_type == IB_QPT_UC || qp->ibqp.qp_type == IB_QPT_UD)
		room = cairn_room_get(qp->uctx ? &qp->uctx->room : &dev->nic.room);
	if (IS_ERR(room))
		return PTR_ERR(room);
	cairn_room_init_wait(&qp->cold->room_wait, room, &qp->exec);
	return 0;
}

/* Allocate the cold part, with room for copies of the largest send and receive WQE. */
static int qp_create_cold(struct cairn_qp *qp)
{
	u32 send = cairn_requester_ext_size(qp->qpc.max_units);
	u32 recv = qp_recv_units(qp) * CAIRN_UNIT_SIZE;

	qp->cold = kzalloc(sizeof(*qp->cold) + send + recv, GFP_KERNEL_ACCOUNT);
	if (!qp->cold)
		return -ENOMEM;
	qp->cold->qp = qp;
	qp->cold->serial = atomic64_inc_return(&to_cairn_dev(qp->ibqp.device)->qp_serials);
	refcount_set(&qp->cold->users, 1);
	mutex_init(&qp->cold->modify_lock);
	cairn_invals_init(qp);
	cairn_odp_waits_init(qp);
	cairn_cq_waits_init(qp);
	/* An XRC target may outlive its creator and the list of its unread events. */
	cairn_async_init(&qp->cold->async, qp_deliver,
			 cairn_xrc_is_target(qp) ? NULL : qp->ibqp.uobject);
	qp->cold->async.for_life = cairn_xrc_is_target(qp);
	qp->qpc.req.ext = qp->cold->ext;
	qp->qpc.resp.rwqe = (void *)qp->cold->ext + send;
	return 0;
}

static int qp_create_queues(struct cairn_qp *qp, struct ib_qp_cap *cap)
{
	int err;

	err = qp_create_sq(qp, cap);
	if (err)
		return err;
	err = qp_create_rq(qp, cap);
	if (err)
		goto err_sq;
	err = qp_create_cold(qp);
	if (err)
		goto err_rq;
	err = qp_enter_room(qp);
	if (err)
		goto err_cold;
	return 0;

err_cold:
	cairn_odp_waits_put(qp->cold);
err_rq:
	cairn_queue_free(&qp->rq.queue);
err_sq:
	qp_destroy_sq(qp);
	return err;
}

bool cairn_qp_read_begin(struct cairn_qp *qp)
{
	return refcount_inc_not_zero(&qp->readers);
}

void cairn_qp_read_end(struct cairn_qp *qp)
{
	if (!refcount_dec_and_test(&qp->readers))
		return;
	/* The count is 0 before the waiters are looked for. Pairs with the full barrier
	 * of wait_var_event() in qp_end_reads(). The QP may be freed; only its address is
	 * used.
	 */
	smp_mb__after_atomic();
	wake_up_var(&qp->readers);
}

/* Wait for readers by netlink, which finds the QP until ib_core has removed it. Kernels
 * before 6.1.192 and 6.12.117 remove it only after the destroy op.
 */
static void qp_end_reads(struct cairn_qp *qp)
{
	cairn_qp_read_end(qp);
	wait_var_event(&qp->readers, !refcount_read(&qp->readers));
}

static void qp_destroy_queues(struct cairn_qp *qp)
{
	mutex_destroy(&qp->cold->modify_lock);
	cairn_odp_waits_put(qp->cold);
	cairn_queue_free(&qp->rq.queue);
	qp_destroy_sq(qp);
}

static int qp_pick_number(struct cairn_dev *dev, enum ib_qp_type type, u32 *qpn)
{
	int err;

	if (type == IB_QPT_GSI) {
		*qpn = QPN_GSI;
		return xa_insert(&dev->nic.qps, QPN_GSI, NULL, GFP_KERNEL);
	}
	err = xa_alloc_cyclic(&dev->nic.qps, qpn, NULL,
			      XA_LIMIT(QPN_FIRST, QPN_LAST), &dev->next_qpn,
			      GFP_KERNEL);
	return min(err, 0);
}

/* Reserve a QP number, which look-ups do not find yet. */
static int qp_reserve_number(struct cairn_dev *dev, enum ib_qp_type type,
			     u32 *qpn)
{
	int err = qp_pick_number(dev, type, qpn);

	if (err)
		return err;
	err = cairn_table_reserve(&dev->nic.qp_table, *qpn);
	if (err)
		xa_erase(&dev->nic.qps, *qpn);
	return err;
}

/* In this order, so that the table has room when the number is allocated again. */
static void qp_release_number(struct cairn_dev *dev, u32 qpn)
{
	cairn_table_release(&dev->nic.qp_table, qpn);
	xa_erase(&dev->nic.qps, qpn);
}

static void qp_init_qpc(struct cairn_qp *qp, const struct ib_qp_init_attr *init,
			u32 qpn)
{
	struct cairn_qpc *qpc = &qp->qpc;

	qpc->transport = qp_transport(init->qp_type);
	if (init->qp_type != IB_QPT_XRC_INI)
		qpc->takes = qpc->transport;
	qpc->sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qpc->max_send_sge = init->cap.max_send_sge;
	qpc->max_recv_sge = init->cap.max_recv_sge;
	qpc->max_inline = init->cap.max_inline_data;
	qpc->qpn = qpn;
	qpc->sq_depth = qp->sq.depth;
	qpc->max_msg = CAIRN_MAX_MSG;
	qpc->attrs.pmtu = CAIRN_MIN_PMTU;
	cairn_rate_cc_init_qp(qp);
	cairn_qpc_init(qpc);
	cairn_exec_init(&qp->exec, qpc,
			&to_cairn_dev(qp->ibqp.device)->nic);
	qp->exec.kernel = !qp->is_user;
	qp->exec.path = qpc->transport == CAIRN_TRANSPORT_UD ? NULL : qp->path;
}

/* Give the QP a lane, and its queues the lane's pointer cache. */
static int qp_join_lane(struct cairn_qp *qp, struct cairn_create_qp_resp *resp)
{
	int err = qp->uctx ? cairn_ready_join(qp->uctx->ready, &qp->exec,
					      &resp->sq) :
			     cairn_watch_join_kernel(&qp->exec);

	if (err)
		return err;
	cairn_host_index_join(&qp->sq, &qp->exec);
	if (!qp->qpc.has_srq)
		cairn_host_index_join(&qp->rq.queue, &qp->exec);
	return 0;
}

static int qp_reply(const struct cairn_qp *qp, struct cairn_create_qp_resp *resp,
		    struct ib_udata *udata)
{
	cairn_queue_describe(&qp->sq, &resp->sq);
	if (!qp->qpc.has_srq)
		cairn_queue_describe(&qp->rq.queue, &resp->rq);
	return ib_copy_to_udata(udata, resp, sizeof(*resp));
}

static void qp_init_queues(struct cairn_qp *qp,
			   const struct ib_qp_init_attr *init)
{
	bool xrc = qp_transport(init->qp_type) == CAIRN_TRANSPORT_XRC;

	qp->qpc.has_srq = init->srq || xrc;
	qp->pd = qp->ibqp.pd;
	/* an XRC initiator has one, too */
	qp->send_cq = init->send_cq ? to_cairn_cq(init->send_cq) : NULL;
	if (xrc)
		return;
	qp->receives = init->srq ? &to_cairn_srq(init->srq)->rq : &qp->rq;
	qp->recv_cq = to_cairn_cq(init->recv_cq);
}

static void qp_init(struct cairn_qp *qp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata)
{
	struct cairn_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct cairn_ucontext, ibuc);

	qp->is_user = uctx;
	if (cairn_xrc_is_target(qp))
		init->cap = (struct ib_qp_cap){};
	else
		qp->uctx = uctx;
	qp_init_queues(qp, init);
	spin_lock_init(&qp->sq_post_lock);
	refcount_set(&qp->readers, 1);
}

/* The last step of creation. Return: 0, or -EIO: the device leaves. */
static int qp_publish(struct cairn_qp *qp)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	u32 qpn = qp->ibqp.qp_num;
	int err = 0;

	mutex_lock(&dev->retire_lock);
	if (qp->is_user && READ_ONCE(dev->leaving)) {
		err = -EIO;
	} else {
		cairn_doorbells_publish(qp);
		/* Cannot fail, as the slot is reserved. */
		xa_store(&dev->nic.qps, qpn, &qp->exec, GFP_KERNEL);
		cairn_table_set(&dev->nic.qp_table, qpn, &qp->exec);
	}
	mutex_unlock(&dev->retire_lock);
	return err;
}

/**
 * qp_create() - ib_device_ops.create_qp
 * @ibqp: zeroed, except for the members that ib_core has set
 * @init: cap is set to the capacity of the queues
 * @udata: reply struct cairn_create_qp_resp
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP: type or flags; -EINVAL: limits or reply size; -EBUSY: a second
 * GSI QP; -EDQUOT: the share of the user; -EIO: the device leaves; -ENOMEM or -EFAULT.
 */
static int qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct cairn_dev *dev = to_cairn_dev(ibqp->device);
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	struct cairn_share_user *user = cairn_udata_user(udata);
	struct cairn_create_qp_resp resp = {};
	u32 qpn;
	int err;

	err = cairn_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	err = qp_check_init(init, udata);
	if (err)
		return err;
	err = cairn_share_take(&dev->nic, CAIRN_SHARE_QP, CAIRN_MAX_QP, user);
	if (err)
		return err;
	qp_init(qp, init, udata);
	err = qp_create_queues(qp, &init->cap);
	if (err)
		goto err_limit;
	err = qp_reserve_number(dev, init->qp_type, &qpn);
	if (err)
		goto err_queues;
	qp_init_qpc(qp, init, qpn);
	ibqp->qp_num = qpn;
	qp->cold->cap = init->cap;
	qp->cold->user = user;
	qp->exec.user = user;
	err = qp_join_lane(qp, &resp);
	if (err)
		goto err_qpn;
	err = udata ? qp_reply(qp, &resp, udata) : 0;
	if (err)
		goto err_lane;
	err = cairn_doorbells_reserve(qp);
	if (err)
		goto err_lane;
	err = qp_publish(qp);
	if (err)
		goto err_doorbells;
	return 0;

err_doorbells:
	cairn_doorbells_remove(qp);
err_lane:
	cairn_exec_stop(&qp->exec);
err_qpn:
	qp_release_number(dev, qpn);
err_queues:
	qp_destroy_queues(qp);
err_limit:
	cairn_share_give(&dev->nic, CAIRN_SHARE_QP, user);
	return err;
}

/* Reset the QP, so that later runs find no work. */
static void qp_silence(struct cairn_qp *qp)
{
	cairn_exec_lock(&qp->exec);
	cairn_qpc_reset(&qp->qpc, qp->sq.index);
	cairn_qpc_set_state(&qp->qpc, CAIRN_QP_RESET);
	qp->retired = true;
	cairn_exec_unlock(&qp->exec);
}

/* Before a grace period. The number stays reserved. */
static void qp_retire(struct cairn_qp *qp)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);

	lockdep_assert_held(&dev->retire_lock);
	cairn_table_set(&dev->nic.qp_table, qp->ibqp.qp_num, NULL);
	xa_store(&dev->nic.qps, qp->ibqp.qp_num, NULL, GFP_KERNEL);
	cairn_doorbells_remove(qp);
	qp_silence(qp);
	cairn_cq_waits_cancel(qp);
	cairn_room_leave(&qp->cold->room_wait);
}

void cairn_qps_retire(struct cairn_dev *dev)
{
	struct cairn_exec *exec;
	unsigned long number;

	mutex_lock(&dev->retire_lock);
	xa_for_each(&dev->nic.qps, number, exec) {
		if (!exec->kernel)
			qp_retire(container_of(exec, struct cairn_qp, exec));
		cond_resched();
	}
	/* Under the lock: qp_destroy() of a retired QP begins after it. */
	synchronize_rcu_expedited();
	mutex_unlock(&dev->retire_lock);
}

/* A process destroys its QPs by calls, or by close(). When it has ended, the kernel closes. */
static bool qp_owner_ended(const struct cairn_qp *qp)
{
	return qp->uctx && !current->mm;
}

/* Return: was it not retired yet? */
static bool qp_retire_once(struct cairn_qp *qp)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	bool first;

	mutex_lock(&dev->retire_lock);
	first = !qp->retired;
	if (first)
		qp_retire(qp);
	mutex_unlock(&dev->retire_lock);
	return first;
}

/* Retire all connected QPs of the process together. Nothing more is sent for it, and they
 * share a grace period. A datagram QP may still be found as a member of a group. The lock is
 * taken for each one: the process may have little CPU time, and others wait for the lock.
 */
static void qp_retire_context(struct cairn_qp *qp)
{
	unsigned long id;
	void *entry;

	if (!qp->exec.path || !qp_retire_once(qp))
		return;
	xa_for_each(&qp->uctx->doorbells, id, entry) {
		struct cairn_qp *other = xa_untag_pointer(entry);

		if (xa_pointer_tag(entry) == CAIRN_REQ && other->exec.path)
			qp_retire_once(other);
		cond_resched();
	}
	/* The others are destroyed after this one, by the same thread. */
	synchronize_rcu_expedited();
}

/* Retire a QP, unless that was done with the others, and wait for the grace period. */
static void qp_end_lookups(struct cairn_qp *qp)
{
	/* Expedited: applications destroy thousands of QPs one after another, and
	 * ordinary grace periods would take minutes.
	 */
	if (qp_retire_once(qp))
		synchronize_rcu_expedited();
	qp_release_number(to_cairn_dev(qp->ibqp.device), qp->ibqp.qp_num);
}

/**
 * qp_destroy() - ib_device_ops.destroy_qp
 * @ibqp: no consumer posts to it any more; packets and doorbells may still arrive
 * @udata: not used
 *
 * poll_cq() drops unpolled completions of the QP from a kernel CQ, because it does not
 * find the QP's number any more.
 *
 * Context: process.
 * Return: 0.
 */
static int qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct cairn_dev *dev = to_cairn_dev(ibqp->device);
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	struct cairn_share_user *user = qp->cold->user;
	int side;

	qp_end_reads(qp);
	if (qp_owner_ended(qp))
		qp_retire_context(qp);
	else
		cairn_exec_settle(&qp->exec);
	qp_end_lookups(qp);
	cairn_exec_stop(&qp->exec);
	cairn_invals_cancel(qp);
	cairn_odp_waits_cancel(qp);
	cairn_async_cancel(&qp->cold->async);
	for (side = 0; side < CAIRN_SIDES; side++)
		cairn_path_drop_route(&qp->path[side]);
	kvfree(qp->qpc.resp.replay.res);
	kfree(qp->qpc.resp.persist.pend);
	cairn_comp_cntr_forget(qp);
	qp_destroy_queues(qp);
	cairn_share_give(&dev->nic, CAIRN_SHARE_QP, user);
	return 0;
}

const struct ib_device_ops cairn_qp_ops = {
	.create_qp = qp_create,
	.destroy_qp = qp_destroy,
	INIT_RDMA_OBJ_SIZE(ib_qp, cairn_qp, ibqp),
};
