// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Delivery of asynchronous events in process context. */
#include <linux/bitops.h>
#include <linux/errno.h>
#include "compat/events.h"
#include "device/nic.h"
#include "verbs/async.h"

/* Events of an object that a process may leave unread. ib_uverbs does not charge them to
 * a memcg, and a process can cause one with each call.
 */
#define ASYNC_MAX_EVENTS	64

/*
 * A queue of its own with WQ_MEM_RECLAIM: memory reclaim may wait for a QP to be
 * destroyed (storage reconnects), and that waits for a running work item.
 */
static struct workqueue_struct *async_wq;

int cairn_async_start(void)
{
	async_wq = alloc_workqueue("cairn_async", WQ_UNBOUND | WQ_MEM_RECLAIM,
				   0);
	return async_wq ? 0 : -ENOMEM;
}

void cairn_async_stop(void)
{
	destroy_workqueue(async_wq);
}

void cairn_async_init(struct cairn_async_work *async, work_func_t deliver,
		      const void *uobject)
{
	INIT_WORK(&async->work, deliver);
	async->pending = 0;
	async->told = 0;
	async->for_life = false;
	async->unread = cairn_events_async_unread(uobject);
}

void cairn_async_post(struct cairn_async_work *async, unsigned int event)
{
	/* queue_work() is a full barrier, so the work item sees the bit. */
	set_bit(event, &async->pending);
	queue_work(async_wq, &async->work);
}

unsigned long cairn_async_take(struct cairn_async_work *async)
{
	return xchg(&async->pending, 0);
}

bool cairn_async_may_tell(struct cairn_async_work *async,
			  struct cairn_nic *nic)
{
	if (async->unread ? list_empty(async->unread) : !async->for_life)
		async->told = 0;
	if (async->told == ASYNC_MAX_EVENTS) {
		cairn_nic_count(nic, CAIRN_CTR_ASYNC_EVENTS_WITHHELD, 1);
		return false;
	}
	async->told++;
	return true;
}

void cairn_async_cancel(struct cairn_async_work *async)
{
	cancel_work_sync(&async->work);
}
