/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_PID_H
#define CAIRN_SHIM_LINUX_PID_H

#include <linux/sched.h>

enum pid_type {
	PIDTYPE_PID,
};

/* There is one thread: the calling one. */
struct pid {
	struct task_struct *task;
};

static inline struct task_struct *pid_task(struct pid *pid, enum pid_type type)
{
	return pid ? pid->task : NULL;
}

#endif
