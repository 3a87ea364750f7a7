// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What `rdma resource show ... -dd` tells of an object. Snapshots: the fields
 * are read while the data path changes them.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include "verbs/ops.h"
#include "verbs/verbs.h"

struct detail {
	const char *name;
	u32 value;
	bool hex;
};

static int put_details(struct sk_buff *msg, const struct detail *d, size_t n)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err = 0;

	if (!nest)
		return -EMSGSIZE;
	for (; n && !err; n--, d++)
		err = d->hex ? rdma_nl_put_driver_u32_hex(msg, d->name,
							  d->value) :
			       rdma_nl_put_driver_u32(msg, d->name, d->value);
	if (err) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

int cairn_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	const struct cairn_qp *qp = to_cairn_qp(ibqp);
	const struct cairn_qpc *q = &qp->qpc;
	const struct cairn_requester *r = &q->req;
	const struct detail d[] = {
		{ "state", READ_ONCE(q->state) },
		{ "una-psn", READ_ONCE(r->una) },
		{ "next-psn", READ_ONCE(r->psn) },
		{ "epsn", READ_ONCE(q->resp.epsn) },
		{ "msn", READ_ONCE(q->resp.msn) },
		{ "wr-outstanding",
		  READ_ONCE(r->new_rec) - READ_ONCE(r->una_rec) },
		{ "retries-left", READ_ONCE(r->retries) },
		{ "rnr-retries-left", READ_ONCE(r->rnr_retries) },
		{ "pmtu", READ_ONCE(q->attrs.pmtu) },
		{ "timeout", READ_ONCE(q->attrs.timeout) },
		{ "sq-depth", qp->sq.depth },
		{ "sq-index", READ_ONCE(qp->sq.index) },
		{ "persists-outstanding", READ_ONCE(r->persists) },
		{ "durable-psn", READ_ONCE(q->resp.durable_psn) },
		{ "host-flushes-pending", cairn_resp_pending(q) },
		{ "rq-depth", qp->rq.queue.depth },
		{ "rq-index", READ_ONCE(qp->rq.queue.index) },
		{ "rate-kbps", READ_ONCE(q->attrs.rate.kbps) },
		{ "rate-burst", READ_ONCE(q->attrs.rate.burst) },
		{ "rate-typical", READ_ONCE(q->attrs.rate.typical) },
		{ "rate-waiting", READ_ONCE(r->rate.marked) |
				  READ_ONCE(q->resp.rate.marked) << 1 },
		{ "cc-enabled", READ_ONCE(q->attrs.cc) },
		{ "cc-kbps", READ_ONCE(q->cc.rp[CAIRN_REQ].kbps) },
	};

	return put_details(msg, d, ARRAY_SIZE(d));
}

int cairn_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	struct detail d[] = {
		{ "depth" }, { "index" }, { "unpolled" }, { "arm-pending" },
		{ "overflowed" },
	};
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	d[0].value = cq->queue.depth;
	d[1].value = cq->queue.index;
	d[2].value = cq->queue.index - READ_ONCE(cq->queue.host->index);
	d[3].value = READ_ONCE(cq->queue.host->arm) != cq->arm_seen;
	d[4].value = cq->overflowed;
	spin_unlock_irqrestore(&cq->lock, flags);
	return put_details(msg, d, ARRAY_SIZE(d));
}

int cairn_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct cairn_mr *mr = to_cairn_mr(ibmr);
	struct cairn_epoch *e = &to_cairn_dev(ibmr->device)->nic.epoch;
	const struct detail d[] = {
		{ "kind", mr->kind },
		{ "access", READ_ONCE(mr->access), true },
		{ "blocks", READ_ONCE(mr->num_blocks) },
		{ "block-shift", READ_ONCE(mr->block_shift) },
		{ "persist", READ_ONCE(mr->persist), true },
		{ "epoch", READ_ONCE(e->turns) },
		{ "epoch-busy", cairn_epoch_busy(e) },
		{ "epoch-stuck", READ_ONCE(e->stuck) },
		{ "valid", mr->kind != CAIRN_MR_FAST || READ_ONCE(mr->valid) },
	};

	return put_details(msg, d, ARRAY_SIZE(d));
}
