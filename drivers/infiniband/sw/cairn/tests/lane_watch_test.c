// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a lane finds posts without a doorbell. A simulated process has a watch, ready
 * pages and a wake-up flag, and posts as the provider does. The lane polls, and takes
 * turns as lane/lane.c does. The test sets the time. lane/watch.c does not read write
 * pointers: a turn reads that of its queue.
 */
#include <errno.h>
#include <linux/array_size.h>
#include <linux/bits.h>
#include <pthread.h>
#include <sched.h>
#include "ktap.h"
#include "lane/lane.h"

#define MS		1000000ULL
#define US		1000ULL
#define LINES		128	/* looked at in one go (security.rst) */
#define LINES_MOST	(LINES + 64)	/* a page that was begun is ended */
#define MAX_PAGES	4
#define WORDS		1024	/* of the lane's scheduler */
#define OWNERS		300
#define THREADS		2
#define ROUNDS		2000

extern uint *const shim_param_idle_us;

/* A context. */
struct owner {
	struct cairn_watch *watch;
	u32 wake;
	u32 num_pages;
	struct cairn_ready_page *page[MAX_PAGES];
};

/* A send queue. */
struct queue {
	struct cairn_exec exec;
	struct owner *owner;
	u64 written;		/* the write pointer, the process's */
	u64 seen;		/* by the last turn */
	u32 turns;		/* caused by a ready bit */
};

static struct cairn_lane test_lane;
static struct cairn_stats test_stats;
static struct cairn_nic test_nic;
static struct owner all_owners[OWNERS];
static struct queue all_queues[OWNERS];
static u64 clock_ns;
static bool cpu_alone;
static unsigned int cpus_online;
static int allocs_left;			/* < 0: any number */
static int live_allocs;			/* not freed yet */
static int idle_turns;			/* of marks that no ready bit left */
/* Called when the clock has been read that many times more. */
static void (*do_meanwhile)(void);
static int reads_before;

/* --- what the driver has from the kernel and from lane/lane.c --- */

static bool alloc_counted(void)
{
	if (!allocs_left)
		return false;
	if (allocs_left > 0)
		allocs_left--;
	__atomic_add_fetch(&live_allocs, 1, __ATOMIC_RELAXED);
	return true;
}

void *shim_zalloc(size_t size)
{
	return alloc_counted() ? calloc(1, size) : NULL;
}

void *shim_alloc(size_t size)
{
	void *mem = alloc_counted() ? malloc(size) : NULL;

	if (mem)
		memset(mem, 0xa5, size);
	return mem;
}

void shim_free(void *mem)
{
	if (mem)
		__atomic_sub_fetch(&live_allocs, 1, __ATOMIC_RELAXED);
	free(mem);
}

u64 ktime_get_ns(void)
{
	void (*other)(void) = do_meanwhile;

	if (other && !reads_before--) {
		do_meanwhile = NULL;
		other();
	}
	return __atomic_load_n(&clock_ns, __ATOMIC_RELAXED);
}

bool single_task_running(void)
{
	return cpu_alone;
}

unsigned int num_online_cpus(void)
{
	return cpus_online;
}

unsigned int cairn_lane_pick(void)
{
	return 0;
}

struct cairn_lane *cairn_lane(unsigned int number)
{
	return &test_lane;
}

/* As cairn_lane_leave() does: what the queue left in its word goes. */
static void lane_leave(struct queue *queue)
{
	struct cairn_lane_word *word;
	u64 bit = BIT_ULL(queue->exec.slot % 64);

	spin_lock(&test_lane.lock);
	word = test_lane.words[queue->exec.slot / 64];
	ktap_ok(word->exec[queue->exec.slot % 64] == &queue->exec);
	word->exec[queue->exec.slot % 64] = NULL;
	word->used &= ~bit;
	word->posted &= ~bit;
	spin_unlock(&test_lane.lock);
}

