// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include "lane/lane.h"

#define NO_WORD		0xffffffffu
/* After activity without a post: 1 ms, doubled each time up to 128 ms; where
 * the lane has no CPU for itself, up to 8 ms.
 */
#define QUIET_NS	1000000ULL
#define QUIET_MAX_SHIFT	7
#define QUIET_CPU_SHIFT	3

/* A ready page, and where its words lie in the lane's scheduler. */
struct watch_page {
	struct list_head list;
	struct cairn_ready_page *shared;	/* NULL: kernel QPs */
	u32 word[CAIRN_READY_WORDS];
};

struct cairn_watch {
	struct cairn_lane *lane;
	struct cairn_nic *nic;
	u32 *wake;			/* space 1; NULL: kernel QPs */
	struct mutex lock;		/* ids, pages */
	struct ida ids;
	u32 num_pages;
	/* Under lane->lock: */
	struct list_head pages;		/* in order; also changed under lock */
	struct list_head active;	/* empty: the flag is raised */
	bool awake;			/* the flag is lowered */
	bool posted;			/* since it became awake */
	bool busy;			/* since the lane yielded */
	u8 quiet_shift;
	u64 last;			/* post found, CLOCK_MONOTONIC ns */
	u64 quiet_until;		/* also read without lock */
};

/* Long enough for the next post of a process that is at it, short against what
 * waking a thread costs.
 */
static unsigned int idle_us = 50;
module_param(idle_us, uint, 0644);
MODULE_PARM_DESC(idle_us,
		 "microseconds that lanes poll for posts before they sleep, 0..1000000; 0: every post rings; for devices without a time of their own (default 50)");

u32 cairn_idle_us(const struct cairn_nic *nic)
{
	u32 us = READ_ONCE(nic->idle_us);

	if (us == CAIRN_IDLE_DEFAULT)
		us = READ_ONCE(idle_us);
	return min_t(u32, us, CAIRN_IDLE_MAX_US);
}

struct cairn_watch *cairn_watch_create(struct cairn_lane *lane,
				       struct cairn_nic *nic, u32 *wake)
{
	struct cairn_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return NULL;
	watch->lane = lane;
	watch->nic = nic;
	watch->wake = wake;
	mutex_init(&watch->lock);
	ida_init(&watch->ids);
	INIT_LIST_HEAD(&watch->pages);
	INIT_LIST_HEAD(&watch->active);
	if (wake)
		WRITE_ONCE(*wake, 1);
	return watch;
}

static void watch_free_word(struct cairn_lane *lane, u32 number)
{
	struct cairn_lane_word *word;

	if (number == NO_WORD)
		return;
	spin_lock_irq(&lane->lock);
	word = lane->words[number];
	lane->words[number] = NULL;
	spin_unlock_irq(&lane->lock);
	kfree(word);
	ida_free(&lane->word_ids, number);
}

void cairn_watch_destroy(struct cairn_watch *watch)
{
	struct watch_page *page, *next;
	unsigned int i;

	/* From here on the thread does not know the watch. */
	spin_lock_irq(&watch->lane->lock);
	list_del_init(&watch->active);
	spin_unlock_irq(&watch->lane->lock);
	list_for_each_entry_safe(page, next, &watch->pages, list) {
		for (i = 0; i < CAIRN_READY_WORDS; i++)
			watch_free_word(watch->lane, page->word[i]);
		kfree(page);
	}
	ida_destroy(&watch->ids);
	mutex_destroy(&watch->lock);
	kfree(watch);
}

/* w->lock held. */
static struct watch_page *watch_find_page(struct cairn_watch *watch, u32 n)
{
	struct watch_page *page;

	list_for_each_entry(page, &watch->pages, list)
		if (!n--)
			return page;
	return NULL;
}

