// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * The device writes entries and its index. The consumer (a process, or verbs/poll.c)
 * writes its own index and the arm word. Barrier pairs:
 *   entry, then index      cq_push(): cairn_queue_publish() releases the entry;
 *                          the consumer loads the index with acquire.
 *   consumer index         the consumer releases it when it has copied an
 *                          entry; cq_push() acquires it before it overwrites
 *                          the entry.
 *   index, full barrier,   cq_push(). The consumer arms, executes a full
 *   then arm word          barrier and looks for entries. So the device sees
 *                          the arm word or the consumer sees the entry, and
 *                          no event is lost.
 *
 * A completion that does not fit stays with its QP until there is room
 * (verbs/cq_wait.h). A QP that is not in an error state moves to one, as IBTA requires
 * (10.2.3, 11.6.3.1: CQ error and QP_FATAL), and the consumer gets one event. The CQ
 * itself keeps working: completions that fit are never lost.
 */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include "compat/create_cq.h"
#include "compat/events.h"
#include "compat/ops.h"
#include "queue/host_index.h"
#include "queue/next_ring.h"
#include "queue/queue.h"
#include "verbs/cq.h"
#include "verbs/cq_wait.h"
#include "verbs/limits.h"
#include "verbs/moderate.h"
#include "verbs/ops.h"
#include "verbs/udata.h"

/* Events of a CQ that a process may leave unread. ib_uverbs does not charge them to a
 * memcg, and the process can write the arm word at any time.
 */
#define CQ_MAX_EVENTS	64

/* The smallest queue: twice the requests of the smallest send queue (QP_MIN_SEND_WRS). */
#define CQ_MIN_CQE	8

enum cq_verdict {
	CQ_QUIET,
	CQ_NOTIFY,
	CQ_FULL,
};

/* May an event be raised? With CQ_MAX_EVENTS unread ones another would add nothing: the
 * consumer polls after it has read them.
 */
static bool cq_may_notify(struct cairn_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (!cq->unread || list_empty(cq->unread))
		cq->events = 0;
	if (cq->events == CQ_MAX_EVENTS) {
		cairn_nic_count(&to_cairn_dev(cq->ibcq.device)->nic,
				CAIRN_CTR_CQ_EVENTS_WITHHELD, 1);
		return false;
	}
	cq->events++;
	return true;
}

void cairn_cq_answer(struct cairn_cq *cq, u32 arm, bool *notify)
{
	lockdep_assert_held(&cq->lock);
	*notify = arm != cq->arm_seen && cq_may_notify(cq);
	if (*notify)
		cq->arm_seen = arm;
}

/* Does the consumer's arm word ask for an event after @cqe? */
static bool cq_is_armed(struct cairn_cq *cq, const struct cairn_cqe *cqe,
			struct cairn_lane *lane)
{
	bool notify;
	u32 arm = READ_ONCE(cq->queue.host->arm);

	lockdep_assert_held(&cq->lock);
	if (arm == cq->arm_seen)
		return false;
	if (!(arm & CAIRN_ARM_NEXT) &&
	    !((arm & CAIRN_ARM_SOLICITED) && cairn_cqe_is_solicited(cqe)))
		return false;
	if (cairn_moderate_delays(cq, cqe, lane))
		return false;
	cairn_cq_answer(cq, arm, &notify);
	return notify;
}

/* Is the queue full, according to the consumer's index? Also true if the process has set
 * its index to an impossible value.
 */
static bool cq_is_full(struct cairn_cq *cq)
{
	struct cairn_nic *nic = &to_cairn_dev(cq->ibcq.device)->nic;
	struct cairn_queue *queue = &cq->queue;
	u32 oldest = queue->index - queue->depth, polled;

	lockdep_assert_held(&cq->lock);
	/* If the queue is full, the consumer's index has its smallest possible value. */
	return cairn_host_index_newest(queue, nic, oldest, oldest, &polled) ||
	       polled == oldest;
}

/* The queue was full: add @wait to the waiters and check again, as the consumer may have
 * polled meanwhile. Return: true if there is room now.
 */
static bool cq_finds_room(struct cairn_cq *cq, struct cairn_cq_wait *wait)
{
	lockdep_assert_held(&cq->lock);
	cairn_cq_wait_begin(cq, wait);
	/* Set the flag before reading the consumer's index again (verbs/cq_wait.c). */
	smp_mb();
	if (cq_is_full(cq))
		return false;
	cairn_cq_wait_end(cq, wait);
	return true;
}

static enum cq_verdict cq_push(struct cairn_cq *cq, const struct cairn_cqe *cqe,
			       struct cairn_lane *lane, struct cairn_cq_wait *wait)
{
	struct cairn_queue *queue = &cq->queue;
	struct cairn_cqe *slot;

