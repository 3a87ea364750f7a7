/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SCHED_RT_H
#define CAIRN_SHIM_LINUX_SCHED_RT_H

#include <linux/sched.h>

static inline bool rt_task(const struct task_struct *task)
{
	return task->realtime;
}

#endif
