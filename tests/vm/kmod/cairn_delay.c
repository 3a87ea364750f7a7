// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holds one received packet of cairn between the look-up of its memory and the
 * copy: an ftrace callback on the functions that copy payloads, from the wire and from
 * a sender on this host. It is no kprobe, because on 6.1 the handler of a kprobe may
 * run with interrupts off, which stops the clock of the rest of the kernel. Write
 * milliseconds to the parameter ms; it is 0 again when a packet was held.
 *
 * Write milliseconds to bind_ms, and the next run that binds a window is held after it
 * has counted the window in the region, and before it looks whether it may.
 *
 * While hold_lanes is 1 it holds the lanes that poll, as a host with other work for the
 * CPU does, each for at most a tenth of a second. lanes_held counts
 * them.
 */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include "watch_call.h"

/* After a longer delay the kernel reports a stuck CPU. */
#define DELAY_MAX_MS	6000u
#define DELAY_LANE_MS	100

static unsigned int ms;
module_param(ms, uint, 0600);
MODULE_PARM_DESC(ms, "milliseconds, 6000 at most, for the next packet");

static unsigned int bind_ms;
module_param(bind_ms, uint, 0600);
MODULE_PARM_DESC(bind_ms, "milliseconds, 6000 at most, for the next binding of a window");

static unsigned int hold_lanes;
module_param(hold_lanes, uint, 0600);
MODULE_PARM_DESC(hold_lanes, "1: lanes that poll are held");

static unsigned int lanes_held;
module_param(lanes_held, uint, 0400);
MODULE_PARM_DESC(lanes_held, "lanes that were held so far");

static void delay_copy(unsigned long ip, unsigned long parent_ip,
		       struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	if (READ_ONCE(ms))
		mdelay(min(xchg(&ms, 0), DELAY_MAX_MS));
}

static struct ftrace_ops delay_ops = {
	.func = delay_copy,
};

static void delay_bind(unsigned long ip, unsigned long parent_ip,
		       struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	if (READ_ONCE(bind_ms))
		mdelay(min(xchg(&bind_ms, 0), DELAY_MAX_MS));
}

static struct ftrace_ops delay_bind_ops = {
	.func = delay_bind,
};

static void delay_lane(unsigned long ip, unsigned long parent_ip,
		       struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	ktime_t end;

	if (!READ_ONCE(hold_lanes))
		return;
	WRITE_ONCE(lanes_held, lanes_held + 1);
	end = ktime_add_ms(ktime_get(), DELAY_LANE_MS);
	while (READ_ONCE(hold_lanes) && ktime_before(ktime_get(), end))
		cpu_relax();
}

static struct ftrace_ops delay_lane_ops = {
	.func = delay_lane,
};

static int __init cairn_delay_init(void)
{
	/* from the wire, and from this host */
	int err = watch_call_add(&delay_ops, "cairn_net_copy_payload") ?:
		  watch_call_begin(&delay_ops, "cairn_parcel_copy");

	if (err)
		return err;
	err = watch_call_begin(&delay_lane_ops, "cairn_watches_poll");
	if (err)
		goto err_copy;
	err = watch_call_begin(&delay_bind_ops, "mw_region_registered*");
	if (err)
		goto err_lane;
	return 0;

err_lane:
	watch_call_end(&delay_lane_ops);
err_copy:
	watch_call_end(&delay_ops);
	return err;
}

static void __exit cairn_delay_exit(void)
{
	watch_call_end(&delay_bind_ops);
	watch_call_end(&delay_lane_ops);
	watch_call_end(&delay_ops);
}

module_init(cairn_delay_init);
module_exit(cairn_delay_exit);
MODULE_DESCRIPTION("test: a packet that takes long in cairn");
MODULE_LICENSE("Dual BSD/GPL");