static int watch_add_page(struct cairn_watch *watch,
			  struct cairn_ready_page *(*new_page)(void *, u32),
			  void *arg)
{
	struct watch_page *page = kmalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);

	if (!page)
		return -ENOMEM;
	memset(page->word, 0xff, sizeof(page->word));
	page->shared = new_page ? new_page(arg, watch->num_pages) : NULL;
	if (new_page && !page->shared) {
		kfree(page);
		return -ENOMEM;
	}
	spin_lock_irq(&watch->lane->lock);
	list_add_tail(&page->list, &watch->pages);
	spin_unlock_irq(&watch->lane->lock);
	watch->num_pages++;
	return 0;
}

/* 64 slots for the word at @number, unless it has some. w->lock held. */
static int watch_get_word(struct cairn_lane *lane, u32 *number)
{
	struct cairn_lane_word *word;
	int n;

	if (*number != NO_WORD)
		return 0;
	n = ida_alloc_max(&lane->word_ids, cairn_lane_words() - 1,
			  GFP_KERNEL);
	if (n < 0)
		return n;
	word = kzalloc(sizeof(*word), GFP_KERNEL_ACCOUNT);
	if (!word) {
		ida_free(&lane->word_ids, n);
		return -ENOMEM;
	}
	spin_lock_irq(&lane->lock);
	lane->words[n] = word;
	*number = n;
	spin_unlock_irq(&lane->lock);
	return 0;
}

/* w->lock held. */
static int watch_join(struct cairn_watch *watch, struct cairn_exec *exec,
		      u32 id, struct cairn_ready_page *(*new_page)(void *, u32),
		      void *arg)
{
	u32 i = id % CAIRN_READY_QUEUES / 64, n = id / CAIRN_READY_QUEUES;
	struct cairn_lane *lane = watch->lane;
	struct watch_page *page;
	struct cairn_lane_word *word;
	int err = 0;

	if (n == watch->num_pages)
		err = watch_add_page(watch, new_page, arg);
	if (err)
		return err;
	page = watch_find_page(watch, n);
	err = watch_get_word(lane, &page->word[i]);
	if (err)
		return err;
	exec->lane = lane;
	exec->watch = watch;
	exec->id = id;
	exec->slot = page->word[i] * 64 + id % 64;
	exec->ready = page->shared ? &page->shared->words[i] : NULL;
	spin_lock_irq(&lane->lock);
	word = lane->words[page->word[i]];
	word->x[id % 64] = exec;
	word->used |= BIT_ULL(id % 64);
	spin_unlock_irq(&lane->lock);
	return 0;
}

int cairn_watch_join(struct cairn_watch *watch, struct cairn_exec *exec,
		     struct cairn_ready_page *(*new_page)(void *arg, u32 n),
		     void *arg)
{
	int id, err;

	mutex_lock(&watch->lock);
	id = ida_alloc(&watch->ids, GFP_KERNEL);
	err = id < 0 ? id : watch_join(watch, exec, id, new_page, arg);
	if (id >= 0 && err)
		ida_free(&watch->ids, id);
	mutex_unlock(&watch->lock);
	return err;
}

int cairn_watch_join_kernel(struct cairn_exec *exec)
{
	return cairn_watch_join(cairn_lane(cairn_lane_pick())->kernel, exec,
				NULL, NULL);
}

void cairn_watch_put(struct cairn_watch *watch, u32 id)
{
	ida_free(&watch->ids, id);
}

/* The word of @word that holds bit @bit was taken: @bits of it. */
static bool watch_take(struct cairn_lane *lane, u32 number, u64 bits)
{
	struct cairn_lane_word *word = number == NO_WORD ? NULL :
							   lane->words[number];

	/* The host may set bits of queues that it does not have. */
	bits &= word ? word->used : 0;
	if (!bits)
		return false;
	word->posted |= bits;
	cairn_sched_mark(&lane->sched, number, bits);
	return true;
}

