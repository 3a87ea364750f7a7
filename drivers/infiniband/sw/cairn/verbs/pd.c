// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts and protection domains. */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "lane/room.h"
#include "mem/dereg_async.h"
#include "queue/qinfo.h"
#include "queue/ready.h"
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/udata.h"
#include "verbs/verbs.h"

/**
 * pd_alloc_ucontext() - ib_device_ops.alloc_ucontext
 * @ibuc: of a process that opened the device
 * @udata: reply struct cairn_alloc_ucontext_resp
 *
 * Return: 0, -EINVAL (tail), -ENOMEM or -EFAULT.
 */
static int pd_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct cairn_nic *nic = &to_cairn_dev(ibuc->device)->nic;
	struct cairn_ucontext *uc = to_cairn_ucontext(ibuc);
	struct cairn_alloc_ucontext_resp resp = {
		.abi_version = CAIRN_ABI_VERSION,
		.page_size = PAGE_SIZE,
		.max_inline = CAIRN_MAX_INLINE,
		.max_sge = CAIRN_MAX_SGE,
	};
	int err;

	err = cairn_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	uc->qinfo = cairn_qinfo_create(ibuc);
	if (!uc->qinfo)
		return -ENOMEM;
	err = -ENOMEM;
	uc->ready = cairn_ready_create(ibuc, nic);
	if (!uc->ready)
		goto err_qinfo;
	uc->user = cairn_share_user_get(&nic->shares);
	if (!uc->user)
		goto err_ready;
	xa_init_flags(&uc->doorbells, XA_FLAGS_ACCOUNT);
	uc->memcg = get_mem_cgroup_from_mm(current->mm);
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		goto err_user;
	atomic_inc(&to_cairn_dev(ibuc->device)->events.contexts);
	return 0;

err_user:
	mem_cgroup_put(uc->memcg);
	cairn_share_user_put(&nic->shares, uc->user);
err_ready:
	cairn_ready_destroy(uc->ready);
err_qinfo:
	cairn_qinfo_destroy(uc->qinfo);
	return err;
}

/* All queues of the context have been destroyed. */
static void pd_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct cairn_dev *dev = to_cairn_dev(ibuc->device);
	struct cairn_ucontext *uc = to_cairn_ucontext(ibuc);

	atomic_dec(&dev->events.contexts);
	cairn_dereg_async_destroy(uc);
	cairn_room_put(uc->room);
	xa_destroy(&uc->doorbells);
	mem_cgroup_put(uc->memcg);
	cairn_share_user_put(&dev->nic.shares, uc->user);
	cairn_ready_destroy(uc->ready);
	cairn_qinfo_destroy(uc->qinfo);
}

/*
 * The device is being unregistered while the process has it open. The process keeps its
 * mappings: they are ordinary memory, so nothing needs to be revoked.
 */
static void pd_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

/* ib_device_ops.alloc_pd. Return: 0, -EINVAL (tail), -ENOMEM (also at the limit) or
 * -EDQUOT (the share of the user).
 */
static int pd_alloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct cairn_nic *nic = &to_cairn_dev(ibpd->device)->nic;
	struct cairn_pd *pd = to_cairn_pd(ibpd);
	int err;

	err = cairn_udata_check(udata, 0);
	if (err)
		return err;
	pd->user = cairn_udata_user(udata);
	err = cairn_share_take(nic, CAIRN_SHARE_PD, CAIRN_MAX_PD, pd->user);
	if (err)
		return err;
	pd->charge = kmalloc(CAIRN_PD_CHARGE, GFP_KERNEL_ACCOUNT);
	if (pd->charge)
		return 0;
	cairn_share_give(nic, CAIRN_SHARE_PD, pd->user);
	return -ENOMEM;
}

static int pd_dealloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	kfree(to_cairn_pd(ibpd)->charge);
	cairn_share_give(&to_cairn_dev(ibpd->device)->nic, CAIRN_SHARE_PD,
			 cairn_pd_user(ibpd));
	return 0;
}

const struct ib_device_ops cairn_pd_ops = {
	.alloc_ucontext = pd_alloc_ucontext,
	.dealloc_ucontext = pd_dealloc_ucontext,
	.disassociate_ucontext = pd_disassociate_ucontext,
	.alloc_pd = pd_alloc,
	.dealloc_pd = pd_dealloc,
	INIT_RDMA_OBJ_SIZE(ib_pd, cairn_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, cairn_ucontext, ibuc),
};
