/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SCHED_STAT_H
#define CAIRN_SHIM_LINUX_SCHED_STAT_H

#include <linux/types.h>

/* Defined by the test: has this CPU no other task to run? */
bool single_task_running(void);

#endif
