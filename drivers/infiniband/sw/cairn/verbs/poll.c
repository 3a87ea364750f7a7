// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Polling and arming of completion queues by kernel consumers. */
#include "compat/flush.h"
#include "queue/queue.h"
#include "verbs/cq_wait.h"
#include "verbs/kapi.h"
#include "verbs/ops.h"
#include "verbs/verbs.h"

static const enum ib_wc_opcode poll_opcodes[] = {
	[CAIRN_CQE_SEND] = IB_WC_SEND,
	[CAIRN_CQE_WRITE] = IB_WC_RDMA_WRITE,
	[CAIRN_CQE_READ] = IB_WC_RDMA_READ,
	[CAIRN_CQE_CAS] = IB_WC_COMP_SWAP,
	[CAIRN_CQE_FAA] = IB_WC_FETCH_ADD,
	[CAIRN_CQE_LOCAL_INV] = IB_WC_LOCAL_INV,
	[CAIRN_CQE_REG_MR] = IB_WC_REG_MR,
	[CAIRN_CQE_WRITE_PERSIST] = IB_WC_RDMA_WRITE,
	[CAIRN_CQE_FLUSH] = IB_WC_FLUSH,
	[CAIRN_CQE_ATOMIC_WRITE] = IB_WC_ATOMIC_WRITE,
	[CAIRN_CQE_RECV] = IB_WC_RECV,
	[CAIRN_CQE_RECV_IMM] = IB_WC_RECV_RDMA_WITH_IMM,
	[CAIRN_CQE_RECV_PERSIST] = IB_WC_RECV,
	[CAIRN_CQE_RECV_DURABLE] = IB_WC_RECV,
};

/* A host flush of a message with immediate data ends a receive as any such message. */
static enum ib_wc_opcode poll_opcode(const struct cairn_cqe *cqe)
{
	if (cqe->opcode == CAIRN_CQE_RECV_PERSIST &&
	    cqe->flags & CAIRN_CQE_WITH_IMM)
		return IB_WC_RECV_RDMA_WITH_IMM;
	return poll_opcodes[cqe->opcode];
}

static void poll_fill_flags(struct ib_wc *wc, const struct cairn_cqe *cqe)
{
	if (cqe->flags & CAIRN_CQE_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->imm_or_key;
	} else if (cqe->flags & CAIRN_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->imm_or_key;
	}
	if (cqe->flags & CAIRN_CQE_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->flags & CAIRN_CQE_IPV4 ?
				       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	}
	if (cqe->flags & CAIRN_CQE_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = cqe->vlan;
	}
}

static void poll_fill(struct ib_wc *wc, const struct cairn_cqe *cqe,
		      struct ib_qp *ibqp)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = poll_opcode(cqe);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = ibqp;
	wc->src_qp = cqe->src_qp;
	wc->sl = cqe->sl;
	wc->port_num = 1;
	poll_fill_flags(wc, cqe);
	cairn_kapi_put_persist(wc, cqe);
}

/* Only the QP's address is returned; the consumer knows whether the QP still exists. */
static struct ib_qp *poll_find_qp(struct cairn_nic *nic, u32 qpn)
{
	struct cairn_exec *found = cairn_table_find(&nic->qp_table, qpn);

	return found ? &container_of(found, struct cairn_qp, exec)->ibqp : NULL;
}

/**
 * poll_cq() - ib_device_ops.poll_cq
 * @ibcq: of a kernel consumer
 * @num: room in @wc
 * @wc: filled in
 *
 * Entries of a destroyed QP are dropped, as there is no struct ib_qp for them.
 *
 * Context: any.
 * Return: number of entries.
 */
static int poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct cairn_nic *nic = &to_cairn_dev(ibcq->device)->nic;
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	struct cairn_queue *queue = &cq->queue;
	unsigned long flags;
	bool waits;
	int n = 0;
	u32 i;

	spin_lock_irqsave(&cq->lock, flags);
	rcu_read_lock();
	for (i = queue->host->index; n < num && i != queue->index; i++) {
		const struct cairn_cqe *cqe = cairn_queue_unit(queue, i);
		struct ib_qp *ibqp = poll_find_qp(nic, cqe->qpn);

		if (ibqp)
			poll_fill(&wc[n++], cqe, ibqp);
	}
	rcu_read_unlock();
	/* No barrier, as cq_push() runs under the same lock. */
	queue->host->index = i;
	waits = !list_empty(&cq->waits);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (unlikely(waits))
		cairn_cq_resume(cq);
	return n;
}

/**
 * poll_req_notify() - ib_device_ops.req_notify_cq
 * @ibcq: of a kernel consumer
 * @flags: IB_CQ_SOLICITED or IB_CQ_NEXT_COMP, IB_CQ_REPORT_MISSED_EVENTS
 *
 * A request for the next completion stays in effect if a later one asks for the next
 * solicited completion only.
 *
 * Context: any.
 * Return: 1 if there are unpolled entries and IB_CQ_REPORT_MISSED_EVENTS is set, else 0.
 */
static int poll_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	struct cairn_qinfo_host *host = cq->queue.host;
	unsigned long irqflags;
	u32 arm, pending;
	int ret;

	spin_lock_irqsave(&cq->lock, irqflags);
	pending = host->arm == cq->arm_seen ? 0 : host->arm & CAIRN_ARM_MASK;
	arm = pending == CAIRN_ARM_NEXT ||
	      (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP ?
	      CAIRN_ARM_NEXT : CAIRN_ARM_SOLICITED;
	host->arm = (host->arm & ~CAIRN_ARM_MASK) + (CAIRN_ARM_MASK + 1) + arm;
	ret = flags & IB_CQ_REPORT_MISSED_EVENTS &&
	      host->index != cq->queue.index;
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return ret;
}

const struct ib_device_ops cairn_poll_ops = {
	.poll_cq = poll_cq,
	.req_notify_cq = poll_req_notify,
};
