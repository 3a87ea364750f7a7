// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holds one received packet of cairn between the look-up of its memory and the
 * copy: a probe on the function that copies payloads. Write milliseconds to the
 * parameter; it is 0 again when a packet was held.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>

/* Longer, and the kernel complains of a CPU that does nothing else. */
#define DELAY_MAX_MS	6000u

static unsigned int ms;
module_param(ms, uint, 0600);
MODULE_PARM_DESC(ms, "milliseconds, 6000 at most, for the next packet");

static int delay_on_copy(struct kprobe *kp, struct pt_regs *regs)
{
	if (READ_ONCE(ms))
		mdelay(min(xchg(&ms, 0), DELAY_MAX_MS));
	return 0;
}

static struct kprobe delay_probe = {
	.symbol_name = "cairn_net_copy_payload",
	.pre_handler = delay_on_copy,
};

static int __init cairn_delay_init(void)
{
	return register_kprobe(&delay_probe);
}

static void __exit cairn_delay_exit(void)
{
	unregister_kprobe(&delay_probe);
}

module_init(cairn_delay_init);
module_exit(cairn_delay_exit);
MODULE_DESCRIPTION("test: a packet that takes long in cairn");
MODULE_LICENSE("Dual BSD/GPL");
