// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a lane finds posts without a doorbell: each once, also beside processes that write
 * nonsense, that leave, or that post and leave in other threads.
 */
#include <pthread.h>
#include <sched.h>
#include "lane_watch.h"

#define THREADS		2
#define ROUNDS		2000

/* --- what is found --- */

static void each_move_once(void)
{
	struct queue *queue = &all_queues[0];
	int i;

	begin_test();
	open_owner(&all_owners[0]);
	join_queue(&all_owners[0], queue, 0);
	ktap_ok(post_one(queue));	/* rings, which runs it, and has the lane poll */
	ktap_eq(queue->seen, 1);
	lane_go(false);
	ktap_eq(queue->turns, 0);
	ktap_eq(count_of(CAIRN_CTR_LANE_WAKEUPS), 1);
	for (i = 1; i <= 100; i++) {
		ktap_ok(!post_one(queue));
		lane_go(false);
		ktap_eq(queue->turns, i);
		ktap_eq(queue->seen, queue->written);
		lane_go(false);
		ktap_eq(queue->turns, i);
	}
	/* Many moves in between: one turn, with the last. */
	for (i = 0; i < 10; i++)
		post_one(queue);
	lane_go(false);
	ktap_eq(queue->turns, 101);
	ktap_eq(queue->seen, 111);
	/* Polled more than once before the turn comes. */
	post_one(queue);
	lane_poll(false);
	post_one(queue);
	lane_poll(false);
	lane_go(false);
	ktap_eq(queue->turns, 102);
	ktap_eq(queue->seen, 113);
	/* A pointer that jumps back is the queue's own affair. */
	queue->written = 5;
	post_one(queue);
	lane_go(false);
	ktap_eq(queue->turns, 103);
	ktap_eq(queue->seen, 6);
	queue->written = ~0ULL;
	post_one(queue);
	lane_go(false);
	ktap_eq(queue->turns, 104);
	ktap_eq(queue->seen, 0);
	ktap_eq(idle_turns, 0);
	close_one(&all_owners[0], queue);
	end_test();
}

/* Another thread's post was stopped between the two stores: the bit is there, the
 * summary is not. Nothing is taken until that post goes on, or another completes it.
 */
static void summary_comes_later(void)
{
	struct queue *queue = &all_queues[0];

	begin_test();
	open_awake(&all_owners[0], queue);
	set_bits(&all_owners[0].page[0]->words[0], 1);
	queue->written++;
	lane_go(false);
	ktap_eq(queue->turns, 0);
	set_bits(&all_owners[0].page[0]->summary, 1);
	lane_go(false);
	ktap_eq(queue->turns, 1);
	ktap_eq(queue->seen, queue->written);
	set_bits(&all_owners[0].page[0]->words[0], 1);
	lane_go(false);
	ktap_eq(queue->turns, 1);
	post_one(queue);
	lane_go(false);
	ktap_eq(queue->turns, 2);
	ktap_eq(queue->seen, queue->written);
	close_one(&all_owners[0], queue);
	end_test();
}

/* Ids on the borders of words and of pages have bits of their own. */
static void every_id_its_bit(void)
{
	static const u32 ids[] = { 0, 1, 63, 64, 65, 127, 128, 4095, 4096, 4097,
				   4159, 4160, 8191, 8192 };
	const u32 num = 8193, n = ARRAY_SIZE(ids);
	struct queue *many = calloc(num, sizeof(*many));
	struct owner *owner = &all_owners[0];
	u32 i, k, turns;

	begin_test();
	open_owner(owner);
	for (i = 0; i < num; i++)
		join_queue(owner, &many[i], i);
	ktap_eq(owner->num_pages, 3);
	post_one(&many[4096]);
	lane_go(false);
	ktap_eq(owner->wake, 0);
	for (k = 0; k < n; k++) {
		ktap_ok(!post_one(&many[ids[k]]));
		for (i = 0; i < 3; i++)
			lane_go(false);
		ktap_eq(many[ids[k]].turns, 1);
	}
	for (i = turns = 0; i < num; i++)
		turns += many[i].turns;
	ktap_eq(turns, n);
	/* A doorbell takes the bit: the lane has nothing to do any more. */
	for (k = 0; k < n; k++) {
		post_one(&many[ids[k]]);
		ring_bell(&many[ids[k]]);
	}
	for (i = 0; i < 3; i++)
		lane_go(false);
	for (k = 0; k < n; k++)
		ktap_eq(many[ids[k]].turns, 1);
	for (i = 0; i < num; i++)
		leave_queue(&many[i]);
	close_owner(owner);
	end_test();
	free(many);
}

