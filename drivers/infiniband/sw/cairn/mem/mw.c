// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/lockdep.h>
#include <linux/slab.h>
#include "mem/inval.h"
#include "mem/key.h"
#include "mem/mr.h"
#include "mem/mw.h"
#include "mem/ops.h"
#include "verbs/udata.h"

/* Rights of peers that a binding may request. LOCAL_WRITE has no effect, but
 * programs set it together with REMOTE_WRITE, as regions require it.
 */
#define WINDOW_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED)

/**
 * mw_alloc() - ib_device_ops.alloc_mw
 * @ibmw: type and pd are set, the rest is zero
 * @udata: no tail
 *
 * Return: 0, -EINVAL (type, tail), or an error of cairn_key_alloc().
 */
static int mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct cairn_dev *dev = to_cairn_dev(ibmw->device);
	struct cairn_mw *mw;
	int err;

	err = cairn_udata_check(udata, 0);
	if (err)
		return err;
	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	mw = kzalloc(sizeof(*mw), GFP_KERNEL_ACCOUNT);
	if (!mw)
		return -ENOMEM;
	mw->type = ibmw->type;
	cairn_mr_init(&mw->mr, ibmw->pd, CAIRN_MR_WINDOW);
	err = cairn_key_alloc(dev, ibmw->pd, &mw->mr.key);
	if (err) {
		kfree(mw);
		return err;
	}
	container_of(ibmw, struct cairn_mw_handle, ibmw)->mw = mw;
	ibmw->rkey = mw->mr.key;
	cairn_key_publish(dev, &mw->mr);
	return 0;
}

/* End the binding. Return: the old region. Under mr.seq, or @mw is unreachable.
 */
static struct cairn_mr *mw_unbind(struct cairn_mw *mw)
{
	struct cairn_mr *old = mw->region;

	mw->mr.valid = false;
	mw->mr.persist = 0;
	WRITE_ONCE(mw->region, NULL);
	WRITE_ONCE(mw->qp_serial, 0);
	return old;
}

/* Runs may still use the region; its deregistration waits for them. */
static void mw_put_region(struct cairn_mr *region)
{
	if (!region)
		return;
	/* The window is unbound before the region may end: runs that begin after its end do
	 * not find it by the window. Pairs with cairn_mw_close().
	 */
	smp_mb__before_atomic();
	atomic_dec(&region->windows);
}

/**
 * mw_dealloc() - ib_device_ops.dealloc_mw
 * @ibmw: bound or not
 *
 * When this returns no run accesses memory by the window any more. Always 0.
 * Process context.
 */
static int mw_dealloc(struct ib_mw *ibmw)
{
	struct cairn_dev *dev = to_cairn_dev(ibmw->device);
	struct cairn_mw *mw = to_cairn_mw(ibmw);

	cairn_key_hide(dev, READ_ONCE(mw->mr.key));
	cairn_epoch_wait(&dev->nic.epoch);
	/* After the wait, as a running BIND_MW may have bound it once more, to another key. */
	mw_put_region(mw_unbind(mw));
	cairn_key_free(dev, ibmw->pd, mw->mr.key);
	kfree(mw);
	cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
	return 0;
}

/*
 * Does @region allow the binding that @wqe requests? Not with host flush: the
 * host releases a message by the key of the region (verbs/host_flush.h).
 */
