// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bitops.h>
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
struct ready_page {
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

struct cairn_watch *cairn_watch_create(struct cairn_lane *lane,
				       struct cairn_nic *nic, u32 *wake)
{
	struct cairn_watch *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;
	w->lane = lane;
	w->nic = nic;
	w->wake = wake;
	mutex_init(&w->lock);
	ida_init(&w->ids);
	INIT_LIST_HEAD(&w->pages);
	INIT_LIST_HEAD(&w->active);
	if (wake)
		WRITE_ONCE(*wake, 1);
	return w;
}

static void free_word(struct cairn_lane *lane, u32 word)
{
	struct cairn_place *p;

	if (word == NO_WORD)
		return;
	spin_lock_irq(&lane->lock);
	p = lane->places[word];
	lane->places[word] = NULL;
	spin_unlock_irq(&lane->lock);
	kfree(p);
	ida_free(&lane->place_ids, word);
}

void cairn_watch_destroy(struct cairn_watch *w)
{
	struct ready_page *p, *next;
	unsigned int i;

	/* From here on the thread does not know the watch. */
	spin_lock_irq(&w->lane->lock);
	list_del_init(&w->active);
	spin_unlock_irq(&w->lane->lock);
	list_for_each_entry_safe(p, next, &w->pages, list) {
		for (i = 0; i < CAIRN_READY_WORDS; i++)
			free_word(w->lane, p->word[i]);
		kfree(p);
	}
	ida_destroy(&w->ids);
	mutex_destroy(&w->lock);
	kfree(w);
}

/* w->lock held. */
static struct ready_page *find_page(struct cairn_watch *w, u32 n)
{
	struct ready_page *p;

	list_for_each_entry(p, &w->pages, list)
		if (!n--)
			return p;
	return NULL;
}

static int add_page(struct cairn_watch *w,
		    struct cairn_ready_page *(*new_page)(void *, u32), void *arg)
{
	struct ready_page *p = kmalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return -ENOMEM;
	memset(p->word, 0xff, sizeof(p->word));
	p->shared = new_page ? new_page(arg, w->num_pages) : NULL;
	if (new_page && !p->shared) {
		kfree(p);
		return -ENOMEM;
	}
	spin_lock_irq(&w->lane->lock);
	list_add_tail(&p->list, &w->pages);
	spin_unlock_irq(&w->lane->lock);
	w->num_pages++;
	return 0;
}

/* 64 slots for the word at @word, unless it has some. w->lock held. */
static int get_word(struct cairn_lane *lane, u32 *word)
{
	struct cairn_place *p;
	int n;

	if (*word != NO_WORD)
		return 0;
	n = ida_alloc_max(&lane->place_ids, cairn_lane_words() - 1,
			  GFP_KERNEL);
	if (n < 0)
		return n;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p) {
		ida_free(&lane->place_ids, n);
		return -ENOMEM;
	}
	spin_lock_irq(&lane->lock);
	lane->places[n] = p;
	*word = n;
	spin_unlock_irq(&lane->lock);
	return 0;
}

/* w->lock held. */
static int join(struct cairn_watch *w, struct cairn_exec *x, u32 id,
		struct cairn_ready_page *(*new_page)(void *, u32), void *arg)
{
	u32 i = id % CAIRN_READY_QUEUES / 64, n = id / CAIRN_READY_QUEUES;
	struct cairn_lane *lane = w->lane;
	struct ready_page *page;
	struct cairn_place *p;
	int err = 0;

	if (n == w->num_pages)
		err = add_page(w, new_page, arg);
	if (err)
		return err;
	page = find_page(w, n);
	err = get_word(lane, &page->word[i]);
	if (err)
		return err;
	x->lane = lane;
	x->watch = w;
	x->id = id;
	x->slot = page->word[i] * 64 + id % 64;
	x->ready = page->shared ? &page->shared->words[i] : NULL;
	spin_lock_irq(&lane->lock);
	p = lane->places[page->word[i]];
	p->x[id % 64] = x;
	p->used |= BIT_ULL(id % 64);
	spin_unlock_irq(&lane->lock);
	return 0;
}

int cairn_watch_join(struct cairn_watch *w, struct cairn_exec *x,
		     struct cairn_ready_page *(*new_page)(void *arg, u32 n), void *arg)
{
	int id, err;

	mutex_lock(&w->lock);
	id = ida_alloc(&w->ids, GFP_KERNEL);
	err = id < 0 ? id : join(w, x, id, new_page, arg);
	if (id >= 0 && err)
		ida_free(&w->ids, id);
	mutex_unlock(&w->lock);
	return err;
}

