// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Advice (ib_device_ops.advise_mr): a program says which pages of its on-demand
 * regions it will need, and a job faults them in. A file system decides how
 * long that takes, and unregistering the device waits for system calls. So a
 * caller stops waiting when its process is killed, and when the device leaves.
 * verbs/leave.c tells of that before ib_uverbs begins to wait.
 */
#include <linux/completion.h>
#include <linux/slab.h>
#include "device/cpu.h"
#include "mem/advise.h"
#include "mem/key.h"
#include "mem/odp.h"
#include "mem/ops.h"

/* Jobs that may run without a waiting caller. */
#define ADVISE_MAX_WORKS	64

static atomic_t advise_works;

struct advise_range {
	struct cairn_odp *odp;		/* a reference */
	u64 addr;
	u64 len;
};

struct advise_work {
	struct cairn_odp_job job;
	refcount_t users;		/* the job, and a waiting caller */
	struct completion done;		/* or the device is leaving */
	struct list_head node;		/* in the device, if a caller waits */
	bool counted;			/* in advise_works */
	bool ended;
	int err;			/* valid once the job has ended */
	enum cairn_odp_how how;
	u32 n;
	struct advise_range range[];
};

/* In a run. */
static int advise_find(struct ib_pd *ibpd, const struct ib_sge *sge, bool write,
		       struct advise_range *range)
{
	struct cairn_mr *mr = cairn_key_find(to_cairn_dev(ibpd->device),
					     sge->lkey);
	u64 off;

	if (!sge->lkey || !mr || !cairn_key_is(mr, sge->lkey, ibpd))
		return -ENOENT;
	if (!mr->odp)
		return -EINVAL;
	if (write && !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return -EPERM;
	off = sge->addr - mr->iova;
	if (off > mr->length || sge->length > mr->length - off)
		return -EFAULT;
	cairn_odp_get(mr->odp);
	range->odp = mr->odp;
	range->addr = mr->start + off;
	range->len = sge->length;
	return 0;
}

static int advise_get(struct ib_pd *ibpd, const struct ib_sge *sge, bool write,
		      struct advise_range *range)
{
	struct cairn_epoch *epoch = &to_cairn_dev(ibpd->device)->nic.epoch;
	u32 tag;
	int err;

	cairn_cpu_lock();
	rcu_read_lock();
	tag = cairn_epoch_enter(epoch, 0);
	err = advise_find(ibpd, sge, write, range);
	cairn_epoch_leave(epoch, tag);
	rcu_read_unlock();
	cairn_cpu_unlock();
	return err;
}

/* Handle all ranges, and drop their references. */
static int advise_run(struct advise_work *advise)
{
	int err = 0;
	u32 i;

	for (i = 0; i < advise->n; i++) {
		struct advise_range *range = &advise->range[i];

		if (!err)
			err = cairn_odp_bring(range->odp, range->addr,
					      range->len, advise->how);
		cairn_odp_put(range->odp);
	}
	return err;
}

static void advise_put(struct advise_work *advise)
{
	if (refcount_dec_and_test(&advise->users))
		kvfree(advise);
}

/* The regions and their device may be freed before the job ends. */
static void advise_do_job(struct cairn_odp_job *job)
{
	struct advise_work *advise = container_of(job, struct advise_work,
						  job);

	advise->err = advise_run(advise);
	/* Pairs with the load in advise_result(). */
	smp_store_release(&advise->ended, true);
	complete(&advise->done);
	if (advise->counted)
		atomic_dec(&advise_works);
	advise_put(advise);
}

static int advise_result(const struct advise_work *advise, bool killed)
{
	/* Pairs with the store in advise_do_job(). */
	if (smp_load_acquire(&advise->ended))
		return advise->err;
	return killed ? -EINTR : -EIO;
}

/* Wait until the job ends, the process is killed or the device leaves. */
static int advise_wait(struct cairn_dev *dev, struct advise_work *advise)
{
	bool killed;

	spin_lock(&dev->advise_lock);
	list_add(&advise->node, &dev->advises);
	if (READ_ONCE(dev->leaving))
		complete(&advise->done);
	spin_unlock(&dev->advise_lock);
	killed = wait_for_completion_killable(&advise->done);
	spin_lock(&dev->advise_lock);
	list_del(&advise->node);
	spin_unlock(&dev->advise_lock);
	return advise_result(advise, killed);
}

/* A caller that takes the lock later sees dev->leaving. */
void cairn_advise_leave(struct cairn_dev *dev)
{
	struct advise_work *advise;

	spin_lock(&dev->advise_lock);
	list_for_each_entry(advise, &dev->advises, node)
		complete(&advise->done);
	spin_unlock(&dev->advise_lock);
}

void cairn_advise_init(struct cairn_dev *dev)
{
	spin_lock_init(&dev->advise_lock);
	INIT_LIST_HEAD(&dev->advises);
}

/* Queue the job. The caller waits with @flush, or if too many jobs run without
 * a waiting caller.
 */
static int advise_start(struct cairn_dev *dev, struct advise_work *advise,
			bool flush)
{
	bool waits = flush || !atomic_add_unless(&advise_works, 1,
						 ADVISE_MAX_WORKS);
	int err;

	advise->counted = !waits;
	refcount_set(&advise->users, waits ? 2 : 1);
	init_completion(&advise->done);
	cairn_odp_job_init(&advise->job, advise_do_job);
	cairn_odp_queue(advise->range[0].odp, &advise->job);
	if (!waits)
		return 0;
	err = advise_wait(dev, advise);
	advise_put(advise);
	return flush ? err : 0;
}

static int advise_how(enum ib_uverbs_advise_mr_advice advice)
{
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		return CAIRN_ODP_READ;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		return CAIRN_ODP_WRITE;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		return CAIRN_ODP_PRESENT;
	}
	return -EOPNOTSUPP;
}

/**
 * advise_mr() - ib_device_ops.advise_mr
 * @ibpd: protection domain of the regions
 * @advice: IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH...
 * @flags: with IB_UVERBS_ADVISE_MR_FLAG_FLUSH wait for the job
 * @sges: ranges of on-demand regions
 * @num: number of @sges
 * @attrs: not used
 *
 * Return: 0; -EOPNOTSUPP (advice), -ENOENT (no such key in @ibpd), -EINVAL (not
 * on demand), -EPERM (rights), -EFAULT (range; with the flag also unmapped
 * memory), -ENOMEM, -EINTR or -EIO (the device is leaving).
 */
static int advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		     u32 flags, struct ib_sge *sges, u32 num,
		     struct uverbs_attr_bundle *attrs)
{
	struct cairn_dev *dev = to_cairn_dev(ibpd->device);
	int how = advise_how(advice), err = 0;
	struct advise_work *advise;

	if (how < 0)
		return how;
	advise = kvzalloc(struct_size(advise, range, num),
			  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!advise)
		return -ENOMEM;
	advise->how = how;
	for (; advise->n < num && !err; advise->n += !err)
		err = advise_get(ibpd, &sges[advise->n], how == CAIRN_ODP_WRITE,
				 &advise->range[advise->n]);
	if (err)
		goto err_put;
	return advise_start(dev, advise,
			    flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);

err_put:
	while (advise->n)
		cairn_odp_put(advise->range[--advise->n].odp);
	kvfree(advise);
	return err;
}

const struct ib_device_ops cairn_advise_ops = {
	.advise_mr = advise_mr,
};
