// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting by kernel consumers: work requests become the same WQEs that a process
 * writes, in rings that only the kernel can access.
 *
 * host->index is the write pointer; it changes under the lock for posting.
 */
#include <linux/bits.h>
#include <linux/lockdep.h>
#include <rdma/cairn.h>
#include "compat/flush.h"
#include "device/trace.h"
#include "queue/queue.h"
#include "verbs/ops.h"
#include "verbs/post.h"
#include "verbs/verbs.h"

#define RC	BIT(CAIRN_TRANSPORT_RC)
#define UC	BIT(CAIRN_TRANSPORT_UC)
#define UD	BIT(CAIRN_TRANSPORT_UD)

#define SEND_FLAGS (IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_FENCE | \
		    IB_SEND_INLINE | CAIRN_SEND_EARLY)

/* Number of free units of the ring. Under the lock for posting. */
static u32 post_room(const struct cairn_queue *queue)
{
	/* Pairs with cairn_queue_publish(), after which the device has copied the units. */
	u32 oldest = smp_load_acquire(&queue->dev->index);

	return queue->depth - (queue->host->index - oldest);
}

static void post_publish(const struct cairn_queue *queue, u32 idx)
{
	/* The WQEs are written before. Pairs with cairn_queue_host_index(). */
	smp_store_release(&queue->host->index, idx);
}

/* Write a WQE of @units units at @idx, which may wrap around the ring's end. */
static void post_put(const struct cairn_queue *queue, u32 idx, u32 units,
		     const union cairn_wqe_buf *from)
{
	u32 head = min(units, queue->depth - (idx & (queue->depth - 1)));

	memcpy(cairn_queue_unit(queue, idx), from->bytes,
	       head * CAIRN_UNIT_SIZE);
	if (unlikely(head < units))
		memcpy(queue->ring, from->bytes + head * CAIRN_UNIT_SIZE,
		       (units - head) * CAIRN_UNIT_SIZE);
}

static void post_put_sges(struct cairn_sge *to, const struct ib_sge *from,
			  int n)
{
	while (n--) {
		to->addr = from->addr;
		to->length = from->length;
		to->lkey = from->lkey;
		to++;
		from++;
	}
}

static void post_fill_imm(struct cairn_send_wqe *wqe,
			  const struct ib_send_wr *wr)
{
	wqe->imm_or_key = (__force u32)wr->ex.imm_data;
}

static void post_fill_inv(struct cairn_send_wqe *wqe,
			  const struct ib_send_wr *wr)
{
	wqe->imm_or_key = wr->ex.invalidate_rkey;
}

static void post_fill_rdma(struct cairn_send_wqe *wqe,
			   const struct ib_send_wr *wr)
{
	wqe->remote_addr = rdma_wr(wr)->remote_addr;
	wqe->rkey = rdma_wr(wr)->rkey;
}

static void post_fill_rdma_imm(struct cairn_send_wqe *wqe,
			       const struct ib_send_wr *wr)
{
	post_fill_rdma(wqe, wr);
	post_fill_imm(wqe, wr);
}

static void post_fill_atomic(struct cairn_send_wqe *wqe,
			     const struct ib_send_wr *wr)
{
	wqe->remote_addr = atomic_wr(wr)->remote_addr;
	wqe->rkey = atomic_wr(wr)->rkey;
	wqe->atomic.compare_add = atomic_wr(wr)->compare_add;
	wqe->atomic.swap = atomic_wr(wr)->swap;
}

/* The WQE has a pointer to the MR. A process cannot change it, as the ring is in kernel
 * memory.
 */
static void post_fill_reg(struct cairn_send_wqe *wqe,
			  const struct ib_send_wr *wr)
{
	wqe->remote_addr = (uintptr_t)reg_wr(wr)->mr;
	wqe->rkey = reg_wr(wr)->key;
	wqe->imm_or_key = reg_wr(wr)->access;
}

/* How a work request becomes a WQE. transports 0: the opcode is not supported. */
static const struct post_op {
	u8 opcode;		/* enum cairn_wqe_opcode */
	u8 transports;
	bool no_data;		/* the SGEs are ignored */
	void (*fill)(struct cairn_send_wqe *wqe, const struct ib_send_wr *wr);
} post_ops[] = {
	[IB_WR_SEND] = { CAIRN_WQE_SEND, RC | UC | UD },
	[IB_WR_SEND_WITH_IMM] = { CAIRN_WQE_SEND_IMM, RC | UC | UD,
				  .fill = post_fill_imm },
	[IB_WR_SEND_WITH_INV] = { CAIRN_WQE_SEND_INV, RC,
				  .fill = post_fill_inv },
	[IB_WR_RDMA_WRITE] = { CAIRN_WQE_WRITE, RC | UC,
			       .fill = post_fill_rdma },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { CAIRN_WQE_WRITE_IMM, RC | UC,
					.fill = post_fill_rdma_imm },
	[IB_WR_RDMA_READ] = { CAIRN_WQE_READ, RC, .fill = post_fill_rdma },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { CAIRN_WQE_CAS, RC,
				       .fill = post_fill_atomic },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { CAIRN_WQE_FAA, RC,
					 .fill = post_fill_atomic },
	[IB_WR_LOCAL_INV] = { CAIRN_WQE_LOCAL_INV, RC | UC, true,
			      post_fill_inv },
	[IB_WR_ATOMIC_WRITE] = { CAIRN_WQE_ATOMIC_WRITE, RC,
				 .fill = post_fill_rdma },
	[IB_WR_REG_MR] = { CAIRN_WQE_REG_MR, RC | UC, true, post_fill_reg },
};

