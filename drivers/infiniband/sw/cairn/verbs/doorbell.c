// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The doorbell method of RDMA_VERBS_IOCTL. It finds only queues of the caller's own
 * context. Shared receive queues and completion queues have no doorbell, because no
 * run waits for a post to them.
 */
#include <rdma/uverbs_ioctl.h>
#include "device/cpu.h"
#include "device/trace.h"
#include "engine/env.h"
#include "lane/watch.h"
#include "queue/host_index.h"
#include "queue/ready.h"
#include "verbs/doorbell.h"

#define UVERBS_MODULE_NAME cairn
#include <rdma/uverbs_named_ioctl.h>

/* Doorbells of one call that are handled in one piece, with soft interrupts off. */
#define DOORBELLS_TOGETHER	8u

/* The queue of a side; NULL if it takes receives from an SRQ. */
static struct cairn_queue *doorbell_queue(struct cairn_qp *qp,
					  enum cairn_side_id side)
{
	if (side == CAIRN_REQ)
		return &qp->sq;
	return qp->qpc.has_srq ? NULL : &qp->rq.queue;
}

static void doorbell_remove(struct cairn_qp *qp, enum cairn_side_id side)
{
	struct cairn_queue *queue = doorbell_queue(qp, side);

	if (queue)
		xa_erase(&qp->uctx->doorbells, queue->qid);
}

static int doorbell_reserve(struct cairn_qp *qp, enum cairn_side_id side)
{
	struct cairn_queue *queue = doorbell_queue(qp, side);

	return queue ? xa_insert(&qp->uctx->doorbells, queue->qid, NULL,
				 GFP_KERNEL_ACCOUNT) :
		       0;
}

/* Cannot fail, as the slot is reserved. */
static void doorbell_publish(struct cairn_qp *qp, enum cairn_side_id side)
{
	struct cairn_queue *queue = doorbell_queue(qp, side);

	if (queue)
		xa_store(&qp->uctx->doorbells, queue->qid,
			 xa_tag_pointer(qp, side), GFP_KERNEL);
}

int cairn_doorbells_reserve(struct cairn_qp *qp)
{
	int err;

	if (!qp->uctx)
		return 0;
	err = doorbell_reserve(qp, CAIRN_REQ);
	if (err)
		return err;
	err = doorbell_reserve(qp, CAIRN_RESP);
	if (err)
		doorbell_remove(qp, CAIRN_REQ);
	return err;
}

void cairn_doorbells_publish(struct cairn_qp *qp)
{
	if (!qp->uctx)
		return;
	doorbell_publish(qp, CAIRN_REQ);
	doorbell_publish(qp, CAIRN_RESP);
}

void cairn_doorbells_remove(struct cairn_qp *qp)
{
	if (!qp->uctx)
		return;
	doorbell_remove(qp, CAIRN_REQ);
	doorbell_remove(qp, CAIRN_RESP);
}

/*
 * A doorbell's write pointer may be behind the device's read pointer, because another
 * doorbell or a poll was faster. It cannot be further ahead than a full ring.
 */
static bool doorbell_index_ok(const struct cairn_queue *queue, u32 index)
{
	s32 ahead = index - READ_ONCE(queue->index);

	return ahead <= (s32)queue->depth;
}

/* The caller's RCU read section keeps the QP (qp_destroy()). */
static int doorbell_ring(struct cairn_ucontext *uctx,
			 const struct cairn_doorbell *doorbell)
{
	void *entry = xa_load(&uctx->doorbells, doorbell->qid);
	enum cairn_side_id side;
	struct cairn_queue *queue;
	struct cairn_qp *qp;
	bool sane;

	if (!entry)
		return -ENOENT;
	qp = xa_untag_pointer(entry);
	side = xa_pointer_tag(entry);
	queue = doorbell_queue(qp, side);
	sane = doorbell_index_ok(queue, doorbell->index);
	trace_cairn_doorbell(&qp->exec, side, doorbell->index);
	/* If it is not sane, the run that reads it fails the queue. */
	cairn_host_index_rung(queue, doorbell->index);
	cairn_nic_count(qp->exec.nic, CAIRN_CTR_DOORBELLS, 1);
	if (side == CAIRN_REQ)
		cairn_watch_ring(&qp->exec);
	cairn_exec_kick(&qp->exec, side);
	return sane ? 0 : -EINVAL;
}

/*
 * Run several queues here, so that packets of several QPs may leave in one train. Soft
 * interrupts are off meanwhile.
 */
static int doorbell_ring_some(struct cairn_ucontext *uctx,
			      const struct cairn_doorbell *doorbell, u32 count)
{
	int err = 0, one;
	u32 i;

	rcu_read_lock();
	cairn_cpu_lock();
	cairn_env_plug();
	for (i = 0; i < count; i++) {
		one = doorbell_ring(uctx, &doorbell[i]);
		err = err ?: one;
	}
	cairn_env_unplug();
	cairn_cpu_unlock();
	rcu_read_unlock();
	return err;
}

static int doorbell_ring_all(struct cairn_ucontext *uctx,
			     const struct cairn_doorbell *doorbell, u32 count)
{
	int err = 0, some;
	u32 i;

	if (count == 1 && doorbell->qid == CAIRN_DOORBELL_ALL) {
		if (doorbell->index)
			return -EINVAL;
		cairn_ready_ring_all(uctx->ready);
		return 0;
	}
	if (count == 1) {
		rcu_read_lock();
		err = doorbell_ring(uctx, doorbell);
		rcu_read_unlock();
		return err;
	}
	for (i = 0; i < count; i += DOORBELLS_TOGETHER) {
		some = doorbell_ring_some(uctx, &doorbell[i],
					  min(count - i, DOORBELLS_TOGETHER));
		err = err ?: some;
	}
	return err;
}

/*
 * Return: 0; -ENOENT: no such queue; -EINVAL: impossible write pointer, or not 0
 * for CAIRN_DOORBELL_ALL.
 */
static int UVERBS_HANDLER(CAIRN_METHOD_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	struct cairn_doorbell doorbell[CAIRN_MAX_DOORBELLS] __uninitialized;
	int count, err;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	count = uverbs_attr_ptr_get_array_size(attrs, CAIRN_ATTR_DOORBELL,
					       sizeof(doorbell[0]));
	if (count < 0)
		return count;
	err = uverbs_copy_from(&doorbell, attrs, CAIRN_ATTR_DOORBELL);
	if (err)
		return err;
	return doorbell_ring_all(to_cairn_ucontext(ibuc), doorbell, count);
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_DOORBELL,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_DOORBELL,
					       UVERBS_ATTR_MIN_SIZE(sizeof(struct cairn_doorbell)),
					       UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_DEVICE,
			      &UVERBS_METHOD(CAIRN_METHOD_DOORBELL));

const struct uapi_definition cairn_doorbell_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_DEVICE),
	{},
};
