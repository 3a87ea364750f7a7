// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holds who adds an RDMA device where its netdev is known to the driver and the device is
 * not registered yet, as a kernel does that has thousands of files to make: an ftrace
 * callback leads each call of ib_register_device() to a function that sleeps first. While
 * the parameter hold is 1; held says how many wait there.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

static unsigned int hold;
module_param(hold, uint, 0600);
MODULE_PARM_DESC(hold, "1: who adds a device waits");

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

static int slow_register(struct ib_device *device, const char *name,
			 struct device *dma_device)
{
	int err;

	atomic_inc(&waiting);
	while (READ_ONCE(hold))
		usleep_range(500, 1000);
	err = ib_register_device(device, name, dma_device);
	atomic_dec(&waiting);
	return err;
}

static void slow_divert(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	/* Our own call goes to the function itself. */
	if (READ_ONCE(hold) && !within_module(parent_ip, THIS_MODULE))
		instruction_pointer_set(ftrace_get_regs(regs),
					(unsigned long)slow_register);
}

static struct ftrace_ops slow_ops = {
	.func = slow_divert,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static int __init cairn_slow_add_init(void)
{
	char name[] = "ib_register_device";
	int err;

	err = ftrace_set_filter(&slow_ops, name, strlen(name), true);
	return err ?: register_ftrace_function(&slow_ops);
}

/* Nobody waits in here any more: the caller has seen to it. */
static void __exit cairn_slow_add_exit(void)
{
	unregister_ftrace_function(&slow_ops);
	ftrace_free_filter(&slow_ops);
}

module_init(cairn_slow_add_init);
module_exit(cairn_slow_add_exit);
MODULE_DESCRIPTION("test: devices take long to be added");
MODULE_LICENSE("Dual BSD/GPL");
