// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a lane polls a process, and when the process has to ring the doorbell.
 */
#include "lane_watch.h"

static void idle_time_passes(void)
{
	struct owner *owner = &all_owners[0];
	int i;

	begin_test();
	open_awake(owner, &all_queues[0]);
	/* Not while the lane has work for others. */
	clock_ns += 1000 * US;
	lane_go(false);
	ktap_eq(owner->wake, 0);
	post_one(&all_queues[0]);
	lane_go(true);
	ktap_eq(all_queues[0].turns, 1);
	clock_ns += 50 * US - 1;
	lane_go(true);
	ktap_eq(owner->wake, 0);
	ktap_eq(count_of(CAIRN_CTR_LANE_SLEEPS), 0);
	clock_ns++;
	lane_go(true);
	ktap_eq(owner->wake, 1);
	ktap_ok(!is_active());
	ktap_eq(count_of(CAIRN_CTR_LANE_SLEEPS), 1);
	/* It posted: the next doorbell has it polled again. */
	ktap_ok(post_one(&all_queues[0]));
	ktap_ok(is_active());
	ktap_eq(owner->wake, 1);
	lane_go(true);
	ktap_eq(owner->wake, 0);
	ktap_eq(count_of(CAIRN_CTR_LANE_WAKEUPS), 2);
	/* Each post begins the time anew. */
	for (i = 0; i < 10; i++) {
		clock_ns += 49 * US;
		ktap_ok(!post_one(&all_queues[0]));
		lane_go(true);
	}
	ktap_ok(is_active());
	close_one(owner, &all_queues[0]);
	end_test();
}

/* A thread that has slept posts: the watch does not become lazy. */
static bool post_after_sleep(struct queue *queue)
{
	test_task.nvcsw++;
	return post_one(queue);
}

/* After activity without a post the next waits: @ms of them, the last for ever. */
static void expect_quiet(const u32 *ms, int n, int more)
{
	struct queue *queue = &all_queues[0];
	int i;

	for (i = 0; i < n + more; i++) {
		ktap_ok(is_active());
		lane_go(true);
		clock_ns += cpu_alone ? 50 * US : 0;
		lane_go(true);
		if (!ktap_ok(!is_active()))
			return;
		clock_ns += ms[min(i, n - 1)] * MS - 1;
		ktap_ok(post_after_sleep(queue));
		ktap_ok(!is_active());
		clock_ns++;
		ktap_ok(post_after_sleep(queue));
	}
}

static const u32 quiet_ms[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

static void quiet_for_longer(void)
{
	struct queue *queue = &all_queues[0];

	begin_test();
	open_awake(&all_owners[0], queue);
	expect_quiet(quiet_ms, 8, 3);
	/* One that is found makes good for all. */
	lane_go(true);
	ktap_ok(!post_one(queue));
	lane_go(true);
	clock_ns += 50 * US;
	lane_go(true);
	ktap_ok(!is_active());
	ktap_ok(post_one(queue));
	expect_quiet(quiet_ms, 8, 0);
	close_one(&all_owners[0], queue);
	end_test();
}

/* Where others want the CPU: no flag is lowered, and up to 8 ms. */
static void quiet_beside_others(void)
{
	struct queue *queue = &all_queues[0];

	begin_test();
	cpu_alone = false;
	open_owner(&all_owners[0]);
	join_queue(&all_owners[0], queue, 0);
	post_one(queue);
	expect_quiet(quiet_ms, 4, 3);
	ktap_eq(all_owners[0].wake, 1);
	ktap_eq(count_of(CAIRN_CTR_LANE_WAKEUPS), 0);
	ktap_eq(count_of(CAIRN_CTR_LANE_SLEEPS), 0);
	/* From 128 ms back to 8. */
	cpu_alone = true;
	expect_quiet(quiet_ms + 3, 5, 1);
	cpu_alone = false;
	lane_go(true);
	clock_ns += 128 * MS;
	post_after_sleep(queue);
	lane_go(true);
	clock_ns += 8 * MS - 1;
	post_after_sleep(queue);
	ktap_ok(!is_active());
	clock_ns++;
	post_after_sleep(queue);
	ktap_ok(is_active());
	close_one(&all_owners[0], queue);
	end_test();
}

/* Whatever the idle time is. */
static void idle_time_of_all_kinds(void)
{
	static const u32 times[] = { 0, 1, 7, CAIRN_IDLE_US, CAIRN_IDLE_MAX_US };
	struct queue *queue = &all_queues[0];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		begin_test();
		test_nic.idle_us = times[i];
		open_owner(&all_owners[0]);
		join_queue(&all_owners[0], queue, 0);
		ktap_ok(post_one(queue));
		ktap_eq(is_active(), !!times[i]);
		lane_go(false);
		ktap_eq(all_owners[0].wake, !times[i]);
		if (times[i]) {
			clock_ns += times[i] * US - 1;
			lane_go(true);
			ktap_eq(all_owners[0].wake, 0);
			clock_ns++;
			lane_go(true);
		}
		ktap_eq(all_owners[0].wake, 1);
		ktap_ok(!is_active());
		close_one(&all_owners[0], queue);
		end_test();
	}
}

