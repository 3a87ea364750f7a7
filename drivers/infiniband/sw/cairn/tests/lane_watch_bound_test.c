// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much a lane looks at in one go, and that each process has its turn nevertheless.
 */
#include "lane_watch.h"

#define LINES_MOST	(LINES + 64)	/* a page that was begun is ended */

static struct queue *wide_queues;	/* a queue in each word of all pages */

/* 64 words of each of MAX_PAGES pages are in use. */
static void open_wide(struct owner *owner)
{
	const u32 num = MAX_PAGES * 4096;
	u32 i;

	wide_queues = calloc(num, sizeof(*wide_queues));
	open_owner(owner);
	for (i = 0; i < num; i++)
		join_queue(owner, &wide_queues[i], i);
	for (i = 0; i < num; i++)
		if (i % 64)
			leave_queue(&wide_queues[i]);
	post_one(&wide_queues[0]);
	lane_go(false);
	ktap_eq(owner->wake, 0);
}

static void close_wide(struct owner *owner)
{
	u32 i;

	for (i = 0; i < MAX_PAGES * 64; i++)
		leave_queue(&wide_queues[i * 64]);
	close_owner(owner);
	free(wide_queues);
}

static void fill_wide(void)
{
	u32 i;

	for (i = 0; i < MAX_PAGES * 64; i++)
		mark_ready(wide_queues->owner, i * 64);
}

/* Lines that have not been taken yet. */
static u32 lines_left(const struct owner *owner)
{
	u32 page, i, n = 0;

	for (page = 0; page < owner->num_pages; page++)
		for (i = 0; i < CAIRN_READY_WORDS; i++)
			n += owner->page[page]->words[i] != 0;
	return n;
}

/* It goes on behind what it looked at: all are reached, however much is posted. */
static void wide_map_is_bounded(void)
{
	u32 left, before, i, polls;

	begin_test();
	open_wide(&all_owners[0]);
	fill_wide();
	left = MAX_PAGES * 64;
	ktap_eq(lines_left(&all_owners[0]), left);
	for (polls = 0; polls < 10 && left; polls++) {
		before = left;
		lane_go(false);
		left = lines_left(&all_owners[0]);
		ktap_ok(before - left <= LINES_MOST && before > left);
	}
	ktap_eq(polls, 2);
	ktap_eq(count_of(CAIRN_CTR_LANE_POLL_LIMITS), 1);
	/* All words are full again whenever the lane looks. */
	for (i = 0; i < MAX_PAGES * 64; i++)
		wide_queues[i * 64].turns = 0;
	for (polls = 0; polls < 40; polls++) {
		fill_wide();
		left = lines_left(&all_owners[0]);
		lane_go(false);
		ktap_ok(left - lines_left(&all_owners[0]) <= LINES_MOST);
	}
	for (i = 0; i < MAX_PAGES * 64; i++)
		ktap_eq(wide_queues[i * 64].turns, 20);
	ktap_eq(count_of(CAIRN_CTR_LANE_POLL_LIMITS), 21);
	close_wide(&all_owners[0]);
	end_test();
}

/* Not so much that the limit is reached. */
static void little_is_not_limited(void)
{
	u32 i;

	begin_test();
	open_wide(&all_owners[0]);
	for (i = 0; i < LINES - MAX_PAGES; i++)
		mark_ready(&all_owners[0], i * 64);
	lane_go(false);
	ktap_eq(lines_left(&all_owners[0]), 0);
	ktap_eq(count_of(CAIRN_CTR_LANE_POLL_LIMITS), 0);
	close_wide(&all_owners[0]);
	end_test();
}

/* Behind one whose map is always full the others have their turn. */
static void others_beside_a_full_map(void)
{
	struct queue *queue = all_queues;
	int i, polls;

	begin_test();
	open_wide(&all_owners[0]);
	for (i = 1; i <= 10; i++)
		open_awake(&all_owners[i], &queue[i]);
	for (polls = 0; polls < 40; polls++) {
		for (i = 1; i <= 10; i++)
			post_one(&queue[i]);
		fill_wide();
		lane_go(false);
	}
	for (i = 1; i <= 10; i++)
		ktap_ok(queue[i].turns >= 10);
	for (i = 0; i < MAX_PAGES * 64; i++)
		ktap_ok(wide_queues[i * 64].turns >= 10);
	for (i = 1; i <= 10; i++)
		close_one(&all_owners[i], &queue[i]);
	close_wide(&all_owners[0]);
	end_test();
}

