/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SCHED_PRIO_H
#define CAIRN_SHIM_LINUX_SCHED_PRIO_H

#define MAX_RT_PRIO	100

#endif