/* It changes while the watch is awake: to nothing, too. */
static void idle_time_changes(void)
{
	begin_test();
	test_nic.idle_us = 1000000;
	open_awake(&all_owners[0], &all_queues[0]);
	clock_ns += 1000 * US;
	lane_go(true);
	ktap_eq(all_owners[0].wake, 0);
	test_nic.idle_us = 0;
	lane_go(true);
	ktap_eq(all_owners[0].wake, 1);
	close_one(&all_owners[0], &all_queues[0]);
	end_test();
}

static void one_cpu(void)
{
	begin_test();
	cpus_online = 1;
	open_owner(&all_owners[0]);
	join_queue(&all_owners[0], &all_queues[0], 0);
	ktap_ok(post_one(&all_queues[0]));
	ktap_ok(!is_active());
	close_one(&all_owners[0], &all_queues[0]);
	end_test();
}

/* The lane's thread is woken by the first doorbell, and once. */
static void thread_is_woken_once(void)
{
	begin_test();
	open_owner(&all_owners[0]);
	join_queue(&all_owners[0], &all_queues[0], 0);
	test_lane.wake.sleeper = true;
	post_one(&all_queues[0]);
	post_one(&all_queues[0]);
	ktap_eq(test_lane.wake.woken, 1);
	ktap_eq(all_queues[0].seen, 2);
	close_one(&all_owners[0], &all_queues[0]);
	end_test();
}

/* Other tasks need the CPU: an owner without a post since the last time goes to sleep. */
static void rest_of_the_quiet(void)
{
	int i;

	begin_test();
	for (i = 0; i < 4; i++)
		open_awake(&all_owners[i], &all_queues[i]);
	post_one(&all_queues[1]);
	post_one(&all_queues[3]);
	lane_go(false);
	ktap_ok(!lane_rest(true));
	for (i = 0; i < 4; i++)
		ktap_eq(all_owners[i].wake, i % 2 == 0);
	post_one(&all_queues[3]);
	lane_go(false);
	ktap_ok(!lane_rest(true));
	ktap_eq(all_owners[1].wake, 1);
	ktap_eq(all_owners[3].wake, 0);
	/* A post that was not found yet counts as well. */
	ktap_ok(!post_one(&all_queues[3]));
	ktap_ok(!lane_rest(true));
	ktap_eq(all_owners[3].wake, 0);
	lane_go(false);
	ktap_eq(all_queues[3].seen, all_queues[3].written);
	ktap_ok(!lane_rest(true));
	ktap_eq(all_owners[3].wake, 0);
	ktap_ok(!lane_rest(true));
	ktap_eq(all_owners[3].wake, 1);
	ktap_ok(!is_active());
	/* They posted while they were awake: the next doorbell counts. */
	ktap_ok(post_one(&all_queues[3]));
	ktap_ok(is_active());
	for (i = 0; i < 4; i++)
		close_one(&all_owners[i], &all_queues[i]);
	end_test();
}

/* In parts, with the lock free in between; each of them once. */
static void rest_of_many(void)
{
	u32 i, calls, asleep, before;
	bool more = true;

	begin_test();
	for (i = 0; i < OWNERS; i++)
		open_awake(&all_owners[i], &all_queues[i]);
	for (i = 0; i < OWNERS; i++)
		post_one(&all_queues[i]);
	for (i = 0; i < 10; i++)
		lane_go(false);
	for (calls = 0; more && calls < 10; calls++)
		more = lane_rest(!calls);
	ktap_eq(calls, 3);
	for (i = 0; i < OWNERS; i++)
		ktap_eq(all_owners[i].wake, 0);
	for (calls = before = 0, more = true; more && calls < 10; calls++) {
		more = lane_rest(!calls);
		for (i = asleep = 0; i < OWNERS; i++)
			asleep += all_owners[i].wake;
		ktap_eq(asleep - before, min(OWNERS - before, LINES + 0U));
		before = asleep;
	}
	ktap_eq(calls, 3);
	ktap_ok(!is_active());
	for (i = 0; i < OWNERS; i++)
		close_one(&all_owners[i], &all_queues[i]);
	end_test();
}

static bool posted_meanwhile, must_ring;

/* The doorbell waits for the lane's lock. */
static void post_meanwhile(void)
{
	posted_meanwhile = true;
	all_queues[0].written++;
	mark_ready(&all_owners[0], 0);
	must_ring = all_owners[0].wake;
}

/* A post at any moment of falling asleep: it rings, or it is found. */
static void post_while_it_falls_asleep(void)
{
	struct queue *queue = &all_queues[0];
	int at = -1;

	do {
		at++;
		begin_test();
		open_awake(&all_owners[0], queue);
		clock_ns += 50 * US;
		posted_meanwhile = false;
		must_ring = false;
		reads_before = at;
		do_meanwhile = post_meanwhile;
		lane_go(true);
		do_meanwhile = NULL;
		if (must_ring)
			ring_bell(queue);
		lane_go(true);
		ktap_eq(queue->seen, queue->written);
		close_one(&all_owners[0], queue);
		end_test();
	} while (posted_meanwhile);
	ktap_ok(at >= 2);
}

static const struct ktap_test tests[] = {
	KTAP(idle_time_passes),
	KTAP(quiet_for_longer),
	KTAP(quiet_beside_others),
	KTAP(idle_time_of_all_kinds),
	KTAP(idle_time_changes),
	KTAP(one_cpu),
	KTAP(thread_is_woken_once),
	KTAP(rest_of_the_quiet),
	KTAP(rest_of_many),
	KTAP(post_while_it_falls_asleep),
};

KTAP_MAIN(tests)