/* Not in the table, because their opcodes are much larger. They alone allow
 * CAIRN_SEND_EARLY.
 */
static const struct post_op post_persist_op = { CAIRN_WQE_WRITE_PERSIST, RC,
					 .fill = post_fill_rdma };
static const struct post_op post_persist_imm_op = {
	CAIRN_WQE_WRITE_PERSIST_IMM, RC, .fill = post_fill_rdma_imm
};

static const struct post_op *post_find_op(const struct cairn_qp *qp,
					  const struct ib_send_wr *wr)
{
	const struct post_op *op;

	if (wr->send_flags & ~SEND_FLAGS)
		return NULL;
	if (wr->opcode == CAIRN_WR_WRITE_PERSIST)
		op = &post_persist_op;
	else if (wr->opcode == CAIRN_WR_WRITE_PERSIST_WITH_IMM)
		op = &post_persist_imm_op;
	else if ((u32)wr->opcode < ARRAY_SIZE(post_ops) &&
		 !(wr->send_flags & CAIRN_SEND_EARLY))
		op = &post_ops[wr->opcode];
	else
		return NULL;
	return op->transports & BIT(qp->qpc.transport) ? op : NULL;
}

static u8 post_wqe_flags(int send_flags)
{
	return (send_flags & IB_SEND_SIGNALED ? CAIRN_WQE_SIGNALED : 0) |
	       (send_flags & IB_SEND_SOLICITED ? CAIRN_WQE_SOLICITED : 0) |
	       (send_flags & IB_SEND_FENCE ? CAIRN_WQE_FENCE : 0) |
	       (send_flags & CAIRN_SEND_EARLY ? CAIRN_WQE_EARLY : 0);
}

