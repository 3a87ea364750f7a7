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
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "compat/hrtimer.h"
#include "device/cpu.h"
#include "device/mrcache.h"
#include "engine/requester.h"
#include "engine/window.h"
#include "lane/drain.h"
#include "lane/lane.h"

/* Slots of all lanes together; QPs are spread evenly. */
#define CAIRN_LANES_SLOTS	BIT(21)
/* One turn of a QP, in packets of each direction. */
#define CAIRN_LANE_BUDGET	64
/* Marks looked at in one go; those of QPs that are gone are left over. */
#define CAIRN_LANE_TRIES	128
/* One round of the thread, with soft interrupts off: about one train, whose last
 * packet must fit, too.
 */
#define CAIRN_ROUND_TURNS	64
#define CAIRN_ROUND_BYTES	(CAIRN_TRAIN_BYTES - 2048)
/* Expired requesters run by the timer itself, and those that may turn out to have
 * something to send, as who waited for its rate has; the thread, which has to wait
 * for its CPU where others are busy, runs the rest when the scheduler selects them.
 */
#define CAIRN_TIMER_BATCH	64
#define CAIRN_TIMER_SENDERS	8
/* Expiries in one go, with the lane's lock held between runs. */
#define CAIRN_TIMER_EXPIRIES	128
#define CAIRN_TIMER_BUDGET	16

static struct cairn_lane *lanes[CAIRN_MAX_LANES];
static unsigned int num_lanes;		/* constant once they run */
static u32 lane_words;			/* of 64 slots, of each */
static unsigned int started;
static atomic_t next_lane;

unsigned int cairn_lanes(void)
{
	return num_lanes;
}

struct cairn_lane *cairn_lane(unsigned int number)
{
	return lanes[number];
}

unsigned int cairn_lane_pick(void)
{
	return (u32)atomic_inc_return(&next_lane) % num_lanes;
}

/* The thread is not woken. Any context. */
static void lane_mark(struct cairn_exec *exec, enum cairn_side_id side)
{
	set_bit(side, &exec->wanted);
	/* A full barrier: a turn takes the mark first, then what is wanted. */
	cairn_sched_set(&exec->lane->sched, exec->slot);
}

void cairn_lane_ready(struct cairn_exec *exec, enum cairn_side_id side)
{
	lane_mark(exec, side);
	cairn_lane_wake(exec->lane);
}

static void lane_disarm(struct cairn_lane *lane, struct cairn_exec_side *state)
{
	lockdep_assert_held(&lane->lock);
	timerqueue_del(&lane->timers, &state->timer);
	WRITE_ONCE(state->alarm.set, 0);
}

/* Returns true when it is the first entry now. Not armed. */
static bool lane_set_timer(struct cairn_lane *lane,
			   struct cairn_exec_side *state, u64 deadline)
{
	lockdep_assert_held(&lane->lock);
	WRITE_ONCE(state->alarm.set, deadline);
	state->timer.expires = deadline;
	return timerqueue_add(&lane->timers, &state->timer);
}

