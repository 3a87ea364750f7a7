/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_RBTREE_H
#define CAIRN_SHIM_LINUX_RBTREE_H

#include <stddef.h>

struct rb_node {
	struct rb_node *parent;
};

struct rb_root {
	struct rb_node *node;
};

#define RB_ROOT		((struct rb_root) { NULL })

#endif
