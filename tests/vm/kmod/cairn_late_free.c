// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles of a device that are freed while it is removed, on a slow CPU: RCU
 * runs few callbacks at a time there, with grace periods between them. late counts the
 * routes that were dropped after the device had left the network namespace that they
 * belong to. The device is the first one that exists or is added.
 */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include "watch_call.h"

#define LATE_AHS	300
#define LATE_MS		10
#define LATE_CPU	1

static bool left;			/* the device has left the namespace */
static unsigned int freed, late;
module_param(freed, uint, 0400);
MODULE_PARM_DESC(freed, "handles that RCU has freed");
module_param(late, uint, 0400);
MODULE_PARM_DESC(late, "of these, too late");

static struct ib_pd *late_pd;
static struct ib_ah *late_ah[LATE_AHS];

static void late_see_free(unsigned long ip, unsigned long parent_ip,
			  struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	mdelay(LATE_MS);
	late += READ_ONCE(left);
	freed++;
}

static void late_see_leave(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	WRITE_ONCE(left, true);
}

static struct ftrace_ops late_free_ops = { .func = late_see_free };
static struct ftrace_ops late_leave_ops = { .func = late_see_leave };

/* Makes a handle for the device's own address. */
static struct ib_ah *late_make_ah(struct ib_device *device)
{
	const struct ib_gid_attr *sgid = rdma_get_gid_attr(device, 1, 0);
	struct rdma_ah_attr attr = {};
	union ib_gid dgid;

	if (IS_ERR(sgid))
		return ERR_CAST(sgid);
	dgid = sgid->gid;
	rdma_put_gid_attr(sgid);
	attr.type = rdma_ah_find_type(device, 1);
	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_grh(&attr, &dgid, 0, 0, 64, 0);
	return rdma_create_ah(late_pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
}

static long late_destroy(void *unused)
{
	unsigned int i;

	for (i = 0; i < LATE_AHS; i++)
		if (!IS_ERR_OR_NULL(late_ah[i]))
			rdma_destroy_ah(late_ah[i], RDMA_DESTROY_AH_SLEEPABLE);
	return 0;
}

static int late_add(struct ib_device *device)
{
	unsigned int i;

	if (late_pd)
		return -EOPNOTSUPP;
	late_pd = ib_alloc_pd(device, 0);
	if (IS_ERR(late_pd))
		return PTR_ERR(late_pd);
	for (i = 0; i < LATE_AHS; i++)
		late_ah[i] = late_make_ah(device);
	if (!IS_ERR(late_ah[0]))
		return 0;
	/* late_remove() is not called then. */
	late_destroy(NULL);
	ib_dealloc_pd(late_pd);
	return PTR_ERR(late_ah[0]);
}

static void late_remove(struct ib_device *device, void *client_data)
{
	work_on_cpu(LATE_CPU, late_destroy, NULL);
	ib_dealloc_pd(late_pd);
}

static struct ib_client late_client = {
	.name = "cairn_late_free",
	.add = late_add,
	.remove = late_remove,
};

static int __init cairn_late_free_init(void)
{
	int err = watch_call_begin(&late_free_ops, "ah_free_rcu");

	if (err)
		return err;
	err = watch_call_begin(&late_leave_ops, "cairn_net_detach");
	if (err)
		goto err_free;
	err = ib_register_client(&late_client);
	if (err)
		goto err_leave;
	return 0;

err_leave:
	watch_call_end(&late_leave_ops);
err_free:
	watch_call_end(&late_free_ops);
	return err;
}

static void __exit cairn_late_free_exit(void)
{
	ib_unregister_client(&late_client);
	rcu_barrier();
	watch_call_end(&late_leave_ops);
	watch_call_end(&late_free_ops);
}

module_init(cairn_late_free_init);
module_exit(cairn_late_free_exit);
MODULE_DESCRIPTION("test: routes that outlive a device of cairn");
MODULE_LICENSE("Dual BSD/GPL");
