/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_HASHTABLE_H
#define CAIRN_SHIM_LINUX_HASHTABLE_H

#include <linux/list.h>

#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]

#endif
