// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Advice of a program on its regions on demand: which pages it will need. A range at a
 * time, in the caller's time, or in that of a work item if it need not wait: of these
 * there are few, and when there are the caller does it.
 */
#include <linux/slab.h>
#include "device/cpu.h"
#include "mem/key.h"
#include "mem/odp.h"
#include "mem/ops.h"

#define ADVISE_MAX_WORKS	64

static atomic_t advise_works;

struct advise_range {
	struct cairn_odp *odp;		/* held */
	u64 addr;
	u64 len;
};

struct advise_work {
	struct cairn_odp_job job;
	enum cairn_odp_how how;
	u32 n;
	struct advise_range range[];
};

/* In a run. */
static int advise_find(struct ib_pd *ibpd, const struct ib_sge *sge, bool write,
		       struct advise_range *range)
{
	struct cairn_mr *mr = cairn_mr_find(to_cairn_dev(ibpd->device),
					    sge->lkey);
	u64 off;

	if (!sge->lkey || !mr || !cairn_mr_is(mr, sge->lkey, ibpd))
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

/* All ranges, and they are let go. */
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

static void advise_do_job(struct cairn_odp_job *job)
{
	struct advise_work *advise = container_of(job, struct advise_work,
						  job);

	/* The regions, and their device, may be gone then. */
	advise_run(advise);
	kvfree(advise);
	atomic_dec(&advise_works);
}

/* Nobody is told how it ends. Returns false when there are too many. */
static bool advise_start(struct advise_work *advise)
{
	if (!atomic_add_unless(&advise_works, 1, ADVISE_MAX_WORKS))
		return false;
	cairn_odp_job_init(&advise->job, advise_do_job);
	cairn_odp_queue(advise->range[0].odp, &advise->job);
	return true;
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
 * cairn_advise_mr() - ib_device_ops.advise_mr
 * @ibpd: of the regions
 * @advice: IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH...
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: return when it is done
 * @sges: ranges of regions on demand
 * @num: how many
 * @attrs: not used
 *
 * Return: 0; -EOPNOTSUPP (advice), -ENOENT (no such key in @ibpd), -EINVAL (not on
 * demand), -EPERM (rights), -EFAULT (range; with the flag also no memory there),
 * -ENOMEM or -EINTR.
 */
int cairn_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
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
	if (err) {
		while (advise->n)
			cairn_odp_put(advise->range[--advise->n].odp);
	} else {
		cairn_nic_count(&dev->nic, CAIRN_CTR_ODP_PREFETCHES, num);
		if (!(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH) &&
		    advise_start(advise))
			return 0;
		err = advise_run(advise);
		if (!(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH))
			err = 0;
	}
	kvfree(advise);
	return err;
}
