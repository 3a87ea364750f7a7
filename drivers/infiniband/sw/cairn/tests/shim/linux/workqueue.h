/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_WORKQUEUE_H
#define CAIRN_SHIM_LINUX_WORKQUEUE_H

struct work_struct {
	void (*func)(struct work_struct *work);
};

#endif
