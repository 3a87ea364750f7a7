/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_TIMERQUEUE_H
#define CAIRN_SHIM_LINUX_TIMERQUEUE_H

#include <linux/rbtree.h>
#include <linux/types.h>

struct timerqueue_node {
	u64 expires;
};

struct timerqueue_head {
	struct rb_root root;
};

#endif
