/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Asynchronous events of a queue pair or shared receive queue.
 *
 * The engine finds them below a side lock, often in softirq; handlers of
 * kernel consumers may take sleeping locks. So an event is a bit, and a work
 * item delivers it.
 */
#ifndef CAIRN_VERBS_ASYNC_H
#define CAIRN_VERBS_ASYNC_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct cairn_nic;

struct cairn_async_work {
	struct work_struct work;
	unsigned long pending;		/* a bit per event, the owner's enum */
	const struct list_head *unread;	/* compat/events.h */
	u32 told;			/* since the process had read all */
	bool for_life;			/* nobody can tell what has been read */
};

/* Module start and stop: process context. 0 or -ENOMEM. */
int cairn_async_start(void);
void cairn_async_stop(void);

/* @uobject: ib_core's handle of the QP or SRQ; NULL: of a kernel's, or it has but one
 * event, or async->for_life is set afterwards.
 */
void cairn_async_init(struct cairn_async_work *async, work_func_t deliver,
		      const void *uobject);

/* Have event number @event delivered; several of a kind may become one. Any
 * context.
 */
void cairn_async_post(struct cairn_async_work *async, unsigned int event);

/* Take the events that wait for delivery. */
unsigned long cairn_async_take(struct cairn_async_work *async);

/* May one more event be delivered? Not while the process has left too many of the object
 * unread. In the work item.
 */
bool cairn_async_may_tell(struct cairn_async_work *async,
			  struct cairn_nic *nic);

/* Nothing is delivered any more after this. Nobody posts. Sleeps. */
void cairn_async_cancel(struct cairn_async_work *async);

#endif
