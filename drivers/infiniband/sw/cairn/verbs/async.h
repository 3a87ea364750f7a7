/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Asynchronous events of a QP, SRQ or CQ.
 *
 * The engine raises them below a side lock, often in a soft interrupt. Handlers of
 * kernel consumers may take sleeping locks. So an event is a bit, and a work item
 * delivers it.
 */
#ifndef CAIRN_VERBS_ASYNC_H
#define CAIRN_VERBS_ASYNC_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct cairn_nic;

struct cairn_async_work {
	struct work_struct work;
	unsigned long pending;		/* a bit for each event of the owner's enum */
	const struct list_head *unread;	/* compat/events.h */
	u32 told;			/* delivered since the process had read all */
	bool for_life;			/* told counts all: reads cannot be observed */
};

/* Module start and stop. Process context. Return: 0 or -ENOMEM. */
int cairn_async_start(void);
void cairn_async_stop(void);

/* @deliver: the work function. @uobject: ib_core's handle of the QP or SRQ. NULL: the
 * object belongs to a kernel consumer or has one event only, or the caller sets for_life.
 */
void cairn_async_init(struct cairn_async_work *async, work_func_t deliver,
		      const void *uobject);

/* Deliver @event by the work item; several of a kind may become one. Any context. */
void cairn_async_post(struct cairn_async_work *async, unsigned int event);

/* Take the pending events, as a bit for each. */
unsigned long cairn_async_take(struct cairn_async_work *async);

/* May the work item deliver one more event? Not while the process has left too many
 * events of the object unread.
 */
bool cairn_async_may_tell(struct cairn_async_work *async,
			  struct cairn_nic *nic);

/* Cancel the work item, or wait for it. No event is posted any more. Sleeps. */
void cairn_async_cancel(struct cairn_async_work *async);

#endif