/* Return: bytes of the WQE, or -EINVAL. */
static int post_put_inline(const struct cairn_qp *qp, union cairn_wqe_buf *buf,
			   const struct ib_send_wr *wr)
{
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->qpc.max_inline - len)
			return -EINVAL;
		memcpy(buf->bytes + CAIRN_WQE_DATA_OFFSET + len,
		       (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	buf->send.flags |= CAIRN_WQE_INLINE;
	buf->send.inline_len = len;
	return CAIRN_WQE_DATA_OFFSET + len;
}

static int post_put_data(const struct cairn_qp *qp, union cairn_wqe_buf *buf,
			 const struct ib_send_wr *wr, const struct post_op *op)
{
	u32 offset = op->fill == post_fill_atomic ?
			     CAIRN_WQE_ATOMIC_SGE_OFFSET :
			     CAIRN_WQE_DATA_OFFSET;
	u32 max = op->fill == post_fill_atomic ? 1 : qp->qpc.max_send_sge;

	if (op->no_data)
		return CAIRN_UNIT_SIZE;
	if (wr->send_flags & IB_SEND_INLINE)
		return post_put_inline(qp, buf, wr);
	if (wr->num_sge < 0 || wr->num_sge > max)
		return -EINVAL;
	buf->send.num_sge = wr->num_sge;
	post_put_sges((struct cairn_sge *)(buf->bytes + offset), wr->sg_list,
		      wr->num_sge);
	return offset + wr->num_sge * sizeof(struct cairn_sge);
}

/* Return: units of the WQE, or -EINVAL. */
static int post_build_send(const struct cairn_qp *qp, union cairn_wqe_buf *buf,
			   const struct ib_send_wr *wr)
{
	const struct post_op *op = post_find_op(qp, wr);
	struct cairn_send_wqe *wqe = &buf->send;
	int bytes;

	if (!op)
		return -EINVAL;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = op->opcode;
	wqe->flags = post_wqe_flags(wr->send_flags);
	if (op->fill)
		op->fill(wqe, wr);
	if (qp->qpc.transport == CAIRN_TRANSPORT_UD) {
		wqe->ud.ah = to_cairn_ib_ah(ud_wr(wr)->ah)->num;
		wqe->ud.qpn = ud_wr(wr)->remote_qpn;
		wqe->qkey = ud_wr(wr)->remote_qkey;
	}
	bytes = post_put_data(qp, buf, wr, op);
	if (bytes < 0)
		return bytes;
	wqe->units = DIV_ROUND_UP(bytes, CAIRN_UNIT_SIZE);
	return wqe->units;
}

void cairn_post_count_done(struct cairn_qp *qp)
{
	struct cairn_qp_cold *cold = qp->cold;
	/* Pairs with cairn_queue_publish(): the device has copied the units. */
	u32 done = smp_load_acquire(&qp->sq.dev->index);

	lockdep_assert_held(&qp->sq_post_lock);
	while (cold->sq_done != done) {
		const struct cairn_send_wqe *wqe =
			cairn_queue_unit(&qp->sq, cold->sq_done);

		cold->sq_done += wqe->units;
		cold->sq_used--;
	}
}

static bool post_fits(const struct cairn_qp *qp, u32 idx, u32 units)
{
	const struct cairn_qp_cold *cold = qp->cold;

	return idx + units - cold->sq_done <= qp->sq.depth &&
	       cold->sq_used < qp->qpc.max_records;
}

/* Is there room for one more WQE? Not more than max_send_wr, as consumers size
 * completion queues by that: short WQEs leave room in the ring. WQEs are counted
 * before they are overwritten.
 */
static bool post_has_room(struct cairn_qp *qp, u32 idx, u32 units)
{
	if (post_fits(qp, idx, units))
		return true;
	cairn_post_count_done(qp);
	return post_fits(qp, idx, units);
}

static int post_one_send(struct cairn_qp *qp, const struct ib_send_wr *wr,
			 u32 idx)
{
	/* Only bytes that have been written are read. */
	union cairn_wqe_buf buf __uninitialized;
	int units;

	lockdep_assert_held(&qp->sq_post_lock);
	units = post_build_send(qp, &buf, wr);
	if (units < 0)
		return units;
	if (!post_has_room(qp, idx, units))
		return -ENOMEM;
	post_put(&qp->sq, idx, units, &buf);
	qp->cold->sq_used++;
	return units;
}

/**
 * post_send() - ib_device_ops.post_send
 * @ibqp: a kernel QP
 * @wr: list of work requests
 * @bad: set to the first one that was not posted, on error only
 *
 * In the error state, work requests are accepted and flushed.
 *
 * Context: any.
 * Return: 0; -EINVAL: state, opcode, flags or lengths; -ENOMEM: the queue is full.
 */
static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	unsigned long flags;
	int ret = 0;
	u32 idx;

	if (READ_ONCE(qp->qpc.state) < CAIRN_QP_RTS) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->sq_post_lock, flags);
	for (idx = qp->sq.host->index; wr; wr = wr->next, idx += ret) {
		ret = post_one_send(qp, wr, idx);
		if (ret < 0) {
			*bad = wr;
			break;
		}
	}
	post_publish(&qp->sq, idx);
	spin_unlock_irqrestore(&qp->sq_post_lock, flags);
	trace_cairn_doorbell(&qp->exec, CAIRN_REQ, idx);
	cairn_exec_kick(&qp->exec, CAIRN_REQ);
	return min(ret, 0);
}

/* Return: 0; -EINVAL: too many entries; -ENOMEM: the queue is full. */
static int post_one_recv(struct cairn_rq *rq, const struct ib_recv_wr *wr)
{
	struct cairn_queue *queue = &rq->queue;
	u32 idx = queue->host->index;
	struct cairn_recv_wqe *wqe = cairn_queue_unit(queue, idx);

	lockdep_assert_held(&rq->post_lock);
	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (post_room(queue) < queue->stride)
		return -ENOMEM;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	/* A receive WQE does not wrap around: depth and index are multiples of stride. */
	post_put_sges(wqe->sge, wr->sg_list, wr->num_sge);
	post_publish(queue, idx + queue->stride);
	return 0;
}

static int post_recvs(struct cairn_rq *rq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rq->post_lock, flags);
	for (; wr; wr = wr->next) {
		err = post_one_recv(rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return err;
}

/**
 * post_recv() - ib_device_ops.post_recv
 * @ibqp: a kernel QP without SRQ
 * @wr: list of work requests
 * @bad: set to the first one that was not posted, on error only
 *
 * In the error state, work requests are accepted and flushed.
 *
 * Context: any.
 * Return: 0; -EINVAL: state, SRQ, or too many entries; -ENOMEM: the queue is full.
 */
static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err;

	if (qp->qpc.has_srq || READ_ONCE(qp->qpc.state) == CAIRN_QP_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	err = post_recvs(&qp->rq, wr, bad);
	/* Pairs with cairn_env_rq_ring_on_post(): either the flush sees the receives or
	 * this function sees the flag.
	 */
	smp_mb();
	if (unlikely(READ_ONCE(qp->rq.queue.dev->wakeup)))
		cairn_exec_kick(&qp->exec, CAIRN_RESP);
	return err;
}

/* ib_device_ops.post_srq_recv: as post_recv(). */
static int post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	return post_recvs(&to_cairn_srq(ibsrq)->rq, wr, bad);
}

const struct ib_device_ops cairn_post_ops = {
	.post_send = post_send,
	.post_recv = post_recv,
	.post_srq_recv = post_srq_recv,
};
