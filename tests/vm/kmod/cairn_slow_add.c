// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holds calls that add or move an RDMA device, as if the kernel made thousands of files.
 * Ftrace callbacks redirect calls of some functions to ours, which first sleep while the
 * parameter hold is not 0. held counts the waiting calls.
 *
 * 1: the netdev is known to the driver, and the device is not registered yet;
 * 2: the netdev is not known yet;
 * 3: the device moves to another network namespace, and no program can use it;
 * 4: ib_core has read the addresses of the netdev, and does not see its events yet.
 *    Kernels without ib_device_enable_gid_updates() are so by themselves.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include "watch_call.h"

enum slow_point {
	SLOW_REGISTER = 1,
	SLOW_NETDEV,
	SLOW_MOVE,
	SLOW_DEVICE,
};

static unsigned int hold;
module_param(hold, uint, 0600);
MODULE_PARM_DESC(hold, "1 to 4: calls that add or move a device wait there");

static atomic_t waiting = ATOMIC_INIT(0);

static int held_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&waiting));
}

static const struct kernel_param_ops held_ops = {
	.get = held_get,
};

module_param_cb(held, &held_ops, NULL, 0400);
MODULE_PARM_DESC(held, "how many wait now");

static void slow_begin(enum slow_point point)
{
	atomic_inc(&waiting);
	while (READ_ONCE(hold) == point)
		usleep_range(500, 1000);
}

static int slow_register(struct ib_device *device, const char *name,
			 struct device *dma_device)
{
	int err;

	slow_begin(SLOW_REGISTER);
	err = ib_register_device(device, name, dma_device);
	atomic_dec(&waiting);
	return err;
}

static int slow_set_netdev(struct ib_device *device, struct net_device *ndev,
			   u32 port)
{
	int err;

	slow_begin(SLOW_NETDEV);
	err = ib_device_set_netdev(device, ndev, port);
	atomic_dec(&waiting);
	return err;
}

static int slow_rename(struct device *device, const char *name)
{
	int err;

	slow_begin(SLOW_MOVE);
	err = device_rename(device, name);
	atomic_dec(&waiting);
	return err;
}

/* ib_device_enable_gid_updates(), and the device that waits for the call. */
static void (*slow_enable)(struct ib_device *device);
static struct ib_device *slow_disabled;
static bool slow_enable_missing;

static void slow_enable_later(struct ib_device *device)
{
	slow_disabled = device;
}

static int slow_device(struct device *device)
{
	bool ours = !strncmp(dev_name(device), "cairn_", 6);
	int err;

	if (ours)
		slow_begin(SLOW_DEVICE);
	err = device_add(device);
	if (ours) {
		if (slow_disabled)
			slow_enable(slow_disabled);
		slow_disabled = NULL;
		atomic_dec(&waiting);
	}
	return err;
}

struct slow_call {
	const char *name;
	void *instead;
	enum slow_point point;
	struct ftrace_ops ops;
};

static void slow_divert(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	struct slow_call *call = container_of(ops, struct slow_call, ops);

	/* Our own call is not redirected. */
	if (READ_ONCE(hold) != call->point ||
	    within_module(parent_ip, THIS_MODULE))
		return;
	if (call->instead == slow_enable_later)
		slow_enable = (void *)ip;
	instruction_pointer_set(ftrace_get_regs(regs),
				(unsigned long)call->instead);
}

#define SLOW_OPS							\
	{ .func = slow_divert,						\
	  .flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY }

static struct slow_call slow_calls[] = {
	{ "ib_register_device", slow_register, SLOW_REGISTER, SLOW_OPS },
	{ "ib_device_set_netdev", slow_set_netdev, SLOW_NETDEV, SLOW_OPS },
	{ "device_rename", slow_rename, SLOW_MOVE, SLOW_OPS },
	{ "device_add", slow_device, SLOW_DEVICE, SLOW_OPS },
	/* The last one: not all kernels have it. */
	{ "ib_device_enable_gid_updates", slow_enable_later, SLOW_DEVICE, SLOW_OPS },
};

static int __init cairn_slow_add_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(slow_calls); i++) {
		err = watch_call_begin(&slow_calls[i].ops, slow_calls[i].name);
		if (err && slow_calls[i].instead == slow_enable_later)
			slow_enable_missing = true;
		else if (err)
			goto err_stop;
	}
	return 0;

err_stop:
	while (i)
		watch_call_end(&slow_calls[--i].ops);
	return err;
}

/* No call waits in here any more: the caller has made sure. */
static void __exit cairn_slow_add_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slow_calls) - slow_enable_missing; i++)
		watch_call_end(&slow_calls[i].ops);
}

module_init(cairn_slow_add_init);
module_exit(cairn_slow_add_exit);
MODULE_DESCRIPTION("test: devices take long to be added and moved");
MODULE_LICENSE("Dual BSD/GPL");
