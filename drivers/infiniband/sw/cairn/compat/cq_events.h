/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of a CQ that its process has not read. ib_uverbs keeps a list of them
 * beside the CQ's handle; its layout is not exported, and is the same in all
 * kernels from 6.1 on. When a CQ is created that list is empty, so a look at it
 * tells whether it is where we expect it.
 */
#ifndef CAIRN_COMPAT_CQ_EVENTS_H
#define CAIRN_COMPAT_CQ_EVENTS_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

/* How struct ib_ucq_object begins. */
struct cairn_cq_handle {
	struct ib_uobject uobject;
	void *event_file;
	struct list_head async_list;
	u32 async_reported;
	struct list_head comp_list;
};

/* The list of a CQ that is being created; NULL: not known, or a kernel CQ. It may
 * be tested with list_empty() while the CQ exists, not walked.
 */
static inline const struct list_head *cairn_cq_unread(const struct ib_cq *cq)
{
	const struct cairn_cq_handle *handle = (const void *)cq->uobject;
	const struct list_head *list;

	if (!handle)
		return NULL;
	list = &handle->comp_list;
	return list->next == list && list->prev == list ? list : NULL;
}

#endif
