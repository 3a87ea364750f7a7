// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The driver's details in `rdma resource show ... -dd`. They are snapshots, read while
 * the data path changes them. Netlink may find objects other than regions while they are
 * destroyed; -EAGAIN makes it skip them.
 *
 * Every process may read the details. So they contain no keys, ports, addresses or PSNs,
 * which would help to forge packets. Packets are counted from a random number instead.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include "engine/persist_resp.h"
#include "verbs/ops.h"
#include "verbs/qp.h"
#include "verbs/verbs.h"
#include "wire/psn.h"

struct restrack_detail {
	const char *name;
	u32 value;
	bool hex;
};

static int restrack_put(struct sk_buff *msg,
			const struct restrack_detail *details, size_t num)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err = 0;

	if (!nest)
		return -EMSGSIZE;
	for (; num && !err; num--, details++)
		err = details->hex ?
			      rdma_nl_put_driver_u32_hex(msg, details->name,
							 details->value) :
			      rdma_nl_put_driver_u32(msg, details->name,
						     details->value);
	if (err) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

/* Each is the difference of a PSN and another number. */
struct restrack_packets {
	u32 sent, unacked, taken;
};

/* Both numbers are read under the side locks, as modify_qp sets them. If one were read
 * before that and the other afterwards, the difference would tell the PSN.
 */
static struct restrack_packets restrack_read_packets(struct cairn_qp *qp)
{
	const u32 *from = qp->cold->counts_from;
	const struct cairn_qpc *qpc = &qp->qpc;
	struct restrack_packets packets;

	cairn_exec_lock(&qp->exec);
	packets.sent = cairn_psn_add(qpc->req.psn, from[CAIRN_REQ]);
	packets.unacked = cairn_psn_add(qpc->req.psn, -qpc->req.una);
	packets.taken = cairn_psn_add(qpc->resp.epsn, from[CAIRN_RESP]);
	cairn_exec_unlock(&qp->exec);
	return packets;
}

/* The limit may be a new one, below what is spent. */
static u32 restrack_left(u8 limit, u8 spent)
{
	return limit - min(limit, spent);
}

/* The caller has called cairn_qp_read_begin(). */
static int restrack_fill_qp(struct sk_buff *msg, struct cairn_qp *qp)
{
	const struct restrack_packets packets = restrack_read_packets(qp);
	const struct cairn_qpc *qpc = &qp->qpc;
	const struct cairn_requester *req = &qpc->req;
	const struct restrack_detail details[] = {
		{ "state", READ_ONCE(qpc->state) },
		{ "packets-sent", packets.sent },
		{ "packets-unacked", packets.unacked },
		{ "packets-taken", packets.taken },
		{ "msn", READ_ONCE(qpc->resp.msn) },
		{ "wr-outstanding",
		  READ_ONCE(req->new_rec) - READ_ONCE(req->una_rec) },
		{ "retries-left", restrack_left(READ_ONCE(qpc->attrs.retry_cnt),
						READ_ONCE(req->retries)) },
		{ "rnr-retries-left", restrack_left(READ_ONCE(qpc->attrs.rnr_retry),
						    READ_ONCE(req->rnr_retries)) },
		{ "pmtu", READ_ONCE(qpc->attrs.pmtu) },
		{ "timeout", READ_ONCE(qpc->attrs.timeout) },
		{ "sq-depth", qp->sq.depth },
		{ "sq-index", READ_ONCE(qp->sq.index) },
		{ "persists-outstanding", READ_ONCE(req->persist.outstanding) },
		{ "host-flushes-pending", cairn_resp_pending(qpc) },
		{ "rq-depth", qp->rq.queue.depth },
		{ "rq-index", READ_ONCE(qp->rq.queue.index) },
		{ "rate-kbps", READ_ONCE(qpc->attrs.rate.kbps) },
		{ "rate-burst", READ_ONCE(qpc->attrs.rate.burst) },
		{ "rate-typical", READ_ONCE(qpc->attrs.rate.typical) },
		{ "rate-waiting", READ_ONCE(req->rate.marked) |
				  READ_ONCE(qpc->resp.rate.marked) << 1 },
		{ "cc-enabled", READ_ONCE(qpc->attrs.cc) },
		{ "cc-kbps", READ_ONCE(qpc->cc.rp[CAIRN_REQ].kbps) },
		{ "send-ns", READ_ONCE(req->ext->latency.ns[CAIRN_STAGE_SEND]) },
		{ "answer-ns", READ_ONCE(req->ext->latency.ns[CAIRN_STAGE_ANSWER]) },
		{ "durable-ns", READ_ONCE(req->ext->latency.ns[CAIRN_STAGE_DURABLE]) },
	};

	return restrack_put(msg, details, ARRAY_SIZE(details));
}

static int res_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err;

	if (!cairn_qp_read_begin(qp))
		return -EAGAIN;
	err = restrack_fill_qp(msg, qp);
	cairn_qp_read_end(qp);
	return err;
}

static int res_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	struct restrack_detail details[] = {
		{ "depth" }, { "index" }, { "unpolled" }, { "arm-pending" },
		{ "overflowed" }, { "completions-wait" },
	};
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->destroyed) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return -EAGAIN;
	}
	details[0].value = cq->queue.depth;
	details[1].value = cq->queue.index;
	details[2].value = cq->queue.index - READ_ONCE(cq->queue.host->index);
	details[3].value = READ_ONCE(cq->queue.host->arm) != cq->arm_seen;
	details[4].value = cq->overflowed;
	details[5].value = READ_ONCE(cq->queue.dev->wakeup);
	spin_unlock_irqrestore(&cq->lock, flags);
	return restrack_put(msg, details, ARRAY_SIZE(details));
}

static int res_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct cairn_mr *mr = to_cairn_mr(ibmr);
	struct cairn_epoch *epoch = &to_cairn_dev(ibmr->device)->nic.epoch;
	const struct restrack_detail details[] = {
		{ "kind", mr->kind },
		{ "access", READ_ONCE(mr->access), true },
		{ "blocks", READ_ONCE(mr->num_blocks) },
		{ "block-shift", READ_ONCE(mr->block_shift) },
		{ "persist", READ_ONCE(mr->persist), true },
		{ "epoch", READ_ONCE(epoch->advances) },
		{ "epoch-busy", cairn_epoch_busy(epoch) },
		{ "epoch-stuck", READ_ONCE(epoch->stuck) },
		{ "on-demand", mr->on_demand },
		{ "valid", mr->kind != CAIRN_MR_FAST || READ_ONCE(mr->valid) },
	};

	return restrack_put(msg, details, ARRAY_SIZE(details));
}

const struct ib_device_ops cairn_restrack_ops = {
	.fill_res_qp_entry = res_fill_qp,
	.fill_res_cq_entry = res_fill_cq,
	.fill_res_mr_entry = res_fill_mr,
};