/* The same as lane_select() and lane_take_turn(). Return: false if no slot is marked. */
static bool lane_turn(void)
{
	u32 slot = cairn_sched_next(&test_lane.sched);
	struct cairn_lane_word *word;
	struct cairn_exec *exec;
	struct queue *queue;
	u64 bit;

	if (slot == CAIRN_SCHED_NONE)
		return false;
	bit = BIT_ULL(slot % 64);
	exec = cairn_lane_qp(&test_lane, slot);
	cairn_sched_clear(&test_lane.sched, slot);
	word = test_lane.words[slot / 64];
	if (!exec || !(word->posted & bit)) {
		idle_turns++;
		return true;
	}
	word->posted &= ~bit;
	queue = container_of(exec, struct queue, exec);
	ktap_ok(exec->slot == slot);
	__atomic_add_fetch(&queue->turns, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&queue->seen, __atomic_load_n(&queue->written, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	return true;
}

static void lane_poll(bool idle)
{
	spin_lock(&test_lane.lock);
	cairn_watches_poll(&test_lane, idle);
	spin_unlock(&test_lane.lock);
}

static bool lane_rest(bool first)
{
	bool more;

	spin_lock(&test_lane.lock);
	more = cairn_watches_rest(&test_lane, first);
	spin_unlock(&test_lane.lock);
	return more;
}

static void lane_go(bool idle)
{
	lane_poll(idle);
	spin_lock(&test_lane.lock);
	while (lane_turn())
		;
	spin_unlock(&test_lane.lock);
}

static u64 count_of(enum cairn_counter c)
{
	return test_stats.value[c];
}

/* --- the process --- */

static struct cairn_ready_page *give_page(void *arg, u32 n)
{
	struct owner *owner = arg;

	if (n >= MAX_PAGES || !alloc_counted())
		return NULL;
	ktap_eq(n, owner->num_pages);
	owner->page[n] = calloc(1, sizeof(*owner->page[n]));
	owner->num_pages++;
	return owner->page[n];
}

static void open_owner(struct owner *owner)
{
	memset(owner, 0, sizeof(*owner));
	owner->watch = cairn_watch_create(&test_lane, &test_nic, &owner->wake);
	ktap_ok(owner->watch);
	ktap_eq(owner->wake, 1);
}

/* The end of the context: all queues have left, the pages go. */
static void close_owner(struct owner *owner)
{
	u32 i;

	cairn_watch_destroy(owner->watch);
	for (i = 0; i < owner->num_pages; i++)
		shim_free(owner->page[i]);
	owner->num_pages = 0;
	owner->watch = NULL;
}

static int try_join(struct owner *owner, struct queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	queue->owner = owner;
	queue->exec.nic = &test_nic;
	return cairn_watch_join(owner->watch, &queue->exec, give_page, owner);
}

static void join_queue(struct owner *owner, struct queue *queue, u32 id)
{
	ktap_eq(try_join(owner, queue), 0);
	ktap_eq(queue->exec.id, id);
	ktap_ok(queue->exec.ready ==
		&owner->page[id / 4096]->words[id % 4096 / 64]);
}

/* As cairn_exec_stop() does. */
static void leave_queue(struct queue *queue)
{
	lane_leave(queue);
	cairn_watch_put(queue->exec.watch, queue->exec.id);
}

static void set_bits(u64 *word, u64 bits)
{
	if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits)
		__atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static void mark_ready(struct owner *owner, u32 id)
{
	struct cairn_ready_page *page = owner->page[id / 4096];

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	set_bits(&page->words[id % 4096 / 64], BIT_ULL(id % 64));
	set_bits(&page->summary, BIT_ULL(id % 4096 / 64));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The ioctl, which runs the post where it is. */
static void ring_bell(struct queue *queue)
{
	cairn_watch_ring(&queue->exec);
	__atomic_store_n(&queue->seen, __atomic_load_n(&queue->written, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

/* Return: true if it had to ring the doorbell. */
static bool post_one(struct queue *queue)
{
	__atomic_store_n(&queue->written, queue->written + 1, __ATOMIC_RELEASE);
	mark_ready(queue->owner, queue->exec.id);
	if (!__atomic_load_n(&queue->owner->wake, __ATOMIC_RELAXED))
		return false;
	ring_bell(queue);
	return true;
}

static bool is_active(void)
{
	return !list_empty(&test_lane.active);
}

/* --- one test --- */

static void start_with(u32 words)
{
	memset(&test_lane, 0, sizeof(test_lane));
	memset(&test_stats, 0, sizeof(test_stats));
	memset(&test_nic, 0, sizeof(test_nic));
	spin_lock_init(&test_lane.lock);
	mutex_init(&test_lane.slots_lock);
	INIT_LIST_HEAD(&test_lane.active);
	test_lane.words = calloc(words, sizeof(*test_lane.words));
	test_lane.sched_mem = calloc(1, cairn_sched_bytes(words * 64));
	test_lane.slots_mem = calloc(1, cairn_slots_bytes(words));
	cairn_sched_init(&test_lane.sched, words * 64, test_lane.sched_mem);
	cairn_slots_init(&test_lane.slots, words, test_lane.slots_mem);
	test_nic.stats = &test_stats;
	test_nic.idle_us = CAIRN_IDLE_DEFAULT;
	*shim_param_idle_us = 50;
	clock_ns = 1000 * MS;
	cpu_alone = true;
	cpus_online = 2;
	allocs_left = -1;
	live_allocs = 0;
	idle_turns = 0;
	do_meanwhile = NULL;
}

static void begin_test(void)
{
	start_with(WORDS);
}

static u32 free_words(u32 words)
{
	u32 n = 0;

	while (cairn_slots_take_word(&test_lane.slots) != CAIRN_SCHED_NONE)
		n++;
	return n;
}

/* All slots and all memory were returned, and no owner is polled. */
static void end_with(u32 words)
{
	u32 i;

	ktap_ok(!is_active());
	ktap_eq(live_allocs, 0);
	for (i = 0; i < words; i++)
		ktap_ok(!test_lane.words[i]);
	ktap_eq(free_words(words), words);
	free(test_lane.words);
	free(test_lane.sched_mem);
	free(test_lane.slots_mem);
}

static void end_test(void)
{
	end_with(WORDS);
}

/* An owner with one queue, awake: nothing is posted. */
static void open_awake(struct owner *owner, struct queue *queue)
{
	int polls = 0;

	open_owner(owner);
	join_queue(owner, queue, 0);
	ktap_ok(post_one(queue));
	/* Others may be before it. */
	while (owner->wake && polls++ < 10)
		lane_poll(false);
	ktap_eq(owner->wake, 0);
}

static void close_one(struct owner *owner, struct queue *queue)
{
	leave_queue(queue);
	close_owner(owner);
}

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
static void bits_of_nobody(void)
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

/* --- the bound of one go --- */

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

/* --- asleep and awake --- */

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
		ktap_ok(post_one(queue));
		ktap_ok(!is_active());
		clock_ns++;
		ktap_ok(post_one(queue));
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
	post_one(queue);
	lane_go(true);
	clock_ns += 8 * MS - 1;
	post_one(queue);
	ktap_ok(!is_active());
	clock_ns++;
	post_one(queue);
	ktap_ok(is_active());
	close_one(&all_owners[0], queue);
	end_test();
}

/* Whatever the idle time is. */
static void idle_time_of_all_kinds(void)
{
	static const struct {
		u32 of_device, parameter, us;
	} kinds[] = {
		{ CAIRN_IDLE_DEFAULT, 50, 50 },
		{ CAIRN_IDLE_DEFAULT, 0, 0 },
		{ CAIRN_IDLE_DEFAULT, 1, 1 },
		{ CAIRN_IDLE_DEFAULT, 1000000, 1000000 },
		{ CAIRN_IDLE_DEFAULT, 1000001, 1000000 },
		{ CAIRN_IDLE_DEFAULT, ~0U, 1000000 },
		{ 0, 50, 0 },
		{ 7, 50, 7 },
		{ 1000000, 0, 1000000 },
		{ CAIRN_IDLE_DEFAULT - 1, 50, 1000000 },
	};
	struct queue *queue = &all_queues[0];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		begin_test();
		test_nic.idle_us = kinds[i].of_device;
		*shim_param_idle_us = kinds[i].parameter;
		ktap_eq(cairn_watch_idle_us(&test_nic), kinds[i].us);
		ktap_eq(cairn_watch_idle_ns(&test_nic), kinds[i].us * US);
		open_owner(&all_owners[0]);
		join_queue(&all_owners[0], queue, 0);
		ktap_ok(post_one(queue));
		ktap_eq(is_active(), !!kinds[i].us);
		lane_go(false);
		ktap_eq(all_owners[0].wake, !kinds[i].us);
		if (kinds[i].us) {
			clock_ns += kinds[i].us * US - 1;
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

/* However fast the threads are, the lane has looked so often between two posts. */
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
	int i;

	for (i = 0; i < ROUNDS; i++) {
		rand = rand * 6364136223846793005ULL + 1442695040888963407ULL;
		post_one(&queue[rand >> 63]);
		if (rand >> 62 & 1)
			wait_for_polls(rand >> 59 & 7);
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
		__atomic_add_fetch(&clock_ns, MS, __ATOMIC_RELAXED);
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
	/* Both paths were taken. */
	ktap_ok(count_of(CAIRN_CTR_LANE_WAKEUPS) > 10);
	for (i = 0; i < 2 * THREADS; i++)
		ktap_ok(all_queues[i].turns > 10);
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
	KTAP(bits_of_nobody),
	KTAP(nonsense_is_no_post),
	KTAP(flag_of_nonsense),
	KTAP(wide_map_is_bounded),
	KTAP(little_is_not_limited),
	KTAP(others_beside_a_full_map),
	KTAP(many_are_served_alike),
	KTAP(many_that_stay_asleep),
	KTAP(rounds_wrap),
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
	KTAP(gone_before_its_turn),
	KTAP(gone_with_its_word),
	KTAP(closed_while_looked_at),
	KTAP(closed_before_it_is_polled),
	KTAP(no_memory),
	KTAP(no_room),
	KTAP(posts_beside_the_lane),
};

KTAP_MAIN(tests)
