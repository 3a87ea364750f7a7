/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Since 6.0 modules can take a work back from its queue without waiting for it. Before,
 * the work stays queued and runs.
 */
#ifndef CAIRN_COMPAT_WORKQUEUE_H
#define CAIRN_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>
#include "compat/found.h"

/* Return: true if @work was queued and will not run. */
static inline bool compat_cancel_work(struct work_struct *work)
{
#ifdef CAIRN_HAS_CANCEL_WORK
	return cancel_work(work);
#else
	return false;
#endif
}

#endif
