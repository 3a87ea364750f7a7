/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of an object that its process has not read. ib_uverbs keeps lists of them
 * beside the object's handle; its layout is not exported, and is the same in all
 * kernels from 6.1 on. When an object is created these lists are empty, so a look at
 * them tells whether they are where we expect them.
 *
 * A list may be tested with list_empty() while the object exists, not walked.
 */
#ifndef CAIRN_COMPAT_EVENTS_H
#define CAIRN_COMPAT_EVENTS_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

/* How struct ib_uevent_object begins, and so those of QPs, SRQs and CQs. */
struct cairn_async_handle {
	struct ib_uobject uobject;
	void *event_file;
	struct list_head async_list;
	u32 async_reported;
};

/* How struct ib_ucq_object begins. */
struct cairn_cq_handle {
	struct cairn_async_handle async;
	struct list_head comp_list;
};

static inline const struct list_head *
cairn_events_found(const struct list_head *list)
{
	return list->next == list && list->prev == list ? list : NULL;
}

/* The asynchronous events of a QP or an SRQ that is being created. NULL: not known,
 * or an object of the kernel's.
 */
static inline const struct list_head *cairn_async_unread(const void *uobject)
{
	const struct cairn_async_handle *handle = uobject;

	return handle ? cairn_events_found(&handle->async_list) : NULL;
}

/* The same for the completion events of a CQ. */
static inline const struct list_head *cairn_cq_unread(const struct ib_cq *cq)
{
	const struct cairn_cq_handle *handle = (const void *)cq->uobject;

	return handle ? cairn_events_found(&handle->comp_list) : NULL;
}

#endif
