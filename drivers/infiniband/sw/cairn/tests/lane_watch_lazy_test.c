// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When posts wait for a poll of the process, as its lane has to share a CPU, and that they
 * are found: by the doorbell for all of them, or by the lazy thread.
 */
#include "lane_watch.h"

static void open_on_one_cpu(struct owner *owner, struct queue *queue)
{
	cpus_online = 1;
	open_owner(owner);
	join_queue(owner, queue, 0);
}

/* An owner with one queue, lazy: nothing is posted. */
static void open_lazy(struct owner *owner, struct queue *queue)
{
	open_on_one_cpu(owner, queue);
	ktap_ok(post_one(queue));
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
}

/* The lazy thread has the CPU. Return: whether it woke the lane. */
static bool lazy_thread_runs(void)
{
	bool found;

	spin_lock(&test_lane.lock);
	found = cairn_watches_end_lazy(&test_lane);
	while (lane_turn())
		;
	spin_unlock(&test_lane.lock);
	return found;
}

/* CAIRN_DOORBELL_ALL. Return: the number of queues that it serves. */
static u32 ring_all(struct owner *owner)
{
	struct cairn_exec *exec[64];
	u32 i, num, sum = 0;
	bool more;

	do {
		spin_lock(&test_lane.lock);
		more = cairn_watch_take_word(owner->watch, exec, &num);
		spin_unlock(&test_lane.lock);
		for (i = 0; i < num; i++) {
			struct queue *queue = container_of(exec[i], struct queue, exec);

			ktap_ok(queue->owner == owner);
			/* so that it is not freed: the lock has been released */
			ktap_eq(exec[i]->running, 1);
			exec[i]->running--;
			queue->seen = queue->written;
		}
		sum += num;
	} while (more);
	return sum;
}

/* --- when --- */

static void second_doorbell(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_on_one_cpu(owner, queue);
	test_lane.lazy_wake.sleeper = true;
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	/* It sleeps between two posts: both ring. */
	test_task.nvcsw++;
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	/* So do those of two threads in turns. */
	test_task.pid++;
	ktap_ok(post_one(queue));
	test_task.pid--;
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	ktap_eq(test_lane.lazy_wake.woken, 0);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	ktap_eq(test_lane.lazy_wake.woken, 1);
	ktap_eq(queue->seen, queue->written);
	ktap_ok(!post_one(queue));
	ktap_eq(queue->seen, queue->written - 1);
	ktap_ok(!is_active());
	ktap_eq(ring_all(owner), 1);
	close_one(owner, queue);
	end_test();
}

/* With a CPU of its own the lane polls. Beside others, the watch is lazy. */
static void crowded_lane(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_owner(owner);
	join_queue(owner, queue, 0);
	post_one(queue);
	post_one(queue);
	ktap_ok(is_active());
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	/* Polled in vain, and quiet: each post rings. */
	lane_go(true);
	clock_ns += 50 * US;
	lane_go(true);
	ktap_ok(!is_active());
	post_one(queue);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	/* Others want the CPU. */
	clock_ns += 128 * MS;
	cpu_alone = false;
	post_one(queue);
	ktap_ok(is_active());
	lane_go(true);
	ktap_ok(!is_active());
	/* Doorbells count from here on. */
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	/* The lazy thread shares a CPU, too. */
	ktap_ok(!lazy_thread_runs());
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	/* It finds one where it is alone, so there is one for the lane. */
	cpu_alone = true;
	ktap_ok(!lazy_thread_runs());
	post_one(queue);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	/* Crowded, and then the lane is alone. */
	cpu_alone = false;
	clock_ns += 128 * MS;
	post_one(queue);
	lane_go(true);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	ktap_ok(!lazy_thread_runs());
	clock_ns += 128 * MS;
	cpu_alone = true;
	post_one(queue);
	lane_go(true);
	ktap_eq(owner->wake, CAIRN_LANE_AWAKE);
	clock_ns += 50 * US;
	lane_go(true);
	/* Quiet as nothing was posted: each post rings. */
	post_one(queue);
	ktap_ok(post_one(queue));
	ktap_ok(!is_active());
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	close_one(owner, queue);
	end_test();
}