/* All post whenever they can: none is polled more often than another. */
static void many_are_served_alike(void)
{
	const u32 rounds = 150;
	u32 i, polls, turns, sum, least = ~0U, most = 0;

	begin_test();
	for (i = 0; i < OWNERS; i++) {
		open_owner(&all_owners[i]);
		join_queue(&all_owners[i], &all_queues[i], 0);
		post_one(&all_queues[i]);
	}
	/* They become awake. */
	for (polls = 0; polls < 10; polls++)
		lane_go(false);
	for (i = 0; i < OWNERS; i++) {
		ktap_eq(all_owners[i].wake, 0);
		all_queues[i].turns = 0;
	}
	test_stats.value[CAIRN_CTR_LANE_POLL_LIMITS] = 0;
	for (polls = 0; polls < rounds; polls++) {
		for (i = 0; i < OWNERS; i++)
			post_one(&all_queues[i]);
		lane_go(false);
		for (i = sum = 0; i < OWNERS; i++)
			sum += all_queues[i].turns;
		/* The summary and a word of each. */
		ktap_eq(sum, (polls + 1) * LINES / 2);
	}
	ktap_eq(count_of(CAIRN_CTR_LANE_POLL_LIMITS), rounds);
	for (i = 0; i < OWNERS; i++) {
		turns = all_queues[i].turns;
		least = min(least, turns);
		most = max(most, turns);
	}
	ktap_ok(most - least <= 1 && least == rounds * LINES / 2 / OWNERS);
	for (i = 0; i < OWNERS; i++)
		close_one(&all_owners[i], &all_queues[i]);
	end_test();
}

/* Owners that cannot be kept awake cost one poll each, and leave. */
static void many_that_stay_asleep(void)
{
	u32 i, polls;

	begin_test();
	cpu_alone = false;
	for (i = 0; i < OWNERS; i++) {
		open_owner(&all_owners[i]);
		join_queue(&all_owners[i], &all_queues[i], 0);
		post_one(&all_queues[i]);
	}
	for (polls = 0; is_active() && polls < 10; polls++)
		lane_go(false);
	ktap_eq(polls, 3);
	ktap_eq(count_of(CAIRN_CTR_LANE_POLL_LIMITS), 2);
	ktap_eq(count_of(CAIRN_CTR_LANE_WAKEUPS), 0);
	for (i = 0; i < OWNERS; i++) {
		ktap_eq(all_owners[i].wake, 1);
		close_one(&all_owners[i], &all_queues[i]);
	}
	end_test();
}

/* The number of the round wraps to 0; an owner that is met then is not skipped for long. */
static void rounds_wrap(void)
{
	int i, k;

	begin_test();
	for (i = 0; i < 3; i++)
		open_awake(&all_owners[i], &all_queues[i]);
	test_lane.round = U32_MAX - 5;
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 3; i++)
			post_one(&all_queues[i]);
		lane_go(false);
	}
	for (i = 0; i < 3; i++) {
		ktap_ok(all_queues[i].turns >= 18);
		ktap_eq(all_queues[i].seen, all_queues[i].written);
		close_one(&all_owners[i], &all_queues[i]);
	}
	end_test();
}

/* Part of its map was looked at, then all leave. The others go on. */
static void closed_while_looked_at(void)
{
	struct queue *queue = &all_queues[1];

	begin_test();
	open_wide(&all_owners[0]);
	open_awake(&all_owners[1], queue);
	fill_wide();
	post_one(queue);
	lane_poll(false);
	ktap_eq(count_of(CAIRN_CTR_LANE_POLL_LIMITS), 1);
	close_wide(&all_owners[0]);
	lane_go(false);
	ktap_eq(queue->turns, 1);
	ktap_ok(is_active());
	close_one(&all_owners[1], queue);
	lane_go(true);
	end_test();
}

static const struct ktap_test tests[] = {
	KTAP(wide_map_is_bounded),
	KTAP(little_is_not_limited),
	KTAP(others_beside_a_full_map),
	KTAP(many_are_served_alike),
	KTAP(many_that_stay_asleep),
	KTAP(rounds_wrap),
	KTAP(closed_while_looked_at),
};

KTAP_MAIN(tests)
