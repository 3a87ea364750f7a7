// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The doorbell method of RDMA_VERBS_IOCTL. Only queues of the caller's own
 * context can be named. Shared receive queues and completion queues never
 * sleep, they have no doorbell.
 */
#include <rdma/uverbs_ioctl.h>
#include "lane/watch.h"
#include "verbs/doorbell.h"
#include "verbs/ops.h"
#include "verbs/persist.h"
#include "queue/host_index.h"
#include "verbs/releases.h"

#define UVERBS_MODULE_NAME cairn
#include <rdma/uverbs_named_ioctl.h>

/* The queue behind a side, NULL when an SRQ takes its place. */
static struct cairn_queue *side_queue(struct cairn_qp *qp,
				      enum cairn_side_id side)
{
	if (side == CAIRN_REQ)
		return &qp->sq;
	return qp->ibqp.srq ? NULL : &qp->rq.queue;
}

static void remove_side(struct cairn_qp *qp, enum cairn_side_id side)
{
	struct cairn_queue *q = side_queue(qp, side);

	if (q)
		xa_erase(&qp->uctx->doorbells, q->qid);
}

static int reserve_side(struct cairn_qp *qp, enum cairn_side_id side)
{
	struct cairn_queue *q = side_queue(qp, side);

	return q ? xa_insert(&qp->uctx->doorbells, q->qid, NULL, GFP_KERNEL) :
		   0;
}

/* Cannot fail, the slot is reserved. */
static void publish_side(struct cairn_qp *qp, enum cairn_side_id side)
{
	struct cairn_queue *q = side_queue(qp, side);

	if (q)
		xa_store(&qp->uctx->doorbells, q->qid,
			 xa_tag_pointer(qp, side), GFP_KERNEL);
}

int cairn_doorbells_add(struct cairn_qp *qp)
{
	int err;

	if (!qp->uctx)
		return 0;
	err = reserve_side(qp, CAIRN_REQ);
	if (err)
		return err;
	err = reserve_side(qp, CAIRN_RESP);
	if (err) {
		remove_side(qp, CAIRN_REQ);
		return err;
	}
	publish_side(qp, CAIRN_REQ);
	publish_side(qp, CAIRN_RESP);
	return 0;
}

void cairn_doorbells_remove(struct cairn_qp *qp)
{
	if (!qp->uctx)
		return;
	remove_side(qp, CAIRN_REQ);
	remove_side(qp, CAIRN_RESP);
}

/*
 * A doorbell's write pointer may lie behind the device's (another doorbell or a
 * wake-up was faster), but never beyond a full ring.
 */
static bool index_sane(const struct cairn_queue *q, u32 index)
{
	s32 ahead = index - READ_ONCE(q->index);

	return ahead <= (s32)q->depth;
}

/* RCU read section: keeps the QP, see cairn_destroy_qp(). */
static int ring(struct cairn_ucontext *uctx, const struct cairn_doorbell *db)
{
	void *entry = xa_load(&uctx->doorbells, db->qid);
	enum cairn_side_id side;
	struct cairn_queue *q;
	struct cairn_qp *qp;
	bool sane;

	if (!entry)
		return -ENOENT;
	qp = xa_untag_pointer(entry);
	side = xa_pointer_tag(entry);
	q = side_queue(qp, side);
	sane = index_sane(q, db->index);
	/* If it is not: whoever looks at it next puts the queue in error. */
	cairn_host_index_rung(q, db->index);
	cairn_nic_count(qp->exec.nic, CAIRN_CTR_DOORBELLS, 1);
	if (side == CAIRN_REQ)
		cairn_watch_ring(&qp->exec);
	cairn_exec_kick(&qp->exec, side);
	return sane ? 0 : -EINVAL;
}

/* Errors: -ENOENT no such queue, -EINVAL impossible write pointer. */
static int UVERBS_HANDLER(CAIRN_METHOD_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	struct cairn_doorbell db;
	int err;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	err = uverbs_copy_from(&db, attrs, CAIRN_ATTR_DOORBELL);
	if (err)
		return err;
	rcu_read_lock();
	err = ring(to_cairn_ucontext(ibuc), &db);
	rcu_read_unlock();
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_DOORBELL,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_DOORBELL,
					       UVERBS_ATTR_TYPE(struct cairn_doorbell),
					       UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_DEVICE,
			      &UVERBS_METHOD(CAIRN_METHOD_DOORBELL));

const struct uapi_definition cairn_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_DEVICE),
	UAPI_DEF_CHAIN(cairn_prepare_ring_defs),
	UAPI_DEF_CHAIN(cairn_idle_defs),
	UAPI_DEF_CHAIN(cairn_persist_uapi_defs),
	UAPI_DEF_CHAIN(cairn_releases_uapi),
	UAPI_DEF_CHAIN(cairn_rate_uapi_defs),
	{},
};