/* A lazy watch becomes awake: what waits is found, and the lazy thread has nothing to do. */
static void lazy_then_awake(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_lazy(owner, queue);
	ktap_ok(!post_one(queue));
	cpus_online = 2;
	/* as a host that does not know the state does */
	ring_bell(queue);
	ktap_ok(is_active());
	ktap_ok(!post_one(queue));
	lane_go(true);
	ktap_eq(owner->wake, CAIRN_LANE_AWAKE);
	ktap_ok(list_empty(&test_lane.lazy));
	ktap_eq(queue->seen, queue->written);
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_AWAKE);
	close_one(owner, queue);
	end_test();
}

static void never_lazy(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_on_one_cpu(owner, queue);
	test_task.prio = MAX_RT_PRIO - 1;
	post_one(queue);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	test_task.prio = MAX_RT_PRIO;
	/* Every post rings where the administrator says so. */
	test_nic.idle_us = 0;
	post_one(queue);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	test_nic.idle_us = 1;
	ktap_ok(post_one(queue));
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	close_one(owner, queue);
	end_test();
}

/* --- that posts are found --- */

static void thread_finds_posts(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_lazy(owner, queue);
	ktap_ok(!post_one(queue));
	ktap_ok(!post_one(queue));
	ktap_ok(lazy_thread_runs());
	ktap_eq(queue->turns, 1);
	ktap_eq(queue->seen, queue->written);
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	ktap_ok(list_empty(&test_lane.lazy));
	/* the process has slept meanwhile */
	test_task.nvcsw++;
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	close_one(owner, queue);
	end_test();
}

/* Ids on the borders of words and pages; bits of no queue; each post once. */
static void all_are_taken(void)
{
	static const u32 ids[] = { 0, 1, 63, 64, 65, 127, 4095, 4096, 4160, 8191 };
	struct queue *many = calloc(8192, sizeof(*many));
	struct owner *owner = &all_owners[0], *other = &all_owners[1];
	u32 i;

	begin_test();
	cpus_online = 1;
	open_owner(owner);
	for (i = 0; i < 8192; i++)
		join_queue(owner, &many[i], i);
	open_lazy(other, &all_queues[1]);
	post_one(&many[0]);
	post_one(&many[0]);
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	ktap_eq(ring_all(owner), 0);
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		ktap_ok(!post_one(&many[ids[i]]));
	ktap_ok(!post_one(&all_queues[1]));
	ktap_eq(ring_all(owner), ARRAY_SIZE(ids));
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		ktap_eq(many[ids[i]].seen, many[ids[i]].written);
	ktap_eq(ring_all(owner), 0);
	ktap_eq(all_queues[1].seen, all_queues[1].written - 1);
	ktap_eq(ring_all(other), 1);
	leave_queue(&many[5]);
	leave_queue(&many[70]);
	set_bits(&owner->page[0]->words[0], BIT_ULL(5) | BIT_ULL(6));
	set_bits(&owner->page[0]->words[1], BIT_ULL(6));
	set_bits(&owner->page[0]->summary, 3);
	ktap_eq(ring_all(owner), 1);
	for (i = 0; i < 8192; i++)
		if (i != 5 && i != 70)
			leave_queue(&many[i]);
	memset(owner->page[0], 0xff, sizeof(*owner->page[0]));
	ktap_eq(ring_all(owner), 0);
	close_owner(owner);
	close_one(other, &all_queues[1]);
	end_test();
	free(many);
}

/* Bits of words without queues stand for none of those that are there. */
static void words_of_no_queue(void)
{
	struct owner *owner = &all_owners[0];

	begin_test();
	open_lazy(owner, &all_queues[0]);
	set_bits(&owner->page[0]->words[5], ~0ULL);
	set_bits(&owner->page[0]->summary, BIT_ULL(5));
	ktap_eq(ring_all(owner), 0);
	close_one(owner, &all_queues[0]);
	end_test();
}

/* A lazy owner whose CPU others want, too. */
static void open_beside_others(struct owner *owner, struct queue *queue)
{
	open_lazy(owner, queue);
	cpu_alone = false;
}