/* The lowest id that is free is the next one's, its word comes and goes with it. */
static void ids_come_back(void)
{
	static struct queue some[200];
	struct owner *owner = &all_owners[0];
	int i, allocs;

	begin_test();
	open_owner(owner);
	for (i = 0; i < 130; i++)
		join_queue(owner, &some[i], i);
	allocs = live_allocs;
	leave_queue(&some[129]);
	leave_queue(&some[128]);
	ktap_eq(live_allocs, allocs - 1);	/* the word of 128.. */
	leave_queue(&some[64]);
	leave_queue(&some[3]);
	join_queue(owner, &some[3], 3);
	join_queue(owner, &some[64], 64);
	for (i = 128; i < 200; i++)
		join_queue(owner, &some[i], i);
	/* Two of a word leave at once; then one joins before both have put. */
	for (i = 194; i < 200; i++)
		leave_queue(&some[i]);
	lane_leave(&some[192]);
	lane_leave(&some[193]);
	cairn_watch_put(owner->watch, 193);
	cairn_watch_put(owner->watch, 192);
	join_queue(owner, &some[192], 192);
	join_queue(owner, &some[193], 193);
	lane_leave(&some[192]);
	lane_leave(&some[193]);
	cairn_watch_put(owner->watch, 192);
	join_queue(owner, &some[192], 192);
	cairn_watch_put(owner->watch, 193);
	post_one(&some[0]);
	lane_go(false);
	ktap_ok(!post_one(&some[192]));
	lane_go(false);
	ktap_eq(some[192].turns, 1);
	for (i = 0; i < 193; i++)
		leave_queue(&some[i]);
	join_queue(owner, &some[0], 0);
	leave_queue(&some[0]);
	close_owner(owner);
	end_test();
}

/* Owners of one queue share words of the lane. */
static void small_owners_share(void)
{
	const int num = 130;
	int i, k;

	begin_test();
	for (i = 0; i < num; i++)
		open_awake(&all_owners[i], &all_queues[i]);
	for (i = 0; i < num; i++)
		ktap_ok(all_queues[i].exec.slot < 192);
	for (i = 0; i < num; i++) {
		post_one(&all_queues[i]);
		lane_go(false);
		lane_go(false);
		for (k = 0; k < num; k++)
			ktap_eq(all_queues[k].turns, k <= i);
	}
	for (i = 0; i < num; i++)
		close_one(&all_owners[i], &all_queues[i]);
	end_test();
}

static void kernel_queues(void)
{
	static struct queue some[70];
	int i;

	begin_test();
	test_lane.kernel = cairn_watch_create(&test_lane, NULL, NULL);
	for (i = 0; i < 70; i++) {
		memset(&some[i], 0, sizeof(some[i]));
		ktap_eq(cairn_watch_join_kernel(&some[i].exec), 0);
		ktap_eq(some[i].exec.id, i);
		ktap_ok(!some[i].exec.ready);
		spin_lock(&test_lane.lock);
		ktap_ok(cairn_lane_qp(&test_lane, some[i].exec.slot) == &some[i].exec);
		spin_unlock(&test_lane.lock);
	}
	lane_go(true);
	for (i = 0; i < 70; i++)
		leave_queue(&some[i]);
	cairn_watch_destroy(test_lane.kernel);
	end_test();
}

/* --- hostile processes --- */