/* A page that the host writes: each word is read once, by xchg. */
static bool watch_poll_page(struct cairn_lane *lane, struct watch_page *page)
{
	struct cairn_ready_page *shared = page->shared;
	bool found = false;
	u64 summary;

	if (!READ_ONCE(shared->summary))
		return false;
	summary = xchg(&shared->summary, 0);
	while (summary) {
		u32 i = __ffs64(summary);

		summary &= summary - 1;
		found |= watch_take(lane, page->word[i],
				    xchg(&shared->words[i], 0));
	}
	return found;
}

static bool watch_poll(struct cairn_watch *watch)
{
	struct watch_page *page;
	bool found = false;

	list_for_each_entry(page, &watch->pages, list)
		found |= watch_poll_page(watch->lane, page);
	if (!found)
		return false;
	watch->last = ktime_get_ns();
	watch->posted = true;
	watch->busy = true;
	return true;
}

static void watch_set_awake(struct cairn_watch *watch)
{
	watch->awake = true;
	watch->posted = false;
	watch->last = ktime_get_ns();
	WRITE_ONCE(*watch->wake, 0);
	cairn_nic_count(watch->nic, CAIRN_CTR_LANE_WAKEUPS, 1);
}

static void watch_deactivate(struct cairn_watch *watch, int max_shift)
{
	list_del_init(&watch->active);
	if (watch->awake && watch->posted) {
		watch->quiet_shift = 0;
	} else {
		WRITE_ONCE(watch->quiet_until, ktime_get_ns() +
			   (QUIET_NS << watch->quiet_shift));
		watch->quiet_shift = min(watch->quiet_shift + 1, max_shift);
	}
	watch->awake = false;
}

/* Raise the flag and look again; stay awake if there is something. */
static void watch_fall_asleep(struct cairn_watch *watch)
{
	WRITE_ONCE(*watch->wake, 1);
	/* Pairs with the poster's barrier between its mark and the flag. */
	smp_mb();
	if (watch_poll(watch)) {
		WRITE_ONCE(*watch->wake, 0);
		return;
	}
	watch_deactivate(watch, QUIET_MAX_SHIFT);
	cairn_nic_count(watch->nic, CAIRN_CTR_LANE_SLEEPS, 1);
}

void cairn_watches_poll(struct cairn_lane *lane)
{
	struct cairn_watch *watch, *next;

	list_for_each_entry_safe(watch, next, &lane->active, active) {
		if (!watch->awake) {
			if (!single_task_running()) {
				watch_deactivate(watch, QUIET_CPU_SHIFT);
				continue;
			}
			watch_set_awake(watch);
		}
		watch_poll(watch);
	}
}

void cairn_watches_rest(struct cairn_lane *lane, bool yield)
{
	struct cairn_watch *watch, *next;
	u64 now = ktime_get_ns();

	list_for_each_entry_safe(watch, next, &lane->active, active) {
		bool stay =
			yield ? watch->busy :
				now < watch->last + cairn_idle_ns(watch->nic);

		if (yield)
			watch->busy = false;
		if (watch->awake && !stay)
			watch_fall_asleep(watch);
	}
}

static void watch_activate(struct cairn_watch *watch)
{
	struct cairn_lane *lane = watch->lane;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&lane->lock, flags);
	first = list_empty(&watch->active);
	if (first)
		list_add_tail(&watch->active, &lane->active);
	spin_unlock_irqrestore(&lane->lock, flags);
	if (first)
		cairn_lane_wake(lane);
}

void cairn_watch_ring(struct cairn_exec *exec)
{
	struct cairn_watch *watch = exec->watch;

	/* A full barrier: the write pointer is read after it. */
	atomic64_fetch_andnot(BIT_ULL(exec->id % 64),
			      (atomic64_t *)exec->ready);
	/* With one CPU a lane that polls keeps the poster from posting. */
	if (!list_empty_careful(&watch->active) || num_online_cpus() == 1 ||
	    !cairn_idle_ns(watch->nic) ||
	    ktime_get_ns() < READ_ONCE(watch->quiet_until))
		return;
	watch_activate(watch);
}