/* Posts were late: doorbells do not make the owner lazy. */
static void expect_doorbells(struct queue *queue)
{
	ktap_ok(post_one(queue));
	ktap_ok(post_one(queue));
	ktap_eq(queue->owner->wake, CAIRN_LANE_ASLEEP);
}

/* The lazy thread has the CPU, but the process has not slept: it rings for its posts. */
static void process_runs(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_beside_others(owner, queue);
	test_task.running = true;
	ktap_ok(test_lane.lazy_due);
	clock_ns += MS;
	ktap_ok(!lazy_thread_runs());
	ktap_ok(!test_lane.lazy_due);
	ktap_ok(!post_one(queue));
	ktap_eq(ring_all(owner), 1);
	ktap_ok(!post_one(queue));
	clock_ns += MS - 1;
	ktap_ok(!lazy_thread_runs());
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	ktap_eq(queue->seen, queue->written - 1);
	/* It sleeps. */
	test_task.running = false;
	ktap_ok(lazy_thread_runs());
	ktap_eq(queue->seen, queue->written);
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	/* It is lazy again. */
	post_one(queue);
	post_one(queue);
	test_task.running = true;
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	close_one(owner, queue);
	/* It computes: nothing waits, but others cannot know for how long. */
	open_lazy(owner, queue);
	ktap_eq(ring_all(owner), 0);
	clock_ns += 8 * MS - 1;
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	clock_ns++;
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	close_one(owner, queue);
	/* An idle CPU: the lane could poll. */
	open_lazy(owner, queue);
	test_task.running = true;
	cpu_alone = true;
	ktap_ok(!lazy_thread_runs());
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	close_one(owner, queue);
	end_test();
}

/* ... or it does not, though it had the CPU between two looks of the thread. */
static void process_does_not_ring(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_beside_others(owner, queue);
	test_task.running = true;
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	ktap_ok(!lazy_thread_runs());
	/* It rings: the next post waits for two looks, too. */
	ktap_eq(ring_all(owner), 1);
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	ktap_ok(!lazy_thread_runs());
	test_task.nivcsw++;
	ktap_ok(lazy_thread_runs());
	ktap_eq(queue->seen, queue->written);
	expect_doorbells(queue);
	clock_ns += MS;
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	close_one(owner, queue);
	end_test();
}

/* Posts that waited because others had the CPU do not count against the process. */
static void process_is_preempted(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_beside_others(owner, queue);
	ktap_ok(!post_one(queue));
	clock_ns += 10 * MS;
	test_task.nivcsw++;
	ktap_ok(lazy_thread_runs());
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	/* It was preempted before it rang: that does not count for posts behind. */
	test_task.nivcsw++;
	ktap_eq(ring_all(owner), 0);
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	ktap_ok(lazy_thread_runs());
	expect_doorbells(queue);
	close_one(owner, queue);
	end_test();
}

/* Nor do they if it waited for the CPU at both looks. */
static void process_waits_for_the_cpu(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_beside_others(owner, queue);
	test_task.running = true;
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	test_task.nivcsw++;
	ktap_ok(!lazy_thread_runs());
	ktap_ok(lazy_thread_runs());
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	/* On another CPU, which it has to itself, it could ring. */
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	ktap_ok(!lazy_thread_runs());
	ktap_ok(lazy_thread_runs());
	expect_doorbells(queue);
	close_one(owner, queue);
	end_test();
}

/* Another thread rings for all. How often it was preempted says nothing about the poster. */
static void other_thread_rings(void)
{
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];

	begin_test();
	open_beside_others(owner, queue);
	test_task.pid++;
	test_task.nivcsw = 5;
	ktap_eq(ring_all(owner), 0);
	test_task.pid--;
	test_task.nivcsw = 0;
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	ktap_ok(lazy_thread_runs());
	expect_doorbells(queue);
	close_one(owner, queue);
	end_test();
}

