// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The doorbell for all posts: how it runs queues, and what it leaves to the lane. */
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <uapi/linux/sched/types.h>
#include "engine/env.h"
#include "lane/lazy.h"
#include "lane_watch.h"

#define MANY		8400	/* queues, of more than 128 words */
#define ROUND_BYTES	(CAIRN_TRAIN_BYTES - 2048)

static struct queue *many;
static struct owner *owner = &all_owners[0];
static s32 bytes_each;			/* that a run sends */
static s32 round_left;			/* of the bytes of a round */
static u32 runs, left_to_lane, plugs;
static bool plugged;
static void (*between_words)(void);
static struct task_struct lazy_task;
static int (*lazy_function)(void *);
static int waits_left;			/* before the thread ends */
static s64 waited;			/* the last wait's time */
static bool had_work;			/* at its begin */
static int thread_err, stops;

/* --- what lane/lazy.c calls --- */

void cairn_env_plug(void)
{
	ktap_ok(!plugged);
	plugged = true;
	plugs++;
	round_left = ROUND_BYTES;
}

void cairn_env_unplug(void)
{
	ktap_ok(plugged);
	plugged = false;
}

void cairn_exec_serve(struct cairn_exec *exec, enum cairn_side_id side, u32 rx,
		      struct cairn_budget *tx)
{
	ktap_ok(plugged);
	ktap_eq(side, CAIRN_REQ);
	ktap_eq(tx->bytes, round_left);
	round_left -= bytes_each;
	/* else it may be freed */
	ktap_eq(exec->running, 1);
	tx->bytes -= bytes_each;
	runs++;
}

void cairn_lane_ready(struct cairn_exec *exec, enum cairn_side_id side)
{
	ktap_eq(side, CAIRN_REQ);
	ktap_eq(exec->running, 1);
	left_to_lane++;
}

void cairn_lane_put_running(struct cairn_lane *lane, struct cairn_exec *exec)
{
	lockdep_assert_held(&lane->lock);
	exec->running--;
}

void cond_resched(void)
{
	if (between_words)
		between_words();
}

struct task_struct *kthread_create_on_node(int (*function)(void *), void *data, int node,
					   const char *name, ...)
{
	ktap_ok(data == &test_lane);
	lazy_function = function;
	return thread_err ? ERR_PTR(thread_err) : &lazy_task;
}

int sched_setattr_nocheck(struct task_struct *task, const struct sched_attr *attr)
{
	ktap_eq(attr->size, sizeof(*attr));
	ktap_eq(attr->sched_policy, SCHED_BATCH);
	return 0;
}

void wake_up_process(struct task_struct *task)
{
	ktap_ok(task == &lazy_task);
}

bool kthread_should_stop(void)
{
	return !waits_left;
}

int shim_wait(bool condition, s64 timeout)
{
	waited = timeout;
	had_work = condition;
	waits_left--;
	return 0;
}

int kthread_stop(struct task_struct *task)
{
	ktap_ok(task == &lazy_task);
	stops++;
	return 0;
}

/* --- */

static void open_many(void)
{
	u32 i;

	begin_test();
	many = calloc(MANY, sizeof(*many));
	open_owner(owner);
	for (i = 0; i < MANY; i++)
		join_queue(owner, &many[i], i);
	runs = 0;
	left_to_lane = 0;
	plugs = 0;
	bytes_each = 1;
	between_words = NULL;
}

static void close_many(void)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		leave_queue(&many[i]);
	close_owner(owner);
	end_test();
	free(many);
}

/* Posts to queues of one word leave in one train. Another context is not touched. */
static void serves_all(void)
{
	struct owner *other = &all_owners[1];
	u32 i;

	open_many();
	open_owner(other);
	join_queue(other, &all_queues[0], 0);
	mark_ready(other, 0);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 0);
	for (i = 0; i < 100; i++)
		mark_ready(owner, i);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 100);
	ktap_eq(plugs, 2);
	ktap_eq(left_to_lane, 0);
	ktap_eq(count_of(CAIRN_CTR_POLLED_POSTS), 100);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 100);
	cairn_lazy_serve(other->watch);
	ktap_eq(runs, 101);
	close_one(other, &all_queues[0]);
	close_many();
}

/* Soft interrupts are off for the bytes of a round, and the lane serves the others. */
static void bytes_are_bounded(void)
{
	u32 i;

	open_many();
	bytes_each = ROUND_BYTES / 2;
	for (i = 0; i < 64; i++)
		mark_ready(owner, i);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 2);
	ktap_eq(left_to_lane, 62);
	bytes_each = ROUND_BYTES + 1;
	for (i = 0; i < 64; i++)
		mark_ready(owner, i);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 3);
	ktap_eq(left_to_lane, 62 + 63);
	close_many();
}

static void mark_first(void)
{
	mark_ready(owner, 0);
}