	lockdep_assert_held(&cq->lock);
	if (unlikely(cq_is_full(cq)) && !cq_finds_room(cq, wait))
		return CQ_FULL;
	slot = cairn_queue_unit(queue, queue->index++);
	*slot = *cqe;
	if (cairn_cqe_is_solicited(cqe))
		cq->solicited = queue->index;
	if (cq->timestamps)
		slot->timestamp = ktime_get_ns();
	cairn_queue_publish(queue);
	/* Write the index before reading the arm word, see above. */
	smp_mb();
	return cq_is_armed(cq, cqe, lane) ? CQ_NOTIFY : CQ_QUIET;
}

void cairn_cq_error(struct cairn_cq *cq)
{
	cairn_async_post(&cq->async, 0);
}

/* Report once that a completion found no room. */
static void cq_overflow(struct cairn_cq *cq)
{
	bool first;

	spin_lock_irq(&cq->lock);
	first = !cq->overflowed;
	cq->overflowed = true;
	spin_unlock_irq(&cq->lock);
	if (!first)
		return;
	cairn_nic_count(&to_cairn_dev(cq->ibcq.device)->nic,
			CAIRN_CTR_CQ_OVERFLOWS, 1);
	cairn_cq_error(cq);
}

static void cq_call(struct cairn_cq *cq)
{
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* One handler of a CQ may run at a time (Documentation/infiniband/core_locking.rst). ib_uverbs
 * has a lock for that. A caller that finds the handler of a kernel consumer running leaves
 * its event to the caller that runs it.
 */
void cairn_cq_notify(struct cairn_cq *cq)
{
	int told;

	if (cq->is_user) {
		cq_call(cq);
		return;
	}
	/* A full barrier, behind the entry of the event. Pairs with atomic_sub_return(). */
	if (atomic_fetch_inc(&cq->events_due))
		return;
	do {
		told = atomic_read(&cq->events_due);
		cq_call(cq);
	} while (atomic_sub_return(told, &cq->events_due));
}

bool cairn_cq_post(struct cairn_cq *cq, const struct cairn_cqe *cqe,
		   struct cairn_lane *lane, struct cairn_cq_wait *wait, bool flush)
{
	enum cq_verdict verdict;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	verdict = cq_push(cq, cqe, lane, wait);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (verdict == CQ_NOTIFY)
		cairn_cq_notify(cq);
	if (likely(verdict != CQ_FULL))
		return true;
	if (!flush)
		cq_overflow(cq);
	return false;
}

bool cairn_cq_holds_asked(const struct cairn_cq *cq, u32 arm)
{
	const struct cairn_queue *queue = &cq->queue;
	u32 unpolled = queue->index - READ_ONCE(queue->host->index);

	lockdep_assert_held(&cq->lock);
	if (!unpolled || unpolled > queue->depth)
		return false;
	return arm & CAIRN_ARM_NEXT ||
	       (arm & CAIRN_ARM_SOLICITED &&
		queue->index - cq->solicited < unpolled);
}

void cairn_cq_look(struct cairn_cq *cq)
{
	u32 arm;

	spin_lock_irq(&cq->lock);
	arm = READ_ONCE(cq->queue.host->arm);
	if (arm != cq->arm_seen && cairn_cq_holds_asked(cq, arm))
		cairn_moderate_late(cq);
	spin_unlock_irq(&cq->lock);
	cairn_cq_resume(cq);
}

/* Deliver IB_EVENT_CQ_ERR, the only event of a CQ. */
static void cq_deliver(struct work_struct *work)
{
	struct cairn_cq *cq = container_of(work, struct cairn_cq, async.work);
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cairn_async_take(&cq->async) && cq->ibcq.event_handler &&
	    cairn_async_may_tell(&cq->async, &to_cairn_dev(event.device)->nic))
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

static int cq_check_init(const struct ib_cq_init_attr *attr)
{
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	return attr->cqe && attr->cqe <= CAIRN_MAX_CQE ? 0 : -EINVAL;
}

/**
 * cq_create() - ib_device_ops.create_cq
 * @ibcq: the new queue; cqe is set to the capacity of the ring
 * @attr: cqe 1..CAIRN_MAX_CQE; the completion vector is ignored
 * @arg: reply struct cairn_create_cq_resp
 *
 * Return: 0, -EINVAL (size, tail), -EOPNOTSUPP (flags), -ENOMEM, -EDQUOT (the
 * share of the user), -ENOSPC or -EFAULT.
 */
static int cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     cairn_create_cq_arg *arg)
{
	struct ib_udata *udata = cairn_create_cq_udata(arg);
	struct cairn_dev *dev = to_cairn_dev(ibcq->device);
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	struct cairn_create_cq_resp resp = {};
	struct cairn_ucontext *uctx;
	int err;

	err = cq_check_init(attr) ?: cairn_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	cq->user = cairn_udata_user(udata);
	err = cairn_share_take(&dev->nic, CAIRN_SHARE_CQ, CAIRN_MAX_CQ,
			       cq->user);
	if (err)
		return err;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->waits);
	mutex_init(&cq->resize_lock);
	cairn_async_init(&cq->async, cq_deliver, NULL);
	cq->async.for_life = true;
	cairn_moderate_init(cq);
	ibcq->cqe = roundup_pow_of_two(max_t(u32, attr->cqe, CQ_MIN_CQE));
	cq->solicited = -(u32)ibcq->cqe;
	uctx = rdma_udata_to_drv_context(udata, struct cairn_ucontext, ibuc);
	cq->is_user = uctx;
	cq->unread = cairn_events_cq_unread(ibcq);
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	if (uctx)
		err = cairn_queue_init_user(uctx, &cq->queue, ibcq->cqe, 1,
					    false);
	else
		err = cairn_queue_init_kernel(&cq->queue, ibcq->cqe, 1);
	if (err)
		goto err_limit;
	if (!uctx)
		return 0;
	cairn_queue_describe(&cq->queue, &resp.ring);
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		goto err_queue;
	return 0;

