// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads and timers of the lanes.
 *
 * The timer expires in soft-interrupt context (HRTIMER_MODE_ABS_SOFT), where the
 * requester can run. So an RNR wait or a timeout needs no switch to a thread, and no
 * lock of the engine needs interrupts off.
 *
 * Thread, timer and lane/lazy.c run a QP without lane->lock. They count it in
 * exec->running, and cairn_lane_leave() waits until that is 0.
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
#include "device/clock.h"
#include "device/cpu.h"
#include "device/mrcache.h"
#include "device/vector.h"
#include "engine/pace.h"
#include "engine/requester.h"
#include "lane/drain.h"
#include "lane/lane.h"
#include "lane/late.h"
#include "lane/lazy.h"

/* Slots of all lanes together; QPs are spread evenly. */
#define CAIRN_LANES_SLOTS	BIT(21)
/* Scheduler marks that one lane_select() examines: slots may still be marked whose QPs
 * have been destroyed.
 */
#define CAIRN_LANE_TRIES	128
/* Turns of one round, during which soft interrupts are off. */
#define CAIRN_ROUND_TURNS	64
/* Expired requesters that the timer itself runs, and how many of them may send. The
 * thread runs the rest in the scheduler's order; on a busy CPU that takes longer.
 */
#define CAIRN_TIMER_BATCH	12
#define CAIRN_TIMER_SENDERS	8
/* Entries that are looked at while interrupts are off, how often one expiry of the timer
 * does that, and the packets of each of its runs.
 */
#define CAIRN_TIMER_LOOKS	64
#define CAIRN_TIMER_PARTS	3
#define CAIRN_TIMER_BUDGET	16

/* WQE and record of a turn are prefetched this many turns before. */
#define LANE_WQE_AHEAD		2

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
	cairn_wheel_remove(&state->timer);
	WRITE_ONCE(state->alarm.set, 0);
}

/* Start the timer, if that is not done for an earlier time. */
static void lane_start_timer(struct cairn_lane *lane, u64 at)
{
	lockdep_assert_held(&lane->lock);
	if (at >= lane->timer_at)
		return;
	lane->timer_at = at;
	hrtimer_start(&lane->timer, at, HRTIMER_MODE_ABS_SOFT);
}

/* Add a timer entry. Return: when the timer has to look at it. */
static u64 lane_set_timer(struct cairn_lane *lane,
			  struct cairn_exec_side *state, u64 deadline)
{
	lockdep_assert_held(&lane->lock);
	WRITE_ONCE(state->alarm.set, deadline);
	return cairn_wheel_add(&lane->wheel, &state->timer, deadline);
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
		lane_start_timer(lane, lane_set_timer(lane, state, deadline));
	}
	spin_unlock_irqrestore(&lane->lock, flags);
}

void cairn_lane_put_running(struct cairn_lane *lane, struct cairn_exec *exec)
{
	lockdep_assert_held(&lane->lock);
	if (!--exec->running && exec->stopped)
		wake_up_all(&lane->idle);
}

