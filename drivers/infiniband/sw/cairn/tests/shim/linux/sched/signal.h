/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SCHED_SIGNAL_H
#define CAIRN_SHIM_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

static inline bool fatal_signal_pending(const struct task_struct *task)
{
	return false;
}

#endif