/* Watches that stay lazy do not keep the thread from others. */
static void process_sleeps_behind_others(void)
{
	u32 i, calls = 0;

	begin_test();
	for (i = 0; i < OWNERS; i++) {
		test_task.pid = i < OWNERS - 1 ? 100 : 1;
		open_lazy(&all_owners[i], &all_queues[i]);
	}
	ktap_ok(!post_one(&all_queues[OWNERS - 1]));
	cpu_alone = false;
	test_task.pid = 100;
	test_task.running = true;
	while (all_owners[OWNERS - 1].wake == CAIRN_LANE_LAZY && calls++ < 10)
		lazy_thread_runs();
	ktap_ok(calls * LINES >= OWNERS && calls < 10);
	ktap_eq(all_queues[OWNERS - 1].seen, all_queues[OWNERS - 1].written);
	ktap_eq(all_owners[OWNERS - 1].wake, CAIRN_LANE_ASLEEP);
	for (i = 0; i < OWNERS; i++) {
		ktap_eq(all_owners[i].wake, i < OWNERS - 1 ? CAIRN_LANE_LAZY :
							     CAIRN_LANE_ASLEEP);
		close_one(&all_owners[i], &all_queues[i]);
	}
	end_test();
}

/* As for a poll of the lane: about so many cache lines in one go. */
static void thread_is_bounded(void)
{
	u32 i, calls = 0;

	begin_test();
	for (i = 0; i < OWNERS; i++)
		open_lazy(&all_owners[i], &all_queues[i]);
	for (i = 0; i < OWNERS; i++)
		ktap_ok(!post_one(&all_queues[i]));
	while (!list_empty(&test_lane.lazy) && calls < 100) {
		u32 before = 0, after = 0;

		for (i = 0; i < OWNERS; i++)
			before += all_queues[i].turns;
		ktap_ok(lazy_thread_runs());
		for (i = 0; i < OWNERS; i++)
			after += all_queues[i].turns;
		ktap_ok(after - before <= LINES);
		calls++;
	}
	for (i = 0; i < OWNERS; i++) {
		ktap_eq(all_queues[i].seen, all_queues[i].written);
		ktap_eq(all_owners[i].wake, CAIRN_LANE_ASLEEP);
		close_one(&all_owners[i], &all_queues[i]);
	}
	ktap_ok(calls * LINES >= OWNERS);
	end_test();
}

/* A map whose end the thread does not see in one go: its watch stays, and goes on there. */
static void thread_goes_on(void)
{
	struct queue *many = calloc(16384, sizeof(*many));
	struct owner *owner = &all_owners[0];
	u32 i, calls = 0;

	begin_test();
	cpus_online = 1;
	open_owner(owner);
	for (i = 0; i < 16384; i++)
		join_queue(owner, &many[i], i);
	post_one(&many[0]);
	post_one(&many[0]);
	for (i = 64; i < 16384; i += 64)
		ktap_ok(!post_one(&many[i]));
	while (!list_empty(&test_lane.lazy) && calls++ < 10) {
		ktap_ok(lazy_thread_runs());
		ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
		/* Now it runs, but the laziness has begun to end. */
		test_task.running = true;
		cpu_alone = false;
	}
	ktap_ok(calls > 1 && calls < 10);
	for (i = 0; i < 16384; i++) {
		ktap_eq(many[i].seen, many[i].written);
		leave_queue(&many[i]);
	}
	close_owner(owner);
	end_test();
	free(many);
}

/* The lane slept before it had polled the end of the map: the thread looks at all of it. */
static void thread_sees_all_pages(void)
{
	struct queue *many = calloc(8193, sizeof(*many));
	struct owner *owner = &all_owners[0];
	u32 i;

	begin_test();
	open_owner(owner);
	for (i = 0; i < 8193; i++)
		join_queue(owner, &many[i], i);
	ktap_ok(post_one(&many[0]));
	lane_poll(false);
	ktap_eq(owner->wake, CAIRN_LANE_AWAKE);
	/* doorbells take the bits of the words only */
	set_bits(&owner->page[0]->summary, ~0ULL);
	set_bits(&owner->page[1]->summary, ~0ULL);
	lane_poll(false);
	ktap_ok(!lane_rest(true));
	ktap_eq(owner->wake, CAIRN_LANE_ASLEEP);
	cpus_online = 1;
	post_one(&many[0]);
	post_one(&many[0]);
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	ktap_ok(!post_one(&many[0]));
	ktap_ok(lazy_thread_runs());
	ktap_eq(many[0].seen, many[0].written);
	for (i = 0; i < 8193; i++)
		leave_queue(&many[i]);
	close_owner(owner);
	end_test();
	free(many);
}