/* One call ends, whatever the process writes meanwhile. */
static void words_are_bounded(void)
{
	u32 i;

	open_many();
	for (i = 0; i < MANY; i += 64)
		mark_ready(owner, i);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 128);
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, MANY / 64 + 1);
	runs = 0;
	between_words = mark_first;
	mark_first();
	cairn_lazy_serve(owner->watch);
	ktap_eq(runs, 128);
	between_words = NULL;
	close_many();
}

/* --- events --- */

struct event {
	struct cairn_lazy_event lazy;
	u32 raised;
	bool again;			/* it is deferred again when it is raised */
};

static void raise_event(struct cairn_lazy_event *lazy)
{
	struct event *event = container_of(lazy, struct event, lazy);

	ktap_ok(list_empty(&lazy->list));
	event->raised++;
	if (event->again)
		cairn_lazy_defer(&test_lane, lazy);
}

static struct event *new_event(void)
{
	struct event *event = calloc(1, sizeof(*event));

	cairn_lazy_event_init(&event->lazy, raise_event);
	return event;
}

/* The thread runs and waits, so many times. */
static void thread_runs(int times)
{
	cairn_lazy_start(&test_lane, 0);
	waits_left = times;
	lazy_function(&test_lane);
}

static void events_while_lazy(void)
{
	begin_test();
	ktap_ok(!cairn_lazy_may_defer(&test_lane));
	cpus_online = 1;
	open_owner(owner);
	join_queue(owner, &all_queues[0], 0);
	post_one(&all_queues[0]);
	post_one(&all_queues[0]);
	ktap_ok(cairn_lazy_may_defer(&test_lane));
	test_task.idle = true;
	ktap_ok(!cairn_lazy_may_defer(&test_lane));
	close_one(owner, &all_queues[0]);
	end_test();
}

static void events_are_raised(void)
{
	struct event *event[2] = { new_event(), new_event() };

	begin_test();
	test_lane.lazy_wake.sleeper = true;
	cairn_lazy_defer(&test_lane, &event[0]->lazy);
	cairn_lazy_defer(&test_lane, &event[0]->lazy);
	ktap_eq(test_lane.lazy_wake.woken, 1);
	cairn_lazy_defer(&test_lane, &event[1]->lazy);
	thread_runs(1);
	ktap_ok(had_work);
	ktap_eq(event[0]->raised, 1);
	ktap_eq(event[1]->raised, 1);
	thread_runs(1);
	ktap_ok(!had_work);
	ktap_eq(event[0]->raised, 1);
	event[0]->again = true;
	cairn_lazy_defer(&test_lane, &event[0]->lazy);
	thread_runs(1);
	/* So that it looks at the watches, too. */
	ktap_eq(event[0]->raised, 1 + 64);
	event[0]->again = false;
	thread_runs(1);
	ktap_eq(event[0]->raised, 1 + 65);
	free(event[0]);
	free(event[1]);
	end_test();
}

/* Its memory is freed then. */
static void events_are_cancelled(void)
{
	struct event *event = new_event(), *never = new_event();

	begin_test();
	cairn_lazy_cancel(&never->lazy);
	free(never);
	cairn_lazy_defer(&test_lane, &event->lazy);
	cairn_lazy_cancel(&event->lazy);
	cairn_lazy_cancel(&event->lazy);
	free(event);
	thread_runs(1);
	ktap_ok(!had_work);
	end_test();
}

/* While watches are lazy the thread does not wait for a wake-up. */
static void thread_waits(void)
{
	begin_test();
	thread_runs(1);
	ktap_eq(waited, KTIME_MAX);
	ktap_ok(!had_work);
	cpus_online = 1;
	cpu_alone = false;
	test_task.running = true;
	open_owner(owner);
	join_queue(owner, &all_queues[0], 0);
	post_one(&all_queues[0]);
	post_one(&all_queues[0]);
	thread_runs(2);
	ktap_ok(!had_work);
	ktap_eq(waited, 50 * US);
	test_lane.lazy_due = true;
	thread_runs(1);
	ktap_ok(had_work);
	test_task.running = false;
	thread_runs(2);
	ktap_eq(waited, KTIME_MAX);
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	close_one(owner, &all_queues[0]);
	end_test();
}

static void thread_starts_and_stops(void)
{
	begin_test();
	thread_err = -ENOMEM;
	ktap_eq(cairn_lazy_start(&test_lane, 0), -ENOMEM);
	thread_err = 0;
	ktap_eq(cairn_lazy_start(&test_lane, 0), 0);
	cairn_lazy_stop(&test_lane);
	ktap_eq(stops, 1);
	end_test();
}

static const struct ktap_test tests[] = {
	KTAP(serves_all),
	KTAP(bytes_are_bounded),
	KTAP(words_are_bounded),
	KTAP(events_while_lazy),
	KTAP(events_are_raised),
	KTAP(events_are_cancelled),
	KTAP(thread_waits),
	KTAP(thread_starts_and_stops),
};

KTAP_MAIN(tests)
