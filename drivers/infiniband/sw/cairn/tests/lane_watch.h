/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A lane and simulated processes for tests of lane/watch.c. A process has a watch, ready
 * pages and a wake-up flag, and posts as the provider does. The lane polls, and takes
 * turns as lane/lane.c does. The test sets the time. lane/watch.c does not read write
 * pointers: a turn reads that of its queue. For programs of one source file.
 */
#ifndef CAIRN_TESTS_LANE_WATCH_H
#define CAIRN_TESTS_LANE_WATCH_H

#include <errno.h>
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/sched/prio.h>
#include "ktap.h"
#include "lane/lane.h"

#define MS		1000000ULL
#define US		1000ULL
#define LINES		128	/* looked at in one go (security.rst) */
#define MAX_PAGES	4
#define WORDS		1024	/* of the lane's scheduler */
#define OWNERS		300


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
static struct cairn_share_user all_users[2], *test_caller;
static u32 words_of[2], words_taken;	/* by users, and in all */
static bool users_share;		/* else each may take all words */
static u64 clock_ns;
static bool cpu_alone;
static unsigned int cpus_online;
static struct task_struct test_task;	/* that posts */
struct task_struct *shim_current = &test_task;
static int allocs_left;			/* < 0: any number */
static int live_allocs;			/* not freed yet */
static void (*alloc_meanwhile)(void);	/* what another does during an allocation */
static int idle_turns;			/* of marks that no ready bit left */
/* Called when the clock has been read that many times more. */
static void (*do_meanwhile)(void);
static int reads_before;

/* --- what the driver has from the kernel and from lane/lane.c --- */