/* Take an entry that has expired. @looks: entries that may be looked at; decreased. */
static struct cairn_exec_side *lane_take_expired(struct cairn_lane *lane,
						 u64 now, u32 *looks)
{
	struct cairn_wheel_entry *entry;

	lockdep_assert_held(&lane->lock);
	entry = cairn_wheel_take(&lane->wheel, now, looks);
	return entry ? container_of(entry, struct cairn_exec_side, timer) : NULL;
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

/* One expiry of the timer. */
struct lane_expiry {
	u64 now;
	u32 runs;		/* sides that it may still run */
	u32 senders;		/* those that may send */
	bool share;		/* it may run sides that retry after an RNR NAK */
	bool wake;		/* the thread has work */
};

/* May the timer itself run the side? Responses may be long, so the thread sends them. */
static bool lane_timer_may_run(const struct lane_expiry *expiry,
			       const struct cairn_exec *exec,
			       enum cairn_side_id side)
{
	return expiry->runs && expiry->senders && side == CAIRN_REQ &&
	       (expiry->share || !cairn_req_asks_again(exec->qpc));
}

/* Run a side that is due, or leave it to the thread. */
static void lane_expire(struct lane_expiry *expiry, struct cairn_exec *exec,
			enum cairn_side_id side)
{
	struct cairn_budget tx = {
		.packets = CAIRN_TIMER_BUDGET,
		.bytes = CAIRN_QUANTUM,
	};

	cairn_nic_count(exec->nic, CAIRN_CTR_TIMER_TURNS, 1);
	if (!lane_timer_may_run(expiry, exec, side)) {
		lane_mark(exec, side);
		expiry->wake = true;
		return;
	}
	expiry->runs--;
	cairn_exec_serve(exec, side, CAIRN_TIMER_BUDGET, &tx);
	expiry->senders -= tx.packets != CAIRN_TIMER_BUDGET;
}

/* Look at some expired entries, with interrupts off, until a side is due. @looks: those
 * that may be looked at; decreased. Return: the side, whose QP counts as running.
 */
static struct cairn_exec_side *lane_next_due(struct cairn_lane *lane, u64 now,
					     u32 *looks)
{
	struct cairn_exec_side *state;

	spin_lock_irq(&lane->lock);
	do
		state = lane_take_expired(lane, now, looks);
	while (state && !lane_is_due(lane, state, now));
	if (state)
		state->exec->running++;
	spin_unlock_irq(&lane->lock);
	return state;
}

/* Look at all expired entries, within the limits. */
static void lane_expire_all(struct cairn_lane *lane, struct lane_expiry *expiry)
{
	u32 parts = CAIRN_TIMER_PARTS, looks = CAIRN_TIMER_LOOKS;
	struct cairn_exec_side *state;

	while (parts) {
		state = lane_next_due(lane, expiry->now, &looks);
		if (state) {
			lane_expire(expiry, state->exec,
				    state - state->exec->side);
			spin_lock_irq(&lane->lock);
			cairn_lane_put_running(lane, state->exec);
			spin_unlock_irq(&lane->lock);
		} else if (looks) {
			return;
		}
		if (!looks) {
			looks = CAIRN_TIMER_LOOKS;
			parts--;
		}
	}
}

static enum hrtimer_restart lane_timer_expired(struct hrtimer *timer)
{
	struct cairn_lane *lane = container_of(timer, struct cairn_lane, timer);
	struct lane_expiry expiry = {
		.now = ktime_get_ns(),
		.runs = CAIRN_TIMER_BATCH,
		.senders = CAIRN_TIMER_SENDERS,
	};
	u64 next;

	cairn_cpu_enter();
	cairn_env_plug();
	expiry.share = cairn_alarm_share_begin(&lane->timer_share, expiry.now);
	spin_lock_irq(&lane->lock);
	lane->timer_at = U64_MAX;
	spin_unlock_irq(&lane->lock);
	lane_expire_all(lane, &expiry);
	spin_lock_irq(&lane->lock);
	next = cairn_wheel_next(&lane->wheel);
	/* Not in the past, so that other timers of this CPU expire in between. */
	if (next)
		lane_start_timer(lane, max_t(u64, next, ktime_get_ns()));
	spin_unlock_irq(&lane->lock);
	cairn_env_unplug();
	cairn_cpu_leave();
	cairn_alarm_share_end(&lane->timer_share,
			      ktime_get_ns() - expiry.now);
	if (expiry.wake)
		cairn_lane_wake(lane);
	return HRTIMER_NORESTART;
}

/*
 * The stages of a turn: it is selected, its QP's head is prefetched, then the context,
 * then WQE and record, and the QP runs. If one of the QPs is limited, the WQEs of all are
 * copied into the FIFO before that. Each stage is done for several turns before the next
 * one, so that the cache lines that it waits for arrive together.
 */

/* Select QPs, in the scheduler's order. They stay marked until their turn begins. */
static void lane_select(struct cairn_lane *lane)
{
	u32 slot, tries = CAIRN_LANE_TRIES;
	struct cairn_lane_word *word;

	lockdep_assert_held(&lane->lock);
	while (!cairn_fifo_full(&lane->selected) && tries--) {
		slot = cairn_sched_next(&lane->sched);
		if (slot == CAIRN_SCHED_NONE)
			return;
		word = lane->words[slot / 64];
		if (!word || !(word->used & BIT_ULL(slot % 64))) {
			cairn_sched_clear(&lane->sched, slot);
			continue;
		}
		/* The search has come round: all marked QPs are selected. */
		if (word->queued & BIT_ULL(slot % 64))
			return;
		word->queued |= BIT_ULL(slot % 64);
		prefetch(&word->exec[slot % 64]);
		cairn_fifo_push(&lane->selected, slot);
	}
}

/* The QP that was selected as number @n. */
static struct cairn_exec *lane_nth_qp(struct cairn_lane *lane, u32 n)
{
	return cairn_lane_qp(lane, cairn_fifo_peek(&lane->selected, n));
}

/* Prefetch the heads of the QPs from number @first on. */
static void lane_prefetch_heads(struct cairn_lane *lane, u32 first)
{
	lockdep_assert_held(&lane->lock);
	for (; first < cairn_fifo_len(&lane->selected); first++)
		cairn_exec_prefetch_head(lane_nth_qp(lane, first));
}

/* The same for their contexts. */
static void lane_prefetch_contexts(struct cairn_lane *lane, u32 first)
{
	lockdep_assert_held(&lane->lock);
	for (; first < cairn_fifo_len(&lane->selected); first++)
		cairn_exec_prefetch(lane_nth_qp(lane, first), CAIRN_REQ);
}

/* Begin the turn of the QP that was selected first. Return: false: no QP is marked. */
static bool lane_take_turn(struct cairn_lane *lane, struct cairn_lane_turn *turn)
{
	struct cairn_lane_word *word;
	struct cairn_exec *exec;
	u32 slot;
	u64 bit;

	lockdep_assert_held(&lane->lock);
	if (!cairn_fifo_pop(&lane->selected, &slot))
		return false;
	word = lane->words[slot / 64];
	bit = BIT_ULL(slot % 64);
	exec = word->exec[slot % 64];
	word->queued &= ~bit;
	exec->running++;
	cairn_sched_clear(&lane->sched, slot);
	turn->exec = exec;
	turn->fetched = false;
	turn->sides = xchg(&exec->wanted, 0);
	if (word->posted & bit) {
		word->posted &= ~bit;
		turn->sides |= BIT(CAIRN_REQ);
		cairn_nic_count(exec->nic, CAIRN_CTR_POLLED_POSTS, 1);
	}
	return true;
}

/* The turns of the vector have been served: their QPs do not run any more. */
static void lane_end_vector(struct cairn_lane *lane)
{
	struct cairn_lane_vector *vector = &lane->vector;

	lockdep_assert_held(&lane->lock);
	while (vector->num)
		cairn_lane_put_running(lane, vector->turn[--vector->num].exec);
	vector->next = 0;
}

/* Take the next turns. @idle: the last round had no work. */
static void lane_next_vector(struct cairn_lane *lane, bool idle)
{
	struct cairn_lane_vector *vector = &lane->vector;
	u32 first;

	spin_lock_irq(&lane->lock);
	lane_end_vector(lane);
	cairn_watches_poll(lane, idle);
	first = cairn_fifo_len(&lane->selected);
	lane_select(lane);
	lane_prefetch_heads(lane, first);
	lane_prefetch_contexts(lane, first);
	while (vector->num < CAIRN_VECTOR &&
	       lane_take_turn(lane, &vector->turn[vector->num]))
		vector->num++;
	spin_unlock_irq(&lane->lock);
}

/* The requester's part of a turn. @wqes: its place in the FIFO. */
static void lane_serve_requester(const struct cairn_lane_turn *turn,
				 struct cairn_ahead *wqes, struct cairn_budget *tx)
{
	if (!turn->fetched) {
		cairn_exec_serve(turn->exec, CAIRN_REQ, CAIRN_LANE_BUDGET, tx);
		return;
	}
	tx->ahead = wqes;
	cairn_exec_serve_fetched(turn->exec, CAIRN_LANE_BUDGET, tx);
}

/* The turn of one side, within its share in bytes. BH off. Return: bytes sent. */
static u32 lane_serve_share(const struct cairn_lane_turn *turn,
			    enum cairn_side_id side, struct cairn_ahead *wqes)
{
	struct cairn_exec *exec = turn->exec;
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
	if (side == CAIRN_REQ)
		lane_serve_requester(turn, wqes, &tx);
	else
		cairn_exec_serve(exec, side, CAIRN_LANE_BUDGET, &tx);
	__this_cpu_write(cairn_lane_here, 0);
	cairn_sched_share_end(&exec->debt[side], tx.bytes);
	return bytes - tx.bytes;
}

/* One turn. BH off. Return: bytes sent. */
static s32 lane_serve_turn(const struct cairn_lane_turn *turn,
			   struct cairn_ahead *wqes)
{
	unsigned int side;
	s32 sent = 0;

	cairn_nic_count(turn->exec->nic, CAIRN_CTR_LANE_TURNS, 1);
	for_each_set_bit(side, &turn->sides, CAIRN_SIDES)
		sent += lane_serve_share(turn, side, wqes);
	return sent;
}

/* Are turns of the vector left? For the thread. */
static bool lane_has_turns(const struct cairn_lane *lane)
{
	return lane->vector.next < lane->vector.num;
}

/* Prefetch what turn @n starts with, if there is such a turn. */
static void lane_prefetch_wqe(const struct cairn_lane_vector *vector, u32 n)
{
	if (n < vector->num)
		cairn_req_prefetch_start(vector->turn[n].exec->qpc);
}

/* May the mark of a rate drop WQEs of the vector? */
static bool lane_is_limited(const struct cairn_lane_vector *vector)
{
	u32 i;

	for (i = 0; i < vector->num; i++)
		if (cairn_pace_limited(vector->turn[i].exec->qpc))
			return true;
	return false;
}

/* Fetch the WQEs of all turns into the FIFO, if a mark may drop some. Without it a turn
 * reads its ring itself, which costs less, and so does a single turn. BH off.
 */
static void lane_fetch_wqes(struct cairn_lane_vector *vector)
{
	u32 i;

	if (vector->num <= 1 || !lane_is_limited(vector))
		return;
	for (i = 0; i < vector->num; i++)
		lane_prefetch_wqe(vector, i);
	for (i = 0; i < vector->num; i++) {
		struct cairn_lane_turn *turn = &vector->turn[i];

		if (turn->sides & BIT(CAIRN_REQ))
			turn->fetched = cairn_exec_fetch(turn->exec, &vector->wqes[i]);
	}
}

/* Serve the turns of the vector until @bytes are used up. The others are first in the next
 * round: a mark in the scheduler would be behind all that were made since. BH off.
 */
static void lane_serve_vector(struct cairn_lane *lane, s32 *bytes)
{
	struct cairn_lane_vector *vector = &lane->vector;
	u32 i;

	cairn_clock_begin_vector(vector->num - vector->next);
	for (i = 0; i < LANE_WQE_AHEAD; i++)
		lane_prefetch_wqe(vector, vector->next + i);
	while (lane_has_turns(lane)) {
		i = vector->next++;
		lane_prefetch_wqe(vector, i + LANE_WQE_AHEAD);
		*bytes -= lane_serve_turn(&vector->turn[i], &vector->wqes[i]);
		if (*bytes <= 0 || need_resched())
			break;
	}
	cairn_clock_begin_vector(0);
}

static void lane_count_round(struct cairn_lane *lane)
{
	/* the work of the round precedes its end: cairn_late() */
	smp_store_release(&lane->rounds, lane->rounds + 1);
	/* and follows its beginning: cairn_lane_busy() */
	smp_wmb();
}

/*
 * Give turns to marked QPs; packets of several QPs may leave in one train. A round is
 * short, because soft interrupts wait for its end. @idle: the last round had no work.
 * Return: false if this round had none.
 */
static bool lane_round(struct cairn_lane *lane, bool idle)
{
	s32 bytes = CAIRN_ROUND_BYTES;
	u32 turns = 0;

	lane_count_round(lane);
	cairn_cpu_lock();
	cairn_env_plug();
	do {
		if (!lane_has_turns(lane)) {
			lane_next_vector(lane, idle && !turns);
			lane_fetch_wqes(&lane->vector);
		}
		turns += lane->vector.num;
		lane_serve_vector(lane, &bytes);
	} while (lane->vector.num && !lane_has_turns(lane) && bytes > 0 &&
		 turns < CAIRN_ROUND_TURNS && !need_resched());
	if (!lane_has_turns(lane)) {
		spin_lock_irq(&lane->lock);
		lane_end_vector(lane);
		spin_unlock_irq(&lane->lock);
	}
	cairn_env_unplug();
	cairn_cpu_unlock();
	lane_count_round(lane);
	return turns;
}

static bool lane_has_work(struct cairn_lane *lane)
{
	return cairn_sched_any(&lane->sched) || lane_has_turns(lane) ||
	       !list_empty_careful(&lane->active) || kthread_should_stop();
}

bool cairn_lane_busy(const struct cairn_lane *lane)
{
	u32 rounds = READ_ONCE(lane->rounds);
	bool busy = rounds % 2 || cairn_sched_any(&lane->sched) ||
		    READ_ONCE(lane->vector.next) < READ_ONCE(lane->vector.num) ||
		    !list_empty_careful(&lane->active);

	/* A round may have begun and taken the work. Pairs with lane_count_round(). */
	smp_rmb();
	return busy || READ_ONCE(lane->rounds) != rounds;
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
	u64 bit = BIT_ULL(exec->slot % 64);
	struct cairn_lane_word *word;
	unsigned int side;

	spin_lock_irq(&lane->lock);
	exec->stopped = true;
	word = lane->words[exec->slot / 64];
	word->exec[exec->slot % 64] = NULL;
	word->used &= ~bit;
	word->posted &= ~bit;
	if (word->queued & bit)
		cairn_fifo_purge(&lane->selected, exec->slot);
	word->queued &= ~bit;
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
	lane->num_words = words;
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
	cairn_shares_init(&lane->shares);
	INIT_LIST_HEAD(&lane->active);
	INIT_LIST_HEAD(&lane->lazy);
	INIT_LIST_HEAD(&lane->lazy_events);
	cairn_wheel_init(&lane->wheel, ktime_get_ns());
	lane->timer_at = U64_MAX;
	hrtimer_setup(&lane->timer, lane_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	init_waitqueue_head(&lane->wake);
	init_waitqueue_head(&lane->idle);
	init_waitqueue_head(&lane->lazy_wake);
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
	if (!err)
		err = cairn_lazy_start(lane, node);
	if (err)
		goto err_free;
	task = kthread_create_on_node(lane_thread, lane, node, "cairn/%u", n);
	err = PTR_ERR_OR_ZERO(task);
	if (err)
		goto err_stop;
	lane->task = task;
	wake_up_process(task);
	return lane;

err_stop:
	cairn_lazy_stop(lane);
err_free:
	lane_free(lane);
	return ERR_PTR(err);
}

static void lane_destroy(struct cairn_lane *lane)
{
	cairn_lazy_stop(lane);
	kthread_stop(lane->task);
	hrtimer_cancel(&lane->timer);
	lane_free(lane);
}

void cairn_lanes_stop(void)
{
	while (started)
		lane_destroy(lanes[--started]);
	cairn_late_stop();
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
	cairn_late_start();
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