int cairn_watch_join_kernel(struct cairn_exec *x)
{
	return cairn_watch_join(cairn_lane(cairn_lane_pick())->kernel, x, NULL,
				NULL);
}

void cairn_watch_put(struct cairn_watch *w, u32 id)
{
	ida_free(&w->ids, id);
}

/* The word of @p that holds bit @bit was taken: @bits of it. */
static bool take(struct cairn_lane *lane, u32 word, u64 bits)
{
	struct cairn_place *p = word == NO_WORD ? NULL : lane->places[word];

	/* The host may set bits of queues that it does not have. */
	bits &= p ? p->used : 0;
	if (!bits)
		return false;
	p->posted |= bits;
	cairn_sched_mark(&lane->sched, word, bits);
	return true;
}

/* A page that the host writes: each word is read once, by xchg. */
static bool poll_page(struct cairn_lane *lane, struct ready_page *p)
{
	struct cairn_ready_page *r = p->shared;
	bool found = false;
	u64 summary;

	if (!READ_ONCE(r->summary))
		return false;
	summary = xchg(&r->summary, 0);
	while (summary) {
		u32 i = __ffs64(summary);

		summary &= summary - 1;
		found |= take(lane, p->word[i], xchg(&r->words[i], 0));
	}
	return found;
}

static bool poll(struct cairn_watch *w)
{
	struct ready_page *p;
	bool found = false;

	list_for_each_entry(p, &w->pages, list)
		found |= poll_page(w->lane, p);
	if (!found)
		return false;
	w->last = ktime_get_ns();
	w->posted = true;
	w->busy = true;
	return true;
}

static void set_awake(struct cairn_watch *w)
{
	w->awake = true;
	w->posted = false;
	w->last = ktime_get_ns();
	WRITE_ONCE(*w->wake, 0);
	cairn_nic_count(w->nic, CAIRN_CTR_LANE_WAKEUPS, 1);
}

static void deactivate(struct cairn_watch *w, int max_shift)
{
	list_del_init(&w->active);
	if (w->awake && w->posted) {
		w->quiet_shift = 0;
	} else {
		WRITE_ONCE(w->quiet_until, ktime_get_ns() +
			   (QUIET_NS << w->quiet_shift));
		w->quiet_shift = min(w->quiet_shift + 1, max_shift);
	}
	w->awake = false;
}

/* Raise the flag and look again; stay awake if there is something. */
static void fall_asleep(struct cairn_watch *w)
{
	WRITE_ONCE(*w->wake, 1);
	/* Pairs with the poster's barrier between its mark and the flag. */
	smp_mb();
	if (poll(w)) {
		WRITE_ONCE(*w->wake, 0);
		return;
	}
	deactivate(w, QUIET_MAX_SHIFT);
	cairn_nic_count(w->nic, CAIRN_CTR_LANE_SLEEPS, 1);
}

void cairn_watches_poll(struct cairn_lane *lane)
{
	struct cairn_watch *w, *next;

	list_for_each_entry_safe(w, next, &lane->active, active) {
		if (!w->awake) {
			if (!single_task_running()) {
				deactivate(w, QUIET_CPU_SHIFT);
				continue;
			}
			set_awake(w);
		}
		poll(w);
	}
}

void cairn_watches_rest(struct cairn_lane *lane, bool yield)
{
	struct cairn_watch *w, *next;
	u64 now = ktime_get_ns();

	list_for_each_entry_safe(w, next, &lane->active, active) {
		bool stay = yield ? w->busy :
				    now < w->last + cairn_idle_ns(w->nic);

		if (yield)
			w->busy = false;
		if (w->awake && !stay)
			fall_asleep(w);
	}
}

static void activate(struct cairn_watch *w)
{
	struct cairn_lane *lane = w->lane;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&lane->lock, flags);
	first = list_empty(&w->active);
	if (first)
		list_add_tail(&w->active, &lane->active);
	spin_unlock_irqrestore(&lane->lock, flags);
	if (first)
		cairn_lane_wake(lane);
}

void cairn_watch_ring(struct cairn_exec *x)
{
	struct cairn_watch *w = x->watch;

	/* A full barrier: the write pointer is read after it. */
	atomic64_fetch_andnot(BIT_ULL(x->id % 64), (atomic64_t *)x->ready);
	/* With one CPU a lane that polls keeps the poster from posting. */
	if (!list_empty_careful(&w->active) || num_online_cpus() == 1 ||
	    !cairn_idle_ns(w->nic) ||
	    ktime_get_ns() < READ_ONCE(w->quiet_until))
		return;
	activate(w);
}