static bool posted_meanwhile, waits;

/* As the provider does. The doorbell waits for the lane's lock. */
static void post_meanwhile(void)
{
	posted_meanwhile = true;
	all_queues[0].written++;
	mark_ready(&all_owners[0], 0);
	waits = all_owners[0].wake == CAIRN_LANE_LAZY;
}

/* A post at any moment of the thread's run rings, or it is found. */
static void post_while_laziness_ends(void)
{
	struct queue *queue = &all_queues[0];
	int at = -1;

	do {
		at++;
		begin_test();
		open_lazy(&all_owners[0], queue);
		posted_meanwhile = false;
		waits = true;
		reads_before = at;
		do_meanwhile = post_meanwhile;
		lazy_thread_runs();
		do_meanwhile = NULL;
		if (!waits)
			ring_bell(queue);
		ktap_eq(queue->seen, queue->written);
		close_one(&all_owners[0], queue);
		end_test();
	} while (posted_meanwhile);
	ktap_ok(at >= 1);
}

/* The process ends while posts wait. */
static void closed_while_lazy(void)
{
	begin_test();
	open_lazy(&all_owners[0], &all_queues[0]);
	ktap_ok(!post_one(&all_queues[0]));
	close_one(&all_owners[0], &all_queues[0]);
	ktap_ok(!lazy_thread_runs());
	end_test();
}

/* --- what laziness may cost --- */

/* Posts waited for the thread: the next doorbells ring for @ms. */
static void expect_eager(struct queue *queue, u32 ms)
{
	ktap_ok(!post_one(queue));
	clock_ns += MS;
	ktap_ok(lazy_thread_runs());
	clock_ns += ms * MS - 1;
	expect_doorbells(queue);
	clock_ns++;
	ktap_ok(post_one(queue));
	ktap_eq(queue->owner->wake, CAIRN_LANE_LAZY);
}

static void late_posts(void)
{
	static const u32 ms[] = { 1, 2, 4, 8, 16, 32, 64, 128, 128, 128 };
	struct owner *owner = &all_owners[0];
	struct queue *queue = &all_queues[0];
	u32 i;

	begin_test();
	open_lazy(owner, queue);
	for (i = 0; i < ARRAY_SIZE(ms); i++)
		expect_eager(queue, ms[i]);
	/* Less than a millisecond is not late, and makes nothing good. */
	clock_ns += MS - 1;
	ktap_ok(!post_one(queue));
	ktap_ok(lazy_thread_runs());
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	expect_eager(queue, 128);
	/* Nothing waits: that makes good for all. */
	ktap_ok(!lazy_thread_runs());
	ktap_ok(post_one(queue));
	expect_eager(queue, 1);
	/* Nor is a post late when the process has rung meanwhile. */
	clock_ns += 100 * MS;
	ktap_ok(!post_one(queue));
	ktap_eq(ring_all(owner), 1);
	clock_ns += MS - 1;
	ktap_ok(!post_one(queue));
	ktap_ok(lazy_thread_runs());
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	/* Nothing waits, however long that takes. */
	clock_ns += 100 * MS;
	ktap_ok(!lazy_thread_runs());
	ktap_ok(post_one(queue));
	ktap_eq(owner->wake, CAIRN_LANE_LAZY);
	close_one(owner, queue);
	end_test();
}

static const struct ktap_test tests[] = {
	KTAP(second_doorbell),
	KTAP(crowded_lane),
	KTAP(lazy_then_awake),
	KTAP(never_lazy),
	KTAP(thread_finds_posts),
	KTAP(all_are_taken),
	KTAP(words_of_no_queue),
	KTAP(process_runs),
	KTAP(process_does_not_ring),
	KTAP(process_is_preempted),
	KTAP(process_waits_for_the_cpu),
	KTAP(other_thread_rings),
	KTAP(process_sleeps_behind_others),
	KTAP(thread_is_bounded),
	KTAP(thread_goes_on),
	KTAP(thread_sees_all_pages),
	KTAP(post_while_laziness_ends),
	KTAP(closed_while_lazy),
	KTAP(late_posts),
};

KTAP_MAIN(tests)