void cairn_lane_set_timer(struct cairn_exec *exec, enum cairn_side_id side,
			  u64 deadline)
{
	struct cairn_exec_side *state = &exec->side[side];
	struct cairn_lane *lane = exec->lane;
	unsigned long flags;

	spin_lock_irqsave(&lane->lock, flags);
	if (!exec->stopped) {
		if (state->alarm.set)
			lane_disarm(lane, state);
		if (lane_set_timer(lane, state, deadline))
			hrtimer_start(&lane->timer, deadline,
				      HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock_irqrestore(&lane->lock, flags);
}

void cairn_lane_purge(struct cairn_exec *exec)
{
	struct cairn_lane *lane = exec->lane;
	unsigned long flags;

	spin_lock_irqsave(&lane->lock, flags);
	if (!exec->stopped && exec->queued) {
		cairn_nic_count(exec->nic, CAIRN_CTR_RATE_PURGES,
				cairn_fifo_purge(&lane->fifo, exec->slot));
		exec->queued = false;
	}
	spin_unlock_irqrestore(&lane->lock, flags);
}

/* Undo running++. */
static void lane_put_running(struct cairn_lane *lane, struct cairn_exec *exec)
{
	lockdep_assert_held(&lane->lock);
	if (!--exec->running && exec->stopped)
		wake_up_all(&lane->idle);
}

/* The first entry whose time has come, off the queue. */
static struct cairn_exec_side *lane_take_expired(struct cairn_lane *lane,
						 u64 now)
{
	struct timerqueue_node *node = timerqueue_getnext(&lane->timers);

	lockdep_assert_held(&lane->lock);
	if (!node || node->expires > now)
		return NULL;
	timerqueue_del(&lane->timers, node);
	return container_of(node, struct cairn_exec_side, timer);
}

/* Is the side of an expired entry due? If its deadline moved, the entry is set
 * again; if the deadline is gone, so is the entry.
 */
static bool lane_is_due(struct cairn_lane *lane, struct cairn_exec_side *state,
			u64 now)
{
	u64 due = cairn_alarm_expire(&state->alarm);

	lockdep_assert_held(&lane->lock);
	if (due > now)
		lane_set_timer(lane, state, due);
	return due && due <= now;
}

static enum hrtimer_restart lane_timer_expired(struct hrtimer *timer)
{
	struct cairn_lane *lane = container_of(timer, struct cairn_lane, timer);
	struct timerqueue_node *node;
	u32 left = CAIRN_TIMER_BATCH, senders = CAIRN_TIMER_SENDERS;
	u32 expiries = CAIRN_TIMER_EXPIRIES;
	struct cairn_budget tx;
	u64 now = ktime_get_ns();
	struct cairn_exec_side *state;
	unsigned long flags;
	bool wake = false, share;

	cairn_cpu_enter();
	cairn_env_plug();
	spin_lock_irqsave(&lane->lock, flags);
	share = cairn_alarm_share_begin(&lane->timer_share, now);
	while (expiries-- && (state = lane_take_expired(lane, now))) {
		struct cairn_exec *exec = state->exec;
		enum cairn_side_id side = state - exec->side;

		if (!lane_is_due(lane, state, now))
			continue;
		cairn_nic_count(exec->nic, CAIRN_CTR_TIMER_TURNS, 1);
		/* Responses may be long: they are the thread's. */
		if (!left || !senders || side == CAIRN_RESP ||
		    (!share && cairn_req_asks_again(exec->qpc))) {
			lane_mark(exec, side);
			wake = true;
			continue;
		}
		left--;
		tx = (struct cairn_budget){
			.packets = CAIRN_TIMER_BUDGET,
			.bytes = CAIRN_QUANTUM,
		};
		exec->running++;
		spin_unlock_irqrestore(&lane->lock, flags);
		cairn_exec_serve(exec, side, CAIRN_TIMER_BUDGET, &tx);
		senders -= tx.packets != CAIRN_TIMER_BUDGET;
		spin_lock_irqsave(&lane->lock, flags);
		lane_put_running(lane, exec);
	}
	node = timerqueue_getnext(&lane->timers);
	/* Not in the past: other timers of this CPU come in between. */
	if (node)
		hrtimer_start(timer, max_t(u64, node->expires, ktime_get_ns()),
			      HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&lane->lock, flags);
	cairn_env_unplug();
	cairn_cpu_leave();
	cairn_alarm_share_end(&lane->timer_share, ktime_get_ns() - now);
	if (wake)
		cairn_lane_wake(lane);
	return HRTIMER_NORESTART;
}

/* Select QPs ahead, in the scheduler's order. They stay marked until their turn. */
static void lane_select(struct cairn_lane *lane)
{
	u32 slot, tries = CAIRN_LANE_TRIES;
	struct cairn_exec *exec;

	lockdep_assert_held(&lane->lock);
	while (!cairn_fifo_full(&lane->fifo) && tries--) {
		slot = cairn_sched_next(&lane->sched);
		if (slot == CAIRN_SCHED_NONE)
			return;
		exec = cairn_lane_qp(lane, slot);
		if (!exec) {
			cairn_sched_clear(&lane->sched, slot);
			continue;
		}
		/* Once round: the marked ones are all selected. */
		if (exec->queued)
			return;
		exec->queued = true;
		cairn_req_prefetch(exec->qpc);
		cairn_fifo_push(&lane->fifo, slot, READ_ONCE(exec->next_wqe));
	}
}

/* Those behind the one that is served now: their contexts have come, so the WQEs can
 * be found.
 */
static void lane_prefetch_wqe(struct cairn_lane *lane)
{
	const struct cairn_fifo_entry *entry;

	lockdep_assert_held(&lane->lock);
	if (!cairn_fifo_len(&lane->fifo))
		return;
	entry = cairn_fifo_peek(&lane->fifo, 0);
	cairn_env_sq_prefetch(cairn_lane_qp(lane, entry->queue)->qpc,
			      entry->wqe);
}

/* The QP whose turn it is, counted in its running, and the sides that want it; NULL:
 * none.
 */
static struct cairn_exec *lane_take_turn(struct cairn_lane *lane,
					 unsigned long *sides)
{
	struct cairn_fifo_entry entry;
	struct cairn_lane_word *word;
	struct cairn_exec *exec;

	lockdep_assert_held(&lane->lock);
	lane_select(lane);
	if (!cairn_fifo_pop(&lane->fifo, &entry))
		return NULL;
	lane_prefetch_wqe(lane);
	exec = cairn_lane_qp(lane, entry.queue);
	exec->queued = false;
	exec->running++;
	cairn_sched_clear(&lane->sched, entry.queue);
	*sides = xchg(&exec->wanted, 0);
	word = lane->words[entry.queue / 64];
	if (word->posted & BIT_ULL(entry.queue % 64)) {
		word->posted &= ~BIT_ULL(entry.queue % 64);
		*sides |= BIT(CAIRN_REQ);
		cairn_nic_count(exec->nic, CAIRN_CTR_POLLED_POSTS, 1);
	}
	return exec;
}

/* One side's turn, in bytes that it has a right to. Returns those that it used.
 * BH off.
 */
static u32 lane_serve_share(struct cairn_exec *exec, enum cairn_side_id side)
{
	struct cairn_budget tx = {
		.packets = CAIRN_LANE_BUDGET,
		.bytes = cairn_sched_share_begin(&exec->debt[side]),
	};
	s32 bytes = tx.bytes;

	if (bytes <= 0) {
		lane_mark(exec, side);
		return 0;
	}
	__this_cpu_write(cairn_lane_here, exec->lane->number + 1);
	cairn_exec_serve(exec, side, CAIRN_LANE_BUDGET, &tx);
	__this_cpu_write(cairn_lane_here, 0);
	cairn_sched_share_end(&exec->debt[side], tx.bytes);
	return bytes - tx.bytes;
}

/* One turn. @done: the QP of the turn before, or NULL; @idle: there was nothing to
 * do in the last round. @bytes: those sent are taken off. Returns the QP, which is
 * running until the next turn; NULL: there was nothing to do. BH off.
 */
static struct cairn_exec *lane_turn(struct cairn_lane *lane,
				    struct cairn_exec *done, bool idle,
				    s32 *bytes)
{
	struct cairn_exec *exec;
	unsigned long sides;
	unsigned int side;
	s32 sent = 0;

	spin_lock_irq(&lane->lock);
	if (done)
		lane_put_running(lane, done);
	cairn_watches_poll(lane, idle);
	exec = lane_take_turn(lane, &sides);
	spin_unlock_irq(&lane->lock);
	if (!exec)
		return NULL;

	cairn_nic_count(exec->nic, CAIRN_CTR_LANE_TURNS, 1);
	for_each_set_bit(side, &sides, CAIRN_SIDES)
		sent += lane_serve_share(exec, side);
	*bytes -= sent;
	return exec;
}

/*
 * Turns of the QPs that are ready: what they send leaves together. Short, because
 * what comes in meanwhile waits. Returns false when there was nothing to do;
 * @idle: nor was there last time.
 */
static bool lane_round(struct cairn_lane *lane, bool idle)
{
	struct cairn_exec *exec = NULL;
	s32 bytes = CAIRN_ROUND_BYTES;
	u32 turns = 0;

	cairn_cpu_lock();
	cairn_env_plug();
	do {
		exec = lane_turn(lane, exec, idle && !turns, &bytes);
		turns += exec ? 1 : 0;
	} while (exec && turns < CAIRN_ROUND_TURNS && bytes > 0 &&
		 !need_resched());
	if (exec) {
		spin_lock_irq(&lane->lock);
		lane_put_running(lane, exec);
		spin_unlock_irq(&lane->lock);
	}
	cairn_env_unplug();
	cairn_cpu_unlock();
	return turns;
}

static bool lane_has_work(struct cairn_lane *lane)
{
	return cairn_sched_any(&lane->sched) ||
	       !list_empty_careful(&lane->active) || kthread_should_stop();
}

static void lane_rest(struct cairn_lane *lane)
{
	bool first = true, more;

	do {
		spin_lock_irq(&lane->lock);
		more = cairn_watches_rest(lane, first);
		spin_unlock_irq(&lane->lock);
		first = false;
	} while (more);
}

/*
 * Work while there is some, and poll for a while longer. Preemption is off, so
 * that flags are low only while the thread has its CPU or has left work behind:
 * who would wait for it otherwise rings. Each turn is short. With PREEMPT_RT the
 * thread may be preempted, and no flag is low (cairn_watch_ring()).
 */
static void lane_run(struct cairn_lane *lane)
{
	bool worked = true;

	do {
		worked = lane_round(lane, !worked);
		if (need_resched()) {
			lane_rest(lane);
			return;
		}
		if (!worked)
			cpu_relax();
	} while (lane_has_work(lane) && !kthread_should_stop());
}

static int lane_thread(void *data)
{
	struct cairn_lane *lane = data;

	while (!kthread_should_stop()) {
		wait_event_idle(lane->wake, lane_has_work(lane));
		if (!CAIRN_CPU_PREEMPTED)
			preempt_disable();
		lane_run(lane);
		if (!CAIRN_CPU_PREEMPTED)
			preempt_enable();
		cond_resched();
	}
	return 0;
}

void cairn_lane_leave(struct cairn_exec *exec)
{
	struct cairn_lane *lane = exec->lane;
	struct cairn_lane_word *word;
	unsigned int side;

	spin_lock_irq(&lane->lock);
	exec->stopped = true;
	word = lane->words[exec->slot / 64];
	word->x[exec->slot % 64] = NULL;
	word->used &= ~BIT_ULL(exec->slot % 64);
	word->posted &= ~BIT_ULL(exec->slot % 64);
	cairn_fifo_purge(&lane->fifo, exec->slot);
	for (side = 0; side < CAIRN_SIDES; side++)
		if (exec->side[side].alarm.set)
			lane_disarm(lane, &exec->side[side]);
	wait_event_lock_irq(lane->idle, !exec->running, lane->lock);
	spin_unlock_irq(&lane->lock);
}

static int lane_alloc(struct cairn_lane *lane)
{
	u32 words = lane_words;

	lane->sched_mem = kvzalloc(cairn_sched_bytes(words * 64), GFP_KERNEL);
	lane->slots_mem = kvzalloc(cairn_slots_bytes(words), GFP_KERNEL);
	lane->words = kvcalloc(words, sizeof(*lane->words), GFP_KERNEL);
	lane->kernel = cairn_watch_create(lane, NULL, NULL);
	if (!lane->sched_mem || !lane->slots_mem || !lane->words ||
	    !lane->kernel)
		return -ENOMEM;
	cairn_slots_init(&lane->slots, words, lane->slots_mem);
	cairn_sched_init(&lane->sched, words * 64, lane->sched_mem);
	return 0;
}

static void lane_free(struct cairn_lane *lane)
{
	if (lane->kernel)
		cairn_watch_destroy(lane->kernel);
	mutex_destroy(&lane->slots_lock);
	kvfree(lane->words);
	kvfree(lane->slots_mem);
	kvfree(lane->sched_mem);
	kfree(lane);
}

static void lane_init(struct cairn_lane *lane)
{
	spin_lock_init(&lane->lock);
	mutex_init(&lane->slots_lock);
	INIT_LIST_HEAD(&lane->active);
	timerqueue_init_head(&lane->timers);
	hrtimer_setup(&lane->timer, lane_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	init_waitqueue_head(&lane->wake);
	init_waitqueue_head(&lane->idle);
}

static struct cairn_lane *lane_create(unsigned int n, int node)
{
	struct cairn_lane *lane = kzalloc_node(sizeof(*lane), GFP_KERNEL, node);
	struct task_struct *task;
	int err;

	if (!lane)
		return ERR_PTR(-ENOMEM);
	lane_init(lane);
	lane->number = n;
	err = lane_alloc(lane);
	if (err)
		goto err_free;
	task = kthread_create_on_node(lane_thread, lane, node, "cairn/%u", n);
	err = PTR_ERR_OR_ZERO(task);
	if (err)
		goto err_free;
	lane->task = task;
	wake_up_process(task);
	return lane;

err_free:
	lane_free(lane);
	return ERR_PTR(err);
}

static void lane_destroy(struct cairn_lane *lane)
{
	kthread_stop(lane->task);
	hrtimer_cancel(&lane->timer);
	lane_free(lane);
}

void cairn_lanes_stop(void)
{
	while (started)
		lane_destroy(lanes[--started]);
	cairn_drain_stop();
}

/* One for every two CPUs: a lane that polls wants one for itself, and who posts
 * another.
 */
int cairn_lanes_start(void)
{
	unsigned int cpu, skip = 0;
	int err = cairn_drain_start();

	if (err)
		return err;
	num_lanes = min(DIV_ROUND_UP(num_online_cpus(), 2), CAIRN_MAX_LANES);
	lane_words = CAIRN_LANES_SLOTS / 64 / num_lanes;
	for_each_online_cpu(cpu) {
		struct cairn_lane *lane;

		if (started == num_lanes)
			break;
		if (skip++ % 2)
			continue;
		lane = lane_create(started, cpu_to_node(cpu));
		if (IS_ERR(lane)) {
			cairn_lanes_stop();
			return PTR_ERR(lane);
		}
		lanes[started++] = lane;
	}
	/* A CPU may have gone meanwhile. */
	num_lanes = started;
	return 0;
}
