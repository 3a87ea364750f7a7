/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SKBUFF_H
#define CAIRN_SHIM_LINUX_SKBUFF_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct sk_buff {
	char cb[48] __aligned(8);
};

struct sk_buff_head {
	struct sk_buff *next, *prev;
	u32 qlen;
	spinlock_t lock;
};

#endif
