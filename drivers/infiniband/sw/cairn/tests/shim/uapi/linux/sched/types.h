/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_UAPI_LINUX_SCHED_TYPES_H
#define CAIRN_SHIM_UAPI_LINUX_SCHED_TYPES_H

#include <linux/types.h>

struct sched_attr {
	u32 size;
	u32 sched_policy;
};

#endif
