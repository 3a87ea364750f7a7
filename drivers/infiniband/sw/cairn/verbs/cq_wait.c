// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A completion that finds its CQ full stays with its QP. The QP is on a list of the CQ
 * until there is room. One lock of the device protects the lists and flags of all CQs,
 * because a QP may outlive the CQ of an SRQ (XRC).
 *
 * Barrier pairs:
 *   flag, full barrier,     cq_finds_room(). The consumer writes its index, executes a
 *   then consumer index     full barrier and reads the flag. So the device sees the
 *                           room or the consumer sees the flag.
 */
#include <linux/list.h>
#include <linux/spinlock.h>
#include "verbs/cq.h"
#include "verbs/cq_wait.h"

#define UVERBS_MODULE_NAME cairn_cq
#include <rdma/uverbs_named_ioctl.h>

static void cq_wait_flag(struct cairn_cq *cq)
{
	lockdep_assert_held(&to_cairn_dev(cq->ibcq.device)->cq_wait_lock);
	WRITE_ONCE(cq->queue.dev->wakeup, !list_empty(&cq->waits));
}

void cairn_cq_waits_init(struct cairn_qp *qp)
{
	unsigned int i;

	for (i = 0; i < CAIRN_SIDES; i++) {
		INIT_LIST_HEAD(&qp->cold->cq_wait[i].entry);
		qp->cold->cq_wait[i].qp = qp;
	}
}

void cairn_cq_wait_begin(struct cairn_cq *cq, struct cairn_cq_wait *wait)
{
	struct cairn_dev *dev = to_cairn_dev(cq->ibcq.device);

	lockdep_assert_held(&cq->lock);
	spin_lock(&dev->cq_wait_lock);
	list_move_tail(&wait->entry, &cq->waits);
	cq_wait_flag(cq);
	spin_unlock(&dev->cq_wait_lock);
}

void cairn_cq_wait_end(struct cairn_cq *cq, struct cairn_cq_wait *wait)
{
	struct cairn_dev *dev = to_cairn_dev(cq->ibcq.device);

	lockdep_assert_held(&cq->lock);
	spin_lock(&dev->cq_wait_lock);
	list_del_init(&wait->entry);
	cq_wait_flag(cq);
	spin_unlock(&dev->cq_wait_lock);
}

void cairn_cq_waits_cancel(struct cairn_qp *qp)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	unsigned int i;

	spin_lock_irq(&dev->cq_wait_lock);
	for (i = 0; i < CAIRN_SIDES; i++)
		list_del_init(&qp->cold->cq_wait[i].entry);
	spin_unlock_irq(&dev->cq_wait_lock);
}

/* Both sides get a turn, as the requester also posts to the receive CQ. The lock keeps
 * the QP from being freed.
 */
static void cq_wait_turn(struct cairn_qp *qp)
{
	lockdep_assert_held(&to_cairn_dev(qp->ibqp.device)->cq_wait_lock);
	cairn_exec_defer(&qp->exec, CAIRN_REQ);
	cairn_exec_defer(&qp->exec, CAIRN_RESP);
}

void cairn_cq_resume(struct cairn_cq *cq)
{
	struct cairn_dev *dev = to_cairn_dev(cq->ibcq.device);
	struct cairn_cq_wait *wait;
	unsigned long flags;
	LIST_HEAD(waits);

	spin_lock_irqsave(&dev->cq_wait_lock, flags);
	list_splice_init(&cq->waits, &waits);
	cq_wait_flag(cq);
	while (!list_empty(&waits)) {
		wait = list_first_entry(&waits, struct cairn_cq_wait, entry);
		list_del_init(&wait->entry);
		cq_wait_turn(wait->qp);
		/* Release the lock, as there may be a million waiters. One that waits
		 * again meanwhile moves back to the CQ's list.
		 */
		spin_unlock_irqrestore(&dev->cq_wait_lock, flags);
		spin_lock_irqsave(&dev->cq_wait_lock, flags);
	}
	spin_unlock_irqrestore(&dev->cq_wait_lock, flags);
}

/* Return: 0; -ENOENT: no such CQ. */
static int UVERBS_HANDLER(CAIRN_METHOD_LOOK_CQ)(struct uverbs_attr_bundle *attrs)
{
	struct ib_cq *ibcq = uverbs_attr_get_obj(attrs, CAIRN_ATTR_LOOK_CQ);

	if (IS_ERR(ibcq))
		return PTR_ERR(ibcq);
	cairn_cq_look(to_cairn_cq(ibcq));
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_LOOK_CQ,
			    UVERBS_ATTR_IDR(CAIRN_ATTR_LOOK_CQ,
					    UVERBS_OBJECT_CQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_CQ,
			      &UVERBS_METHOD(CAIRN_METHOD_LOOK_CQ));

const struct uapi_definition cairn_cq_wait_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_CQ),
	{},
};