static bool mw_region_allows(const struct cairn_qp *qp,
			     const struct cairn_mr *region,
			     const struct cairn_send_wqe *wqe)
{
	u64 offset = wqe->remote_addr - region->iova;

	if (!cairn_key_is(region, wqe->rkey, qp->pd) ||
	    !(region->access & IB_ACCESS_MW_BIND) ||
	    region->persist & CAIRN_MR_PERSIST_HOST)
		return false;
	if (wqe->bind.access &
	    (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(region->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	return offset <= region->length &&
	       wqe->bind.length <= region->length - offset;
}

/*
 * Has the registration of @region returned? Then ib_uverbs has listed the
 * object. Before that, copying the reply may fail, and ib_uverbs deregisters
 * @region, which a window would prevent. A region of rereg_user_mr replaces a
 * listed object, and its call cannot fail any more.
 *
 * The caller is counted in region->windows, or deregisters it, so the object is not freed.
 * Not inlined, for tests that hold a run here.
 */
static noinline bool mw_region_registered(const struct cairn_mr *region)
{
	const struct ib_uobject *uobject = READ_ONCE(region->ibmr.uobject);

	return region->replaces ||
	       (uobject && !list_empty_careful(&uobject->list));
}

/* Nothing is bound to a region that is not registered. But a run that tries to counts a
 * window until it has looked.
 */
bool cairn_mw_close_last(struct cairn_mr *mr)
{
	while (!cairn_mw_close(mr)) {
		if (mw_region_registered(mr))
			return false;
		cairn_epoch_wait(&to_cairn_dev(mr->ibmr.device)->nic.epoch);
	}
	return true;
}

/*
 * Find the region and count the window, so that the region does not change.
 * NULL: refused. A region of another protection domain is never counted, not
 * even briefly: its owner could get -EBUSY.
 */
static struct cairn_mr *mw_get_region(struct cairn_qp *qp,
				      const struct cairn_send_wqe *wqe)
{
	struct cairn_mr *region = cairn_key_find(to_cairn_dev(qp->ibqp.device),
						 wqe->rkey);

	if (!region || !cairn_key_is(region, wqe->rkey, qp->pd) ||
	    region->kind != CAIRN_MR_USER ||
	    !atomic_inc_unless_negative(&region->windows))
		return NULL;
	/* Check again: rereg_user_mr may have changed it before it was counted.
	 */
	if (mw_region_registered(region) && mw_region_allows(qp, region, wqe))
		return region;
	mw_put_region(region);
	return NULL;
}

/* Does the type of @mw allow this binding (IBTA 10.6.7.2)? */
static bool mw_type_allows(const struct cairn_mw *mw,
			   const struct cairn_send_wqe *wqe)
{
	if (wqe->bind.access & ~WINDOW_ACCESS)
		return false;
	if (mw->type == IB_MW_TYPE_1)
		return !(wqe->bind.access & IB_ZERO_BASED);
	return wqe->bind.length;
}

/* Set the new binding. @region is NULL if the length is 0. */
static void mw_set(struct cairn_mw *mw, struct cairn_mr *region,
		   const struct cairn_qp *qp, const struct cairn_send_wqe *wqe)
{
	struct cairn_mr *mr = &mw->mr;

	lockdep_assert_held(&mw->mr.seq.lock);
	mr->key = wqe->imm_or_key;
	mr->valid = region;
	mr->access = wqe->bind.access & ~IB_ZERO_BASED;
	mr->persist = region ? region->persist : 0;
	mr->durability = region ? region->durability : 0;
	mr->iova = wqe->bind.access & IB_ZERO_BASED ? 0 : wqe->remote_addr;
	mr->length = wqe->bind.length;
	WRITE_ONCE(mw->region, region);
	WRITE_ONCE(mw->region_va, wqe->remote_addr);
	WRITE_ONCE(mw->qp_serial,
		   mw->type == IB_MW_TYPE_2 ? qp->cold->serial : 0);
}

/* Bind @mw to @region. @old gets the previous region. -EINVAL: type 2 is bound.
 */
static int mw_switch(struct cairn_mw *mw, struct cairn_mr *region,
		     const struct cairn_qp *qp,
		     const struct cairn_send_wqe *wqe, struct cairn_mr **old)
{
	unsigned long flags;
	int err = -EINVAL;

	write_seqlock_irqsave(&mw->mr.seq, flags);
	if (mw->type == IB_MW_TYPE_1 || !mw->mr.valid) {
		*old = mw_unbind(mw);
		mw_set(mw, region, qp, wqe);
		err = 0;
	}
	write_sequnlock_irqrestore(&mw->mr.seq, flags);
	return err;
}

int cairn_mw_bind(struct cairn_qp *qp, const struct cairn_send_wqe *wqe)
{
	struct cairn_mr *mr = cairn_key_find(to_cairn_dev(qp->ibqp.device),
					     wqe->imm_or_key);
	struct cairn_mr *region = NULL, *old;
	struct cairn_mw *mw;
	int err;

	if (!mr || mr->kind != CAIRN_MR_WINDOW || mr->pd != qp->pd)
		return -EINVAL;
	mw = mr_to_cairn_mw(mr);
	if (!mw_type_allows(mw, wqe))
		return -EINVAL;
	if (wqe->bind.length) {
		region = mw_get_region(qp, wqe);
		if (!region)
			return -EINVAL;
	}
	err = mw_switch(mw, region, qp, wqe, &old);
	if (err) {
		mw_put_region(region);
		return err;
	}
	mw_put_region(old);
	return old ? cairn_inval_wait(qp, CAIRN_REQ) : 0;
}

int cairn_mw_invalidate(struct cairn_qp *qp, struct cairn_mw *mw, u32 key,
			bool remote)
{
	struct cairn_mr *region = NULL;
	unsigned long flags;
	int err = -EINVAL;

	if (mw->type != IB_MW_TYPE_2)
		return -EINVAL;
	write_seqlock_irqsave(&mw->mr.seq, flags);
	if (mw->mr.key == key && (mw->qp_serial == qp->cold->serial ||
				  (!remote && !mw->mr.valid))) {
		region = mw_unbind(mw);
		err = 0;
	}
	write_sequnlock_irqrestore(&mw->mr.seq, flags);
	mw_put_region(region);
	return err;
}

const struct ib_device_ops cairn_mw_ops = {
	.alloc_mw = mw_alloc,
	.dealloc_mw = mw_dealloc,
	INIT_RDMA_OBJ_SIZE(ib_mw, cairn_mw_handle, ibmw),
};