/* Whatever is written into the map, only the owner's own queues get turns. */
static void bits_without_a_queue(void)
{
	static struct queue some[70], other[70];
	struct owner *evil = &all_owners[0], *good = &all_owners[1];
	u32 round, i, turns = 0;

	begin_test();
	open_owner(evil);
	open_owner(good);
	/* In turns: the loose slots of both lie side by side. */
	for (i = 0; i < 70; i++) {
		join_queue(evil, &some[i], i);
		join_queue(good, &other[i], i);
	}
	for (i = 10; i < 20; i++)
		leave_queue(&some[i]);
	post_one(&some[0]);
	post_one(&other[0]);
	lane_go(false);
	for (round = 0; round < 200; round++) {
		if (round & 1)
			ktap_rand_fill(evil->page[0], sizeof(*evil->page[0]));
		else
			memset(evil->page[0], 0xff, sizeof(*evil->page[0]));
		turns += !(round & 1);
		lane_go(false);
		lane_go(false);
		for (i = 0; i < 70; i++)
			ktap_eq(other[i].turns, 0);
		for (i = 10; i < 20; i++)
			ktap_eq(some[i].turns, 0);
	}
	ktap_ok(some[69].turns >= turns && some[69].turns < 200);
	ktap_eq(idle_turns, 0);
	post_one(&other[3]);
	lane_go(false);
	ktap_eq(other[3].turns, 1);
	for (i = 0; i < 70; i++) {
		if (i < 10 || i >= 20)
			leave_queue(&some[i]);
		leave_queue(&other[i]);
	}
	/* And when nothing is there any more. */
	memset(evil->page[0], 0xff, sizeof(*evil->page[0]));
	lane_go(false);
	ktap_eq(evil->page[0]->summary, 0);
	close_owner(evil);
	close_owner(good);
	end_test();
}

/* Bits without a queue are no posts: they keep no owner awake, and a map with no other
 * bits counts as empty.
 */
static void nonsense_is_no_post(void)
{
	struct owner *owner = &all_owners[0];
	int i;

	begin_test();
	open_awake(owner, &all_queues[0]);
	for (i = 0; i < 10 && is_active(); i++) {
		clock_ns += 10 * US;
		owner->page[0]->words[0] = ~1ULL;
		owner->page[0]->words[5] = ~0ULL;
		owner->page[0]->summary = ~0ULL;
		lane_go(true);
	}
	ktap_eq(i, 5);
	ktap_eq(owner->wake, 1);
	clock_ns += MS - 1;
	post_one(&all_queues[0]);
	ktap_ok(!is_active());
	close_one(owner, &all_queues[0]);
	end_test();
}

/* The lane writes the flag and never believes it. */
static void flag_of_nonsense(void)
{
	begin_test();
	open_awake(&all_owners[0], &all_queues[0]);
	all_owners[0].wake = 0xdeadbeef;
	lane_go(false);
	ktap_ok(is_active());
	clock_ns += 50 * US;
	lane_go(true);
	ktap_ok(!is_active());
	ktap_eq(all_owners[0].wake, 1);
	close_one(&all_owners[0], &all_queues[0]);
	end_test();
}

/* --- owners that leave --- */

/* It was found, and leaves before its turn; another has its slot then. */
static void gone_before_its_turn(void)
{
	struct owner *owner = &all_owners[0], *other = &all_owners[1];
	struct queue *queue = &all_queues[0], *next = &all_queues[1];
	u32 slot;

	begin_test();
	open_awake(owner, queue);
	slot = queue->exec.slot;
	open_owner(other);
	post_one(queue);
	lane_poll(false);
	leave_queue(queue);
	join_queue(other, next, 0);
	ktap_eq(next->exec.slot, slot);
	lane_go(false);
	ktap_eq(queue->turns, 0);
	ktap_eq(next->turns, 0);
	/* The process that left continues to post. */
	mark_ready(owner, 0);
	lane_go(false);
	ktap_eq(next->turns, 0);
	leave_queue(next);
	close_owner(owner);
	close_owner(other);
	end_test();
}

