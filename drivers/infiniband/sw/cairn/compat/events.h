/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of an object that its process has not read. ib_uverbs keeps lists of them
 * beside the object's handle. The layout is not exported, but it is the same in all
 * kernels from 5.15 on. The lists are empty when the object is created; a pair of
 * pointers that is no empty list then means that the layout has changed.
 *
 * A list may be tested with list_empty() while the object exists. It may not be
 * walked.
 */
#ifndef CAIRN_COMPAT_EVENTS_H
#define CAIRN_COMPAT_EVENTS_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

/* The beginning of struct ib_uevent_object, and so of a QP's, SRQ's and CQ's handle. */
struct cairn_async_handle {
	struct ib_uobject uobject;
	void *event_file;
	struct list_head async_list;
	u32 async_reported;
};

/* The beginning of struct ib_ucq_object. */
struct cairn_cq_handle {
	struct cairn_async_handle async;
	struct list_head comp_list;
};

static inline const struct list_head *
cairn_events_found(const struct list_head *list)
{
	return list->next == list && list->prev == list ? list : NULL;
}

/* The unread asynchronous events of a QP or SRQ that is being created. NULL: the
 * layout is not known, or the object belongs to a kernel consumer.
 */
static inline const struct list_head *cairn_events_async_unread(const void *uobject)
{
	const struct cairn_async_handle *handle = uobject;

	return handle ? cairn_events_found(&handle->async_list) : NULL;
}

/* The same for the completion events of a CQ. */
static inline const struct list_head *cairn_events_cq_unread(const struct ib_cq *cq)
{
	const struct cairn_cq_handle *handle = (const void *)cq->uobject;

	return handle ? cairn_events_found(&handle->comp_list) : NULL;
}

#endif
