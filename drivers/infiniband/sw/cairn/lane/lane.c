// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads and timers.
 *
 * The timer expires in soft-interrupt context (HRTIMER_MODE_ABS_SOFT), because
 * there the requester can run where it is: an RNR wait or a timeout costs no
 * hop to a thread, and no lock of the engine needs interrupts off.
 *
 * A QP that is run outside the lock (by the thread or the timer) is counted in
 * its running, for cairn_lane_leave() to wait on.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "lane/drain.h"
#include "lane/lane.h"

#define CAIRN_MAX_LANES		16
/* One turn of a QP, in packets of each direction. */
#define CAIRN_LANE_BUDGET	64
/* Expired requesters run by the timer itself; the thread runs the others. */
#define CAIRN_TIMER_BATCH	8
#define CAIRN_TIMER_BUDGET	16

static struct cairn_lane *lanes[CAIRN_MAX_LANES];
static unsigned int num_lanes;
static atomic_t next_lane;

struct cairn_lane *cairn_lane_pick(void)
{
	return lanes[(u32)atomic_inc_return(&next_lane) % num_lanes];
}

/* lane->lock held. Returns true when the thread may be asleep. */
static bool make_ready(struct cairn_lane *lane, struct cairn_exec *x, u8 sides)
{
	bool first = list_empty(&lane->ready);

	if (x->stopped)
		return false;
	x->ready_sides |= sides;
	if (!list_empty(&x->ready))
		return false;
	list_add_tail(&x->ready, &lane->ready);
	return first;
}

void cairn_lane_ready(struct cairn_exec *x, enum cairn_side_id side)
{
	struct cairn_lane *lane = x->lane;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&lane->lock, flags);
	first = make_ready(lane, x, BIT(side));
	spin_unlock_irqrestore(&lane->lock, flags);
	if (first)
		wake_up(&lane->wake);
}

/* lane->lock held. */
static void disarm(struct cairn_lane *lane, struct cairn_exec_side *s)
{
	timerqueue_del(&lane->timers, &s->timer);
	WRITE_ONCE(s->armed, 0);
}