/* The same with whole words of the lane. */
static void gone_with_its_word(void)
{
	static struct queue some[65], next[65];
	struct owner *owner = &all_owners[0], *other = &all_owners[1];
	u32 slot, i;

	begin_test();
	open_owner(owner);
	open_owner(other);
	for (i = 0; i < 65; i++)
		join_queue(owner, &some[i], i);
	for (i = 0; i < 64; i++)
		join_queue(other, &next[i], i);
	post_one(&some[0]);
	lane_go(false);
	post_one(&some[64]);
	lane_poll(false);
	slot = some[64].exec.slot;
	leave_queue(&some[64]);
	lane_go(false);
	mark_ready(owner, 64);
	lane_go(false);
	join_queue(other, &next[64], 64);
	ktap_eq(next[64].exec.slot, slot);
	mark_ready(owner, 64);
	lane_go(false);
	ktap_eq(next[64].turns, 0);
	ktap_eq(some[64].turns, 0);
	/* Its id is another's now, with the bit that was left in the map. */
	owner->page[0]->words[1] = 1;
	join_queue(owner, &some[64], 64);
	lane_go(false);
	ktap_eq(some[64].turns, 0);
	ktap_ok(!post_one(&some[64]));
	lane_go(false);
	ktap_eq(some[64].turns, 1);
	for (i = 0; i < 65; i++) {
		leave_queue(&some[i]);
		leave_queue(&next[i]);
	}
	close_owner(owner);
	close_owner(other);
	end_test();
}

/* Rung, but not polled yet; and one that never had a queue. */
static void closed_before_it_is_polled(void)
{
	begin_test();
	open_owner(&all_owners[0]);
	join_queue(&all_owners[0], &all_queues[0], 0);
	post_one(&all_queues[0]);
	ktap_ok(is_active());
	close_one(&all_owners[0], &all_queues[0]);
	ktap_ok(!is_active());
	lane_go(true);
	open_owner(&all_owners[0]);
	close_owner(&all_owners[0]);
	end_test();
}

/* --- no memory, no room --- */

/* Joining as id @id fails for each allocation that it makes, and leaves nothing. */
static void join_without_memory(u32 id)
{
	struct queue *many = calloc(id + 1, sizeof(*many));
	int fails, err = -ENOMEM, before;
	u32 i;

	begin_test();
	open_owner(&all_owners[0]);
	for (i = 0; i < id; i++)
		join_queue(&all_owners[0], &many[i], i);
	before = live_allocs;
	/* Twice with the same number: what the first has got may stay. */
	for (fails = 0; err && fails < 20; fails++) {
		allocs_left = fails / 2;
		err = try_join(&all_owners[0], &many[id]);
		allocs_left = -1;
		if (err)
			ktap_eq(err, -ENOMEM);
	}
	ktap_eq(err, 0);
	ktap_eq(many[id].exec.id, id);
	/* So many as succeed at once: nothing is made twice. */
	ktap_ok(fails > 1 && live_allocs - before <= 4);
	post_one(&many[id]);
	lane_go(false);
	ktap_ok(!post_one(&many[id]));
	lane_go(false);
	ktap_eq(many[id].turns, 1);
	for (i = 0; i <= id; i++)
		leave_queue(&many[i]);
	close_owner(&all_owners[0]);
	end_test();
	free(many);
}

static void no_memory(void)
{
	begin_test();
	allocs_left = 0;
	ktap_ok(!cairn_watch_create(&test_lane, &test_nic, &all_owners[0].wake));
	allocs_left = -1;
	end_test();
	join_without_memory(0);
	join_without_memory(64);
	join_without_memory(4096);
}

static void another_joins(void)
{
	join_queue(&all_owners[1], &all_queues[1], 0);
}

/* Two owners allocate memory for the same word at once. */
static void same_word_twice(void)
{
	begin_test();
	open_owner(&all_owners[0]);
	open_owner(&all_owners[1]);
	/* Its page stays, so the next allocation is that of the word. */
	join_queue(&all_owners[0], &all_queues[0], 0);
	leave_queue(&all_queues[0]);
	alloc_meanwhile = another_joins;
	join_queue(&all_owners[0], &all_queues[0], 0);
	ktap_ok(all_queues[0].exec.slot / 64 == all_queues[1].exec.slot / 64);
	close_one(&all_owners[0], &all_queues[0]);
	close_one(&all_owners[1], &all_queues[1]);
	end_test();
}

