// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads and timers of the lanes.
 *
 * The timer expires in soft-interrupt context (HRTIMER_MODE_ABS_SOFT), where the
 * requester can run. So an RNR wait or a timeout needs no switch to a thread, and no
 * lock of the engine needs interrupts off.
 *
 * Thread and timer run a QP without lane->lock. They count it in exec->running, and
 * cairn_lane_leave() waits until that is 0.
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
/* Scheduler marks that one lane_select() examines: slots may still be marked whose QPs
 * have been destroyed.
 */
#define CAIRN_LANE_TRIES	128
/* Limits of one round, during which soft interrupts are off. The bytes are those of
 * one train, less room for the packet that exceeds the limit.
 */
#define CAIRN_ROUND_TURNS	64
#define CAIRN_ROUND_BYTES	(CAIRN_TRAIN_BYTES - 2048)
/* Expired requesters that the timer itself runs, and how many of them may send. The
 * thread runs the rest in the scheduler's order; on a busy CPU that takes longer.
 */
#define CAIRN_TIMER_BATCH	64
#define CAIRN_TIMER_SENDERS	8
/* Entries that one expiry of the timer handles, and the packets of each of its runs. */
#define CAIRN_TIMER_EXPIRIES	128
#define CAIRN_TIMER_BUDGET	16

static struct cairn_lane *lanes[CAIRN_MAX_LANES];
static unsigned int num_lanes;		/* constant after cairn_lanes_start() */
static u32 lane_words;			/* words of 64 slots in each lane */
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

/* Mark a side for a turn, without waking the thread. Any context. */
static void lane_mark(struct cairn_exec *exec, enum cairn_side_id side)
{
	set_bit(side, &exec->wanted);
	/* A full barrier: a turn clears the mark first and reads wanted afterwards. */
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

/* Add a timer entry. Return: true when it is the first one now, so that the caller has
 * to start the hrtimer.
 */
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

/* Take the first entry off the queue if it has expired. */
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

/* Is the side of an expired entry due? If its deadline has moved, the entry is added
 * again. If it was cancelled, nothing happens.
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
		/* Responses may be long, so the thread sends them. */
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
	/* Not in the past, so that other timers of this CPU expire in between. */
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

/* Select QPs ahead into the FIFO, in the scheduler's order. They stay marked until their
 * turn begins.
 */
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
		/* The search has come round: all marked QPs are selected. */
		if (exec->queued)
			return;
		exec->queued = true;
		cairn_exec_prefetch(exec, CAIRN_REQ);
		cairn_fifo_push(&lane->fifo, slot, READ_ONCE(exec->next_wqe));
	}
}

/* Prefetch the WQE of the QP whose turn is next, and what starting it writes. Its context
 * was prefetched when it was selected, so the addresses are read without a miss.
 */
static void lane_prefetch_wqe(struct cairn_lane *lane)
{
	const struct cairn_fifo_entry *entry;
	struct cairn_qpc *qpc;

	lockdep_assert_held(&lane->lock);
	if (!cairn_fifo_len(&lane->fifo))
		return;
	entry = cairn_fifo_peek(&lane->fifo, 0);
	qpc = cairn_lane_qp(lane, entry->queue)->qpc;
	cairn_env_sq_prefetch(qpc, entry->wqe);
	cairn_req_prefetch_start(qpc);
}

/* Begin the next turn. @sides: the sides that want it. Return: the QP, counted in its
 * running; NULL: no QP is marked.
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

/* The turn of one side, within its share in bytes. BH off. Return: bytes sent. */
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

/* One turn. @done: QP of the previous turn, or NULL. @idle: the last round had no work.
 * @bytes: decreased by the bytes sent. BH off. Return: the QP, which counts as running
 * until the next turn; NULL: there was no work.
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
 * Give turns to marked QPs; packets of several QPs may leave in one train. A round is
 * short, because soft interrupts wait for its end. @idle: the last round had no work.
 * Return: false if this round had none.
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
 * Run while there is work, and poll for a while longer. A process whose wake-up flag is
 * low does not ring, so it would wait for a thread that does not run. Therefore
 * preemption is off, and lane_rest() raises the flags of idle watches before the thread
 * yields its CPU. With PREEMPT_RT the thread may be preempted at any time, and no flag
 * is ever low (cairn_watch_ring()).
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
	word->exec[exec->slot % 64] = NULL;
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

/* One lane for every two CPUs: a lane that polls keeps one CPU busy, and the process
 * that posts another.
 */
int cairn_lanes_start(void)
{
	unsigned int cpu, skip = 0;
	int err = cairn_drain_start();

	if (err)
		return err;
	num_lanes = min_t(unsigned int, DIV_ROUND_UP(num_online_cpus(), 2),
			  CAIRN_MAX_LANES);
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
	/* Fewer if CPUs went offline in the loop. */
	num_lanes = started;
	return 0;
}