void cairn_lane_arm(struct cairn_exec *x, enum cairn_side_id side,
		    u64 deadline)
{
	struct cairn_exec_side *s = &x->side[side];
	struct cairn_lane *lane = x->lane;
	u64 armed = READ_ONCE(s->armed);
	unsigned long flags;

	/*
	 * The timer may take its entry off the queue right now, and we may
	 * still see it as armed. Then it records an event after that and finds
	 * our side lock taken: we run again and see no timer (serve()).
	 */
	if (!deadline || (armed && armed <= deadline))
		return;
	spin_lock_irqsave(&lane->lock, flags);
	if (!x->stopped) {
		if (s->armed)
			disarm(lane, s);
		WRITE_ONCE(s->armed, deadline);
		s->timer.expires = deadline;
		if (timerqueue_add(&lane->timers, &s->timer))
			hrtimer_start(&lane->timer, deadline,
				      HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock_irqrestore(&lane->lock, flags);
}

/* Undo running++. lane->lock held. */
static void put_running(struct cairn_lane *lane, struct cairn_exec *x)
{
	if (!--x->running && x->stopped)
		wake_up_all(&lane->idle);
}

/* The first entry whose time has come, off the queue. lane->lock held. */
static struct cairn_exec_side *take_expired(struct cairn_lane *lane, u64 now)
{
	struct timerqueue_node *node = timerqueue_getnext(&lane->timers);
	struct cairn_exec_side *s;

	if (!node || node->expires > now)
		return NULL;
	s = container_of(node, struct cairn_exec_side, timer);
	disarm(lane, s);
	return s;
}

/* Whoever waited for its rate goes on when the scheduler selects it (mission
 * F2), and responses are the lane's anyway.
 */
static bool for_scheduler(const struct cairn_exec *x, enum cairn_side_id side)
{
	return side == CAIRN_RESP || cairn_req_paced(x->qpc);
}

static enum hrtimer_restart timer_expired(struct hrtimer *timer)
{
	struct cairn_lane *lane = container_of(timer, struct cairn_lane, timer);
	struct timerqueue_node *node;
	u32 left = CAIRN_TIMER_BATCH;
	u64 now = ktime_get_ns();
	struct cairn_exec_side *s;
	unsigned long flags;
	bool wake = false;

	spin_lock_irqsave(&lane->lock, flags);
	while ((s = take_expired(lane, now))) {
		struct cairn_exec *x = s->exec;
		enum cairn_side_id side = s - x->side;

		cairn_nic_count(x->nic, CAIRN_CTR_TIMER_TURNS, 1);
		if (!left || for_scheduler(x, side)) {
			wake |= make_ready(lane, x, BIT(side));
			continue;
		}
		left--;
		x->running++;
		spin_unlock_irqrestore(&lane->lock, flags);
		cairn_exec_serve(x, CAIRN_REQ, CAIRN_TIMER_BUDGET);
		spin_lock_irqsave(&lane->lock, flags);
		put_running(lane, x);
	}
	node = timerqueue_getnext(&lane->timers);
	if (node)
		hrtimer_start(timer, node->expires, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&lane->lock, flags);
	if (wake)
		wake_up(&lane->wake);
	return HRTIMER_NORESTART;
}

/* One turn of the QP that has waited longest. */
static void turn(struct cairn_lane *lane)
{
	struct cairn_exec *x;
	unsigned long sides;
	unsigned int side;

	spin_lock_irq(&lane->lock);
	x = list_first_entry_or_null(&lane->ready, struct cairn_exec, ready);
	if (!x) {
		spin_unlock_irq(&lane->lock);
		return;
	}
	list_del_init(&x->ready);
	sides = x->ready_sides;
	x->ready_sides = 0;
	x->running++;
	spin_unlock_irq(&lane->lock);

	cairn_nic_count(x->nic, CAIRN_CTR_LANE_TURNS, 1);
	for_each_set_bit(side, &sides, CAIRN_SIDES) {
		local_bh_disable();
		cairn_exec_serve(x, side, CAIRN_LANE_BUDGET);
		local_bh_enable();
	}

	spin_lock_irq(&lane->lock);
	put_running(lane, x);
	spin_unlock_irq(&lane->lock);
}

static bool has_work(struct cairn_lane *lane)
{
	return !list_empty(&lane->ready) || kthread_should_stop();
}

static int lane_thread(void *data)
{
	struct cairn_lane *lane = data;

	while (!kthread_should_stop()) {
		wait_event_idle(lane->wake, has_work(lane));
		turn(lane);
		cond_resched();
	}
	return 0;
}

void cairn_lane_leave(struct cairn_exec *x)
{
	struct cairn_lane *lane = x->lane;
	unsigned int side;

	spin_lock_irq(&lane->lock);
	x->stopped = true;
	list_del_init(&x->ready);
	for (side = 0; side < CAIRN_SIDES; side++)
		if (x->side[side].armed)
			disarm(lane, &x->side[side]);
	wait_event_lock_irq(lane->idle, !x->running, lane->lock);
	spin_unlock_irq(&lane->lock);
}

static struct cairn_lane *lane_create(unsigned int n, int node)
{
	struct cairn_lane *lane = kzalloc_node(sizeof(*lane), GFP_KERNEL, node);
	struct task_struct *task;

	if (!lane)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&lane->lock);
	INIT_LIST_HEAD(&lane->ready);
	timerqueue_init_head(&lane->timers);
	hrtimer_init(&lane->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	lane->timer.function = timer_expired;
	init_waitqueue_head(&lane->wake);
	init_waitqueue_head(&lane->idle);

	task = kthread_create_on_node(lane_thread, lane, node, "cairn/%u", n);
	if (IS_ERR(task)) {
		kfree(lane);
		return ERR_CAST(task);
	}
	lane->task = task;
	wake_up_process(task);
	return lane;
}

static void lane_destroy(struct cairn_lane *lane)
{
	kthread_stop(lane->task);
	hrtimer_cancel(&lane->timer);
	kfree(lane);
}

void cairn_lanes_stop(void)
{
	while (num_lanes)
		lane_destroy(lanes[--num_lanes]);
	cairn_drain_stop();
}

int cairn_lanes_start(void)
{
	unsigned int cpu;

	cairn_drain_start();
	for_each_online_cpu(cpu) {
		struct cairn_lane *lane;

		if (num_lanes == CAIRN_MAX_LANES)
			break;
		lane = lane_create(num_lanes, cpu_to_node(cpu));
		if (IS_ERR(lane)) {
			cairn_lanes_stop();
			return PTR_ERR(lane);
		}
		lanes[num_lanes++] = lane;
	}
	return 0;
}