/* The lane has as many slots as words, for the last of them, too. */
static void no_room(void)
{
	static struct queue some[193];
	struct queue *queue = &all_queues[0];
	u32 i;

	start_with(3);
	open_owner(&all_owners[0]);
	open_owner(&all_owners[1]);
	/* 64 loose ones, and two words. */
	for (i = 0; i < 192; i++)
		join_queue(&all_owners[0], &some[i], i);
	ktap_eq(try_join(&all_owners[0], &some[192]), -ENOSPC);
	ktap_eq(try_join(&all_owners[1], queue), -ENOSPC);
	leave_queue(&some[5]);
	join_queue(&all_owners[1], queue, 0);
	ktap_eq(try_join(&all_owners[0], &some[5]), -ENOSPC);
	leave_queue(queue);
	join_queue(&all_owners[0], &some[5], 5);
	ktap_eq(try_join(&all_owners[0], &some[192]), -ENOSPC);
	/* A private word becomes a word of single slots. */
	for (i = 128; i < 192; i++)
		leave_queue(&some[i]);
	join_queue(&all_owners[1], queue, 0);
	ktap_eq(try_join(&all_owners[0], &some[128]), -ENOSPC);
	leave_queue(queue);
	join_queue(&all_owners[0], &some[128], 128);
	for (i = 0; i < 129; i++)
		leave_queue(&some[i]);
	close_owner(&all_owners[0]);
	close_owner(&all_owners[1]);
	end_with(3);
}

static void join_many(struct owner *owner, struct queue *many, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		join_queue(owner, &many[i], i);
}

/* A user that keeps one queue of each word leaves words for others, in all its contexts. */
static void words_have_shares(void)
{
	static struct queue sparse[64 * 5], dense[64 * 2 + 1], others[64 + 1];
	u32 i;

	start_with(10);
	users_share = true;
	open_owner(&all_owners[0]);
	join_many(&all_owners[0], sparse, 64 * 5);
	for (i = 0; i < 64 * 5; i++)
		if (i % 64)
			leave_queue(&sparse[i]);
	ktap_eq(words_of[0], 4);
	open_owner(&all_owners[1]);
	join_many(&all_owners[1], dense, 64 * 2);
	ktap_eq(words_of[0], 5);
	ktap_eq(try_join(&all_owners[1], &dense[64 * 2]), -EDQUOT);
	test_caller = &all_users[1];
	open_owner(&all_owners[2]);
	join_many(&all_owners[2], others, 65);
	ktap_eq(words_of[1], 1);
	/* The rest has become smaller, too. */
	leave_queue(&sparse[64]);
	ktap_eq(try_join(&all_owners[1], &dense[64 * 2]), -EDQUOT);
	leave_queue(&sparse[128]);
	ktap_eq(try_join(&all_owners[1], &dense[64 * 2]), 0);
	for (i = 0; i < 65; i++)
		leave_queue(&others[i]);
	for (i = 0; i < 64 * 2 + 1; i++)
		leave_queue(&dense[i]);
	for (i = 0; i < 64 * 5; i += 64)
		if (i != 64 && i != 128)
			leave_queue(&sparse[i]);
	ktap_eq(words_of[0] + words_of[1], 0);
	for (i = 0; i < 3; i++)
		close_owner(&all_owners[i]);
	end_with(10);
}

/* --- threads: processes post while the lane polls, and others come and go --- */

static bool stop_others, stop_lane;
static u32 polls_done;

static bool is_seen(struct queue *queue)
{
	int i;

	for (i = 0; i < 50000000; i++) {
		if (__atomic_load_n(&queue->seen, __ATOMIC_ACQUIRE) == queue->written)
			return true;
		if (i % 64 == 63)
			sched_yield();
	}
	return false;
}

/* However fast the threads are, the lane looks so often before this returns. */
static void wait_for_polls(u32 n)
{
	u32 from = __atomic_load_n(&polls_done, __ATOMIC_RELAXED);

	while (__atomic_load_n(&polls_done, __ATOMIC_RELAXED) - from < n)
		sched_yield();
}