err_queue:
	cairn_queue_free(&cq->queue);
err_limit:
	cairn_share_give(&dev->nic, CAIRN_SHARE_CQ, cq->user);
	return err;
}

/* ib_device_ops.destroy_cq: no QP uses the queue any more. */
static int cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);

	/* XRC targets may still wait for room. The SRQ that led them to this CQ has
	 * been destroyed, so they do not wait here again.
	 */
	cairn_cq_resume(cq);
	cairn_moderate_stop(cq);
	cairn_async_cancel(&cq->async);
	/* Netlink may still find the CQ. */
	spin_lock_irq(&cq->lock);
	cq->destroyed = true;
	spin_unlock_irq(&cq->lock);
	cairn_queue_free(&cq->queue);
	mutex_destroy(&cq->resize_lock);
	cairn_share_give(&to_cairn_dev(ibcq->device)->nic, CAIRN_SHARE_CQ,
			 cq->user);
	return 0;
}

/*
 * Most entries are copied without the lock, while completions are added. The entries
 * that were added meanwhile are copied under the lock.
 */
static int cq_switch_ring(struct cairn_cq *cq, struct cairn_next_ring *next)
{
	struct cairn_queue *queue = &cq->queue;
	int tries = CAIRN_NEXT_RING_TRIES;
	int err;

	lockdep_assert_held(&cq->resize_lock);
	do {
		err = cairn_next_ring_move(queue, CAIRN_QUEUE_COMP, next,
					   U32_MAX);
		if (err)
			return err;
		spin_lock_irq(&cq->lock);
		err = cairn_next_ring_move(queue, CAIRN_QUEUE_COMP, next,
					   CAIRN_NEXT_RING_LOCKED);
		if (!err) {
			cairn_next_ring_swap(queue, next);
			cq->ibcq.cqe = next->depth;
		}
		spin_unlock_irq(&cq->lock);
	} while (err == -EAGAIN && --tries);
	return err == -EAGAIN ? -EBUSY : err;
}

/**
 * cairn_cq_resize() - ib_device_ops.resize_cq
 * @ibcq: the queue, in use
 * @cqe: new size, 1..CAIRN_MAX_CQE; a process has prepared a ring of this size
 * @udata: no tail
 *
 * Unpolled entries keep their indices. The provider does not poll during the call.
 *
 * Return: 0, -EINVAL (size, tail, not prepared, more entries than fit),
 * -EBUSY (completions come too fast) or -ENOMEM.
 */
int cairn_cq_resize(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct cairn_cq *cq = to_cairn_cq(ibcq);
	struct cairn_next_ring *next;
	int err;

	if (cqe < 1 || cqe > CAIRN_MAX_CQE)
		return -EINVAL;
	err = cairn_udata_check(udata, 0);
	if (err)
		return err;
	mutex_lock(&cq->resize_lock);
	next = cq->is_user ? cairn_next_ring_take(&cq->queue) :
	    cairn_next_ring_alloc(&cq->queue, CAIRN_QUEUE_COMP, cqe, 1);
	if (!next)
		err = cq->is_user ? -EINVAL : -ENOMEM;
	else if (next->max_wr < cqe)
		err = -EINVAL;
	else
		err = cq_switch_ring(cq, next);
	if (!err)
		cairn_cq_resume(cq);
	/* This is the old ring, or on error the new one. */
	cairn_next_ring_free(next);
	mutex_unlock(&cq->resize_lock);
	return err;
}

const struct ib_device_ops cairn_cq_ops = {
	.create_cq = cq_create,
	.destroy_cq = cq_destroy,
	.resize_user_cq = compat_resize_user_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, cairn_cq, ibcq),
};