/* Below a lock that all processes share, an allocation in a full memcg would hold up all. */
static inline bool alloc_counted(void)
{
	void (*other)(void) = alloc_meanwhile;

	ktap_ok(!mutex_is_mine(&test_lane.slots_lock));
	alloc_meanwhile = NULL;
	if (other)
		other();
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

static inline void alloc_gone(void)
{
	__atomic_sub_fetch(&live_allocs, 1, __ATOMIC_RELAXED);
}

void shim_free(void *mem)
{
	if (mem)
		alloc_gone();
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

/* As device/share.c, for the test's users. */
struct cairn_share_user *cairn_share_user_get(struct cairn_shares *shares)
{
	return alloc_counted() ? test_caller : NULL;
}

void cairn_share_user_put(struct cairn_shares *shares, struct cairn_share_user *user)
{
	if (user)
		alloc_gone();
}

int cairn_share_take_in(struct cairn_shares *shares, enum cairn_share_kind kind,
			u32 max, struct cairn_share_user *user)
{
	u32 *has = user ? &words_of[user - all_users] : NULL;

	ktap_ok(!mutex_is_mine(&test_lane.slots_lock));
	ktap_eq(max, test_lane.num_words);
	if (words_taken == max)
		return -ENOMEM;
	if (user && users_share && *has + 1 > max - words_taken - 1)
		return -EDQUOT;
	__atomic_add_fetch(&words_taken, 1, __ATOMIC_RELAXED);
	if (user)
		__atomic_add_fetch(has, 1, __ATOMIC_RELAXED);
	return 0;
}

void cairn_share_give_in(struct cairn_shares *shares, enum cairn_share_kind kind,
			 struct cairn_share_user *user)
{
	__atomic_sub_fetch(&words_taken, 1, __ATOMIC_RELAXED);
	if (user)
		__atomic_sub_fetch(&words_of[user - all_users], 1, __ATOMIC_RELAXED);
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
static inline void lane_leave(struct queue *queue)
{
	struct cairn_lane_word *word;
	u64 bit = BIT_ULL(queue->exec.slot % 64);

	spin_lock(&test_lane.lock);
	word = test_lane.words[queue->exec.slot / 64];
	ktap_ok(word->exec[queue->exec.slot % 64] == &queue->exec);
	word->exec[queue->exec.slot % 64] = NULL;
	word->used &= ~bit;
	word->posted &= ~bit;
	/* or it waits */
	ktap_eq(queue->exec.running, 0);
	spin_unlock(&test_lane.lock);
}

/* The same as lane_select() and lane_take_turn(). Return: false if no slot is marked. */
static inline bool lane_turn(void)
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

static inline void lane_poll(bool idle)
{
	spin_lock(&test_lane.lock);
	cairn_watches_poll(&test_lane, idle);
	spin_unlock(&test_lane.lock);
}

static inline bool lane_rest(bool first)
{
	bool more;

	spin_lock(&test_lane.lock);
	more = cairn_watches_rest(&test_lane, first);
	spin_unlock(&test_lane.lock);
	return more;
}

static inline void lane_go(bool idle)
{
	lane_poll(idle);
	spin_lock(&test_lane.lock);
	while (lane_turn())
		;
	spin_unlock(&test_lane.lock);
}

static inline u64 count_of(enum cairn_counter c)
{
	return test_stats.value[c];
}

/* --- the process --- */

static inline struct cairn_ready_page *give_page(void *arg, u32 n)
{
	struct owner *owner = arg;

	if (n >= MAX_PAGES || !alloc_counted())
		return NULL;
	ktap_eq(n, owner->num_pages);
	owner->page[n] = calloc(1, sizeof(*owner->page[n]));
	owner->num_pages++;
	return owner->page[n];
}

static inline void open_owner(struct owner *owner)
{
	memset(owner, 0, sizeof(*owner));
	owner->watch = cairn_watch_create(&test_lane, &test_nic, &owner->wake);
	ktap_ok(owner->watch);
	ktap_eq(owner->wake, 1);
}

/* The end of the context: all queues have left, the pages go. */
static inline void close_owner(struct owner *owner)
{
	u32 i;

	cairn_watch_destroy(owner->watch);
	for (i = 0; i < owner->num_pages; i++)
		shim_free(owner->page[i]);
	owner->num_pages = 0;
	owner->watch = NULL;
}

static inline int try_join(struct owner *owner, struct queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	queue->owner = owner;
	queue->exec.nic = &test_nic;
	return cairn_watch_join(owner->watch, &queue->exec, give_page, owner);
}

static inline void join_queue(struct owner *owner, struct queue *queue, u32 id)
{
	ktap_eq(try_join(owner, queue), 0);
	ktap_eq(queue->exec.id, id);
	ktap_ok(queue->exec.ready ==
		&owner->page[id / 4096]->words[id % 4096 / 64]);
}

/* As cairn_exec_stop() does. */
static inline void leave_queue(struct queue *queue)
{
	lane_leave(queue);
	cairn_watch_put(queue->exec.watch, queue->exec.id);
}

static inline void set_bits(u64 *word, u64 bits)
{
	if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits)
		__atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static inline void mark_ready(struct owner *owner, u32 id)
{
	struct cairn_ready_page *page = owner->page[id / 4096];

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	set_bits(&page->words[id % 4096 / 64], BIT_ULL(id % 64));
	set_bits(&page->summary, BIT_ULL(id % 4096 / 64));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The ioctl, which runs the post where it is. */
static inline void ring_bell(struct queue *queue)
{
	cairn_watch_ring(&queue->exec);
	__atomic_store_n(&queue->seen, __atomic_load_n(&queue->written, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

/* Return: true if it had to ring the doorbell. */
static inline bool post_one(struct queue *queue)
{
	__atomic_store_n(&queue->written, queue->written + 1, __ATOMIC_RELEASE);
	mark_ready(queue->owner, queue->exec.id);
	if (__atomic_load_n(&queue->owner->wake, __ATOMIC_RELAXED) != CAIRN_LANE_ASLEEP)
		return false;
	ring_bell(queue);
	return true;
}

static inline bool is_active(void)
{
	return !list_empty(&test_lane.active);
}

/* --- one test --- */

static inline void start_with(u32 words)
{
	memset(&test_lane, 0, sizeof(test_lane));
	memset(&test_stats, 0, sizeof(test_stats));
	memset(&test_nic, 0, sizeof(test_nic));
	spin_lock_init(&test_lane.lock);
	mutex_init(&test_lane.slots_lock);
	INIT_LIST_HEAD(&test_lane.active);
	INIT_LIST_HEAD(&test_lane.lazy);
	INIT_LIST_HEAD(&test_lane.lazy_events);
	test_lane.words = calloc(words, sizeof(*test_lane.words));
	test_lane.sched_mem = calloc(1, cairn_sched_bytes(words * 64));
	test_lane.slots_mem = calloc(1, cairn_slots_bytes(words));
	cairn_sched_init(&test_lane.sched, words * 64, test_lane.sched_mem);
	cairn_slots_init(&test_lane.slots, words, test_lane.slots_mem);
	test_lane.num_words = words;
	test_caller = &all_users[0];
	users_share = false;
	test_nic.stats = &test_stats;
	test_nic.idle_us = CAIRN_IDLE_US;
	clock_ns = 1000 * MS;
	cpu_alone = true;
	cpus_online = 2;
	test_task = (struct task_struct){ .pid = 100, .prio = MAX_RT_PRIO };
	allocs_left = -1;
	live_allocs = 0;
	idle_turns = 0;
	do_meanwhile = NULL;
	alloc_meanwhile = NULL;
}

static inline void begin_test(void)
{
	start_with(WORDS);
}

static inline u32 free_words(u32 words)
{
	u32 n = 0;

	while (cairn_slots_take_word(&test_lane.slots) != CAIRN_SCHED_NONE)
		n++;
	return n;
}

/* All slots and all memory were returned, and no owner is polled. */
static inline void end_with(u32 words)
{
	u32 i;

	ktap_ok(!is_active());
	ktap_ok(list_empty(&test_lane.lazy));
	ktap_eq(live_allocs, 0);
	for (i = 0; i < words; i++)
		ktap_ok(!test_lane.words[i]);
	ktap_eq(free_words(words), words);
	ktap_eq(words_taken, 0);
	free(test_lane.words);
	free(test_lane.sched_mem);
	free(test_lane.slots_mem);
}

static inline void end_test(void)
{
	end_with(WORDS);
}

/* An owner with one queue, awake: nothing is posted. */
static inline void open_awake(struct owner *owner, struct queue *queue)
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

static inline void close_one(struct owner *owner, struct queue *queue)
{
	leave_queue(queue);
	close_owner(owner);
}

#endif
