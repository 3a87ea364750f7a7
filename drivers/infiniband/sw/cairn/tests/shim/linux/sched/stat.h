/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SCHED_STAT_H
#define CAIRN_SHIM_LINUX_SCHED_STAT_H

#include <linux/types.h>

/* The test's: has this CPU nothing else to run? */
bool single_task_running(void);

#endif
