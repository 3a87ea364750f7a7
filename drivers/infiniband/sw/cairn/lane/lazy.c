// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <uapi/linux/sched/types.h>
#include "device/cpu.h"
#include "lane/exec.h"
#include "lane/lane.h"
#include "lane/lazy.h"
#include "lane/watch.h"

/* Words of a ready map that one call serves, 64 QPs each. */
#define LAZY_WORDS	128
/* Events that the thread raises before it looks at the watches again. */
#define LAZY_EVENTS	64
/* How long the thread leaves the CPU to the processes of lazy watches. */
#define LAZY_LOOK_NS	(50 * NSEC_PER_USEC)

/* The thread that raises an event holds it. An event may wait for another lane's thread by
 * then. No mutex: the task that an event wakes up would preempt the thread while it holds it.
 */
static DEFINE_SPINLOCK(lazy_raise_lock);

void cairn_lazy_event_init(struct cairn_lazy_event *event,
			   void (*raise)(struct cairn_lazy_event *event))
{
	INIT_LIST_HEAD(&event->list);
	event->lane = NULL;
	event->raise = raise;
}

bool cairn_lazy_may_defer(const struct cairn_lane *lane)
{
	return !list_empty_careful(&lane->lazy) && !is_idle_task(current);
}

/* If the thread has just taken the event, it raises it when the owner's lock is free. */
void cairn_lazy_defer(struct cairn_lane *lane, struct cairn_lazy_event *event)
{
	unsigned long flags;

	if (!list_empty_careful(&event->list))
		return;
	spin_lock_irqsave(&lane->lock, flags);
	event->lane = lane;
	list_add_tail(&event->list, &lane->lazy_events);
	spin_unlock_irqrestore(&lane->lock, flags);
	cairn_lane_wake_lazy(lane);
}

void cairn_lazy_cancel(struct cairn_lazy_event *event)
{
	if (!event->lane)
		return;
	spin_lock(&lazy_raise_lock);
	spin_lock_irq(&event->lane->lock);
	list_del_init(&event->list);
	spin_unlock_irq(&event->lane->lock);
	spin_unlock(&lazy_raise_lock);
}

static struct cairn_lazy_event *lazy_take_event(struct cairn_lane *lane)
{
	struct cairn_lazy_event *event;

	lockdep_assert_held(&lazy_raise_lock);
	spin_lock_irq(&lane->lock);
	event = list_first_entry_or_null(&lane->lazy_events, struct cairn_lazy_event, list);
	if (event)
		list_del_init(&event->list);
	spin_unlock_irq(&lane->lock);
	return event;
}

static void lazy_raise_events(struct cairn_lane *lane)
{
	struct cairn_lazy_event *event;
	u32 left = LAZY_EVENTS;

	do {
		spin_lock(&lazy_raise_lock);
		event = lazy_take_event(lane);
		if (event)
			event->raise(event);
		spin_unlock(&lazy_raise_lock);
	} while (event && --left);
}

/* Wait for work. While watches are lazy, not for long: nothing wakes the thread when their
 * processes sleep. After the wait it has the CPU at that time.
 */
static void lazy_wait(struct cairn_lane *lane)
{
	ktime_t most = list_empty_careful(&lane->lazy) ? KTIME_MAX : LAZY_LOOK_NS;

	wait_event_interruptible_hrtimeout(lane->lazy_wake,
					   READ_ONCE(lane->lazy_due) ||
					   !list_empty_careful(&lane->lazy_events) ||
					   kthread_should_stop(), most);
}

static int lazy_thread(void *data)
{
	struct cairn_lane *lane = data;
	bool found;

	while (!kthread_should_stop()) {
		lazy_wait(lane);
		spin_lock_irq(&lane->lock);
		found = cairn_watches_end_lazy(lane);
		spin_unlock_irq(&lane->lock);
		if (found)
			cairn_lane_wake(lane);
		lazy_raise_events(lane);
		cond_resched();
	}
	return 0;
}

int cairn_lazy_start(struct cairn_lane *lane, int node)
{
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_BATCH,
	};
	struct task_struct *task;

	task = kthread_create_on_node(lazy_thread, lane, node, "cairn/%u-lazy", lane->number);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* If it fails, the thread preempts the process. That is slower, but not wrong. */
	sched_setattr_nocheck(task, &attr);
	lane->lazy_task = task;
	wake_up_process(task);
	return 0;
}

void cairn_lazy_stop(struct cairn_lane *lane)
{
	kthread_stop(lane->lazy_task);
}

/* Soft interrupts are off. Return: those of @bytes that are left. */
static s32 lazy_serve_qp(struct cairn_exec *exec, s32 bytes)
{
	struct cairn_budget tx = {
		.packets = CAIRN_LANE_BUDGET,
		.bytes = bytes,
	};

	cairn_nic_count(exec->nic, CAIRN_CTR_POLLED_POSTS, 1);
	cairn_exec_serve(exec, CAIRN_REQ, CAIRN_LANE_BUDGET, &tx);
	return tx.bytes;
}

/* For the bytes of a round. */
static void lazy_serve_qps(struct cairn_exec *const *exec, u32 num)
{
	s32 bytes = CAIRN_ROUND_BYTES;
	u32 i;

	cairn_env_plug();
	for (i = 0; i < num && bytes > 0; i++)
		bytes = lazy_serve_qp(exec[i], bytes);
	cairn_env_unplug();
	for (; i < num; i++)
		cairn_lane_ready(exec[i], CAIRN_REQ);
}

static void lazy_put_qps(struct cairn_lane *lane, struct cairn_exec *const *exec, u32 num)
{
	u32 i;

	spin_lock_irq(&lane->lock);
	for (i = 0; i < num; i++)
		cairn_lane_put_running(lane, exec[i]);
	spin_unlock_irq(&lane->lock);
}

/* Soft interrupts are off: a QP that is taken is served at once, and a CPU counts once in
 * its exec->running. Return: false: no posts are left.
 */
static bool lazy_serve_word(struct cairn_watch *watch)
{
	struct cairn_lane *lane = cairn_watch_lane(watch);
	struct cairn_exec *exec[64] __uninitialized;
	bool more;
	u32 num;

	cairn_cpu_lock();
	spin_lock_irq(&lane->lock);
	more = cairn_watch_take_word(watch, exec, &num);
	spin_unlock_irq(&lane->lock);
	if (num) {
		lazy_serve_qps(exec, num);
		lazy_put_qps(lane, exec, num);
	}
	cairn_cpu_unlock();
	return more;
}

void cairn_lazy_serve(struct cairn_watch *watch)
{
	u32 words = LAZY_WORDS;

	while (words-- && !fatal_signal_pending(current) && lazy_serve_word(watch))
		cond_resched();
}