static void *post_all_the_time(void *arg)
{
	struct queue *queue = arg;	/* two of one owner */
	u64 rand = 1 + (queue - all_queues);
	u32 wait;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		rand = rand * 6364136223846793005ULL + 1442695040888963407ULL;
		post_one(&queue[rand >> 63]);
		/* Time passes here only: a poster without a CPU finds the lane as it was. */
		wait = rand >> 62 & 1 ? rand >> 59 & 7 : 0;
		__atomic_add_fetch(&clock_ns, wait * MS, __ATOMIC_RELAXED);
		wait_for_polls(wait);
		if (rand >> 58 & 1 && !(is_seen(&queue[0]) && is_seen(&queue[1]))) {
			ktap_fail("post %d was not seen", i);
			break;
		}
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	static struct queue some[70];
	struct owner *owner = arg;
	int i;

	while (!__atomic_load_n(&stop_others, __ATOMIC_RELAXED)) {
		open_owner(owner);
		for (i = 0; i < 70; i++)
			join_queue(owner, &some[i], i);
		post_one(&some[3]);
		for (i = 0; i < 70; i++)
			mark_ready(owner, i);
		wait_for_polls(1);
		for (i = 0; i < 70; i++)
			leave_queue(&some[i]);
		close_owner(owner);
	}
	return NULL;
}

static void *poll_all_the_time(void *arg)
{
	while (!__atomic_load_n(&stop_lane, __ATOMIC_RELAXED)) {
		lane_go(true);
		if (polls_done % 8 == 7)
			lane_rest(true);
		__atomic_add_fetch(&polls_done, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

static void posts_beside_the_lane(void)
{
	pthread_t poster[THREADS], poller, other;
	u32 turns;
	int i;

	begin_test();
	test_nic.idle_us = 3000;	/* three polls */
	stop_others = false;
	stop_lane = false;
	for (i = 0; i < THREADS; i++) {
		open_owner(&all_owners[i]);
		join_queue(&all_owners[i], &all_queues[2 * i], 0);
		join_queue(&all_owners[i], &all_queues[2 * i + 1], 1);
	}
	pthread_create(&poller, NULL, poll_all_the_time, NULL);
	pthread_create(&other, NULL, come_and_go, &all_owners[THREADS]);
	for (i = 0; i < THREADS; i++)
		pthread_create(&poster[i], NULL, post_all_the_time, &all_queues[2 * i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(poster[i], NULL);
	for (i = 0; i < 2 * THREADS; i++)
		ktap_ok(is_seen(&all_queues[i]));
	/* In this order: a thread that joins and leaves waits for polls. */
	__atomic_store_n(&stop_others, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	__atomic_store_n(&stop_lane, true, __ATOMIC_RELAXED);
	pthread_join(poller, NULL);
	/* Both paths were taken. On a busy host one owner may have rung for all its posts. */
	ktap_ok(count_of(CAIRN_CTR_LANE_WAKEUPS) > 10);
	for (i = turns = 0; i < 2 * THREADS; i++)
		turns += all_queues[i].turns;
	ktap_ok(turns > 10);
	for (i = 0; i < 2 * THREADS; i++)
		leave_queue(&all_queues[i]);
	for (i = 0; i < THREADS; i++)
		close_owner(&all_owners[i]);
	end_test();
}

static const struct ktap_test tests[] = {
	KTAP(each_move_once),
	KTAP(summary_comes_later),
	KTAP(every_id_its_bit),
	KTAP(ids_come_back),
	KTAP(small_owners_share),
	KTAP(kernel_queues),
	KTAP(bits_without_a_queue),
	KTAP(nonsense_is_no_post),
	KTAP(flag_of_nonsense),
	KTAP(gone_before_its_turn),
	KTAP(gone_with_its_word),
	KTAP(closed_before_it_is_polled),
	KTAP(no_memory),
	KTAP(same_word_twice),
	KTAP(no_room),
	KTAP(words_have_shares),
	KTAP(posts_beside_the_lane),
};

KTAP_MAIN(tests)
