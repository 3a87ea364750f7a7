// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "lane/lane.h"

#define NO_WORD		0xffffffffu
/* How long doorbells do not activate a watch after activity without a post: 1 ms,
 * doubled each time up to 128 ms, or up to 8 ms if other tasks wanted the CPU.
 */
#define QUIET_NS	1000000ULL
#define QUIET_MAX_SHIFT	7
#define QUIET_CPU_SHIFT	3
/* How long a watch stays lazy without a doorbell for all: 8 ms. */
#define LAZY_MAX_NS	(QUIET_NS << 3)

/* The first ids of a watch have single slots in the scheduler. Later ids have slots of
 * whole words, 64 slots each.
 */
#define WATCH_LOOSE	64
/* Cache lines of ready maps that one poll or rest reads. */
#define WATCH_LINES	128

/* A ready page, and the words of the lane's scheduler that belong to its words. Word 0
 * of the first page has single slots instead (cairn_watch.slot).
 */
struct watch_page {
	struct list_head list;
	struct cairn_ready_page *shared;	/* NULL: kernel QPs */
	u64 used;			/* words that have QPs; lane->lock */
	u32 word[CAIRN_READY_WORDS];	/* number in the scheduler, or NO_WORD */
};

struct cairn_watch {
	struct cairn_lane *lane;
	struct cairn_nic *nic;
	u32 *wake;			/* space 1; NULL: kernel QPs */
	struct cairn_share_user *user;	/* whose share of words counts; NULL: kernel QPs */
	struct mutex lock;		/* ids, pages */
	struct ida ids;
	/* Under lane->lock: */
	u32 num_pages;			/* also changed under lock, like pages */
	u32 slot[WATCH_LOOSE];		/* of the first ids, or CAIRN_SCHED_NONE */
	struct list_head pages;		/* in order; also changed under lock */
	struct watch_page *seen;	/* page polled last; NULL: start with the first */
	u32 round;			/* the lane's round that polled it last */
	struct list_head active;	/* empty: inactive */
	bool awake;			/* the flag is low; only while active */
	bool posted;			/* a post was found since it became awake */
	bool busy;			/* a post was found since the last rest */
	u8 quiet_shift;			/* of QUIET_NS */
	bool crowded;			/* others wanted the CPU; also read without lock */
	u64 last;			/* when a post was found, CLOCK_MONOTONIC ns */
	u64 quiet_until;		/* no activation before; also read without lock */
	struct list_head lazy;		/* in lane->lazy; empty: not lazy */
	bool ending;			/* lazy, but the flag is raised; posts may be left */
	u8 eager_shift;			/* of QUIET_NS */
	u64 served;			/* when all posts had been taken, while lazy, ns */
	pid_t served_for;		/* the thread that rang then, */
	unsigned long served_preempted;	/* and how often it had been preempted */
	u64 looked;			/* served, when the lazy thread found posts waiting, */
	unsigned long looked_preempted;	/* and how often the poster had been preempted */
	u64 eager_until;		/* not lazy before; also read without lock */
	/* Without lock, of the last doorbell that might have made it lazy: */
	pid_t poster;			/* the thread */
	unsigned long poster_slept;	/* how often it had slept */
};

/* How long the lane polls after the last post, ns; 0: not at all. */
static u64 watch_idle_ns(const struct cairn_watch *watch)
{
	return 1000ULL * READ_ONCE(watch->nic->idle_us);
}

struct cairn_watch *cairn_watch_create(struct cairn_lane *lane,
				       struct cairn_nic *nic, u32 *wake)
{
	struct cairn_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return NULL;
	if (wake) {
		watch->user = cairn_share_user_get(&lane->shares);
		if (!watch->user) {
			kfree(watch);
			return NULL;
		}
	}
	watch->lane = lane;
	watch->nic = nic;
	watch->wake = wake;
	mutex_init(&watch->lock);
	ida_init(&watch->ids);
	INIT_LIST_HEAD(&watch->pages);
	INIT_LIST_HEAD(&watch->active);
	INIT_LIST_HEAD(&watch->lazy);
	memset(watch->slot, 0xff, sizeof(watch->slot));
	if (wake)
		WRITE_ONCE(*wake, CAIRN_LANE_ASLEEP);
	return watch;
}

static void watch_drop_word(struct cairn_lane *lane, u32 number)
{
	struct cairn_lane_word *word;

	lockdep_assert_held(&lane->slots_lock);
	spin_lock_irq(&lane->lock);
	word = lane->words[number];
	lane->words[number] = NULL;
	spin_unlock_irq(&lane->lock);
	kfree(word);
}

static void watch_set_word(struct cairn_lane *lane, u32 number,
			   struct cairn_lane_word *word)
{
	lockdep_assert_held(&lane->slots_lock);
	spin_lock_irq(&lane->lock);
	lane->words[number] = word;
	spin_unlock_irq(&lane->lock);
}

/* All kernel consumers share a watch, and may create QPs on behalf of processes (SMC). In
 * a full memcg an allocation may take long, and the others would wait for the watch's
 * lock, so their memory is not charged.
 */
static gfp_t watch_gfp(const struct cairn_watch *watch)
{
	return watch->wake ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
}

void cairn_watch_destroy(struct cairn_watch *watch)
{
	struct watch_page *page, *next;

	/* From here on the thread does not know the watch. */
	spin_lock_irq(&watch->lane->lock);
	list_del_init(&watch->active);
	list_del_init(&watch->lazy);
	spin_unlock_irq(&watch->lane->lock);
	list_for_each_entry_safe(page, next, &watch->pages, list)
		kfree(page);
	ida_destroy(&watch->ids);
	mutex_destroy(&watch->lock);
	cairn_share_user_put(&watch->lane->shares, watch->user);
	kfree(watch);
}

static struct watch_page *watch_find_page(struct cairn_watch *watch, u32 n)
{
	struct watch_page *page;

	lockdep_assert_held(&watch->lock);
	list_for_each_entry(page, &watch->pages, list)
		if (!n--)
			return page;
	return NULL;
}

static int watch_add_page(struct cairn_watch *watch,
			  struct cairn_ready_page *(*new_page)(void *, u32),
			  void *arg)
{
	struct watch_page *page = kmalloc(sizeof(*page), watch_gfp(watch));

	lockdep_assert_held(&watch->lock);
	if (!page)
		return -ENOMEM;
	page->used = 0;
	memset(page->word, 0xff, sizeof(page->word));
	page->shared = new_page ? new_page(arg, watch->num_pages) : NULL;
	if (new_page && !page->shared) {
		kfree(page);
		return -ENOMEM;
	}
	spin_lock_irq(&watch->lane->lock);
	list_add_tail(&page->list, &watch->pages);
	watch->num_pages++;
	spin_unlock_irq(&watch->lane->lock);
	return 0;
}

/* Take a slot. @fresh: for its word; NULL if it was used. Return: -EAGAIN: it is needed. */
static int watch_take_loose(struct cairn_lane *lane, u32 *slot,
			    struct cairn_lane_word **fresh)
{
	lockdep_assert_held(&lane->slots_lock);
	*slot = cairn_slots_take(&lane->slots);
	if (*slot == CAIRN_SCHED_NONE)
		return -ENOSPC;
	if (lane->words[*slot / 64])
		return 0;
	if (!*fresh) {
		cairn_slots_put(&lane->slots, *slot);
		return -EAGAIN;
	}
	watch_set_word(lane, *slot / 64, *fresh);
	*fresh = NULL;
	return 0;
}

/* Allocate the slot of one of the first ids. All processes share slots_lock, so memory is
 * allocated outside of it.
 */
static int watch_get_loose(struct cairn_watch *watch, u32 *slot)
{
	struct cairn_lane *lane = watch->lane;
	struct cairn_lane_word *fresh = NULL;
	int err;

	do {
		mutex_lock(&lane->slots_lock);
		err = watch_take_loose(lane, slot, &fresh);
		mutex_unlock(&lane->slots_lock);
		if (err != -EAGAIN)
			break;
		fresh = kzalloc(sizeof(*fresh), watch_gfp(watch));
	} while (fresh);
	kfree(fresh);
	return err == -EAGAIN ? -ENOMEM : err;
}

static void watch_put_loose(struct cairn_watch *watch, u32 id)
{
	struct cairn_lane *lane = watch->lane;
	u32 slot = watch->slot[id];

	spin_lock_irq(&lane->lock);
	watch->slot[id] = CAIRN_SCHED_NONE;
	spin_unlock_irq(&lane->lock);
	mutex_lock(&lane->slots_lock);
	if (cairn_slots_put(&lane->slots, slot))
		watch_drop_word(lane, slot / 64);
	mutex_unlock(&lane->slots_lock);
}

/* A word keeps its 64 slots until its last QP leaves. So a user has a share of the words,
 * and cannot take the last one with few QPs.
 */
static int watch_take_share(struct cairn_watch *watch)
{
	struct cairn_lane *lane = watch->lane;
	int err = cairn_share_take_in(&lane->shares, CAIRN_SHARE_WORD, lane->num_words,
				      watch->user);

	return err == -ENOMEM ? -ENOSPC : err;
}

static void watch_give_share(struct cairn_watch *watch)
{
	cairn_share_give_in(&watch->lane->shares, CAIRN_SHARE_WORD, watch->user);
}

/* Return: the number of a word that has 64 slots now, or CAIRN_SCHED_NONE. */
static u32 watch_take_word(struct cairn_lane *lane, struct cairn_lane_word *fresh)
{
	u32 number;

	mutex_lock(&lane->slots_lock);
	number = cairn_slots_take_word(&lane->slots);
	if (number != CAIRN_SCHED_NONE)
		watch_set_word(lane, number, fresh);
	mutex_unlock(&lane->slots_lock);
	return number;
}

/* Allocate 64 slots for a word of a ready page, unless it has them. Under the watch's
 * lock.
 */
static int watch_get_word(struct cairn_watch *watch, u32 *number)
{
	struct cairn_lane_word *fresh;
	u32 word = CAIRN_SCHED_NONE;
	int err;

	if (*number != NO_WORD)
		return 0;
	err = watch_take_share(watch);
	if (err)
		return err;
	fresh = kzalloc(sizeof(*fresh), watch_gfp(watch));
	if (fresh)
		word = watch_take_word(watch->lane, fresh);
	if (word == CAIRN_SCHED_NONE) {
		err = fresh ? -ENOSPC : -ENOMEM;
		kfree(fresh);
		watch_give_share(watch);
		return err;
	}
	*number = word;
	return 0;
}

/* Free the slots of word @i, whose last QP has left. Under the watch's lock. */
static void watch_put_word(struct cairn_watch *watch, struct watch_page *page,
			   u32 i)
{
	struct cairn_lane *lane = watch->lane;
	u32 number = page->word[i];

	spin_lock_irq(&lane->lock);
	page->used &= ~BIT_ULL(i);
	page->word[i] = NO_WORD;
	spin_unlock_irq(&lane->lock);
	mutex_lock(&lane->slots_lock);
	watch_drop_word(lane, number);
	cairn_slots_put_word(&lane->slots, number);
	mutex_unlock(&lane->slots_lock);
	watch_give_share(watch);
}

/* Put @exec, whose slot is set, where its lane finds it. */
static void watch_enter(struct cairn_watch *watch, struct watch_page *page,
			u32 i, struct cairn_exec *exec)
{
	struct cairn_lane *lane = watch->lane;
	struct cairn_lane_word *word;

	exec->lane = lane;
	exec->watch = watch;
	exec->ready = page->shared ? &page->shared->words[i] : NULL;
	spin_lock_irq(&lane->lock);
	if (exec->id < WATCH_LOOSE)
		watch->slot[exec->id] = exec->slot;
	page->used |= BIT_ULL(i);
	word = lane->words[exec->slot / 64];
	word->exec[exec->slot % 64] = exec;
	word->used |= BIT_ULL(exec->slot % 64);
	spin_unlock_irq(&lane->lock);
}

static int watch_join(struct cairn_watch *watch, struct cairn_exec *exec,
		      u32 id, struct cairn_ready_page *(*new_page)(void *, u32),
		      void *arg)
{
	u32 i = id % CAIRN_READY_QUEUES / 64, n = id / CAIRN_READY_QUEUES;
	struct watch_page *page;
	int err = 0;

	lockdep_assert_held(&watch->lock);
	if (n == watch->num_pages)
		err = watch_add_page(watch, new_page, arg);
	if (err)
		return err;
	page = watch_find_page(watch, n);
	if (id < WATCH_LOOSE) {
		err = watch_get_loose(watch, &exec->slot);
	} else {
		err = watch_get_word(watch, &page->word[i]);
		exec->slot = page->word[i] * 64 + id % 64;
	}
	if (err)
		return err;
	exec->id = id;
	watch_enter(watch, page, i, exec);
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

static void watch_leave(struct cairn_watch *watch, u32 id)
{
	u32 i = id % CAIRN_READY_QUEUES / 64;
	struct cairn_lane *lane = watch->lane;
	struct watch_page *page;

	lockdep_assert_held(&watch->lock);
	if (id < WATCH_LOOSE) {
		watch_put_loose(watch, id);
		return;
	}
	page = watch_find_page(watch, id / CAIRN_READY_QUEUES);
	/* No QP joins under watch->lock. Another QP that left may have freed the word. */
	if (page->word[i] != NO_WORD &&
	    !READ_ONCE(lane->words[page->word[i]]->used))
		watch_put_word(watch, page, i);
}

void cairn_watch_put(struct cairn_watch *watch, u32 id)
{
	mutex_lock(&watch->lock);
	watch_leave(watch, id);
	ida_free(&watch->ids, id);
	mutex_unlock(&watch->lock);
}

/* Mark the QPs @bits of the lane's word @number: a process has posted to them. */
static bool watch_mark(struct cairn_lane *lane, u32 number, u64 bits)
{
	struct cairn_lane_word *word = lane->words[number];

	lockdep_assert_held(&lane->lock);
	/* A process may set bits that belong to no QP. */
	bits &= word->used;
	if (!bits)
		return false;
	word->posted |= bits;
	cairn_sched_mark(&lane->sched, number, bits);
	return true;
}

/* The same for the first ids, which have single slots. */
static bool watch_mark_loose(struct cairn_watch *watch, u64 bits)
{
	bool found = false;

	while (bits) {
		u32 slot = watch->slot[__ffs64(bits)];

		bits &= bits - 1;
		if (slot != CAIRN_SCHED_NONE)
			found |= watch_mark(watch->lane, slot / 64,
					    BIT_ULL(slot % 64));
	}
	return found;
}

/* Poll a page that a process writes: each word is read once, by xchg(). Bits of words
 * without QPs are ignored.
 */
static bool watch_poll_page(struct cairn_watch *watch, struct watch_page *page,
			    u32 *left)
{
	struct cairn_ready_page *shared = page->shared;
	bool found = false;
	u64 summary;

	if (!READ_ONCE(shared->summary))
		return false;
	summary = xchg(&shared->summary, 0) & page->used;
	*left -= min_t(u32, *left, hweight64(summary));
	while (summary) {
		u32 i = __ffs64(summary);
		u64 bits = xchg(&shared->words[i], 0);

		summary &= summary - 1;
		if (page->word[i] == NO_WORD)
			found |= watch_mark_loose(watch, bits);
		else
			found |= watch_mark(watch->lane, page->word[i], bits);
	}
	return found;
}

/* Poll pages from where the last call stopped, about @left cache lines. Return: false
 * if pages are left.
 */
static bool watch_poll_pages(struct cairn_watch *watch, u32 *left, bool *found)
{
	struct watch_page *page;

	page = list_prepare_entry(watch->seen, &watch->pages, list);
	list_for_each_entry_continue(page, &watch->pages, list) {
		if (!*left)
			return false;
		--*left;
		*found |= watch_poll_page(watch, page, left);
		watch->seen = page;
	}
	watch->seen = NULL;
	return true;
}

static bool watch_poll(struct cairn_watch *watch, u32 *left)
{
	bool found = false, all = watch_poll_pages(watch, left, &found);

	if (found) {
		watch->last = ktime_get_ns();
		watch->posted = true;
		watch->busy = true;
	}
	return all;
}

/* May there be ready bits that the lane has not taken? */
static bool watch_any(const struct cairn_watch *watch)
{
	const struct watch_page *page;

	list_for_each_entry(page, &watch->pages, list)
		if (READ_ONCE(page->shared->summary) & page->used)
			return true;
	return false;
}

static void watch_set_awake(struct cairn_watch *watch)
{
	watch->awake = true;
	watch->posted = false;
	watch->last = ktime_get_ns();
	WRITE_ONCE(watch->crowded, false);
	list_del_init(&watch->lazy);
	WRITE_ONCE(*watch->wake, CAIRN_LANE_AWAKE);
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

/* Raise the flag and check the ready map again; stay awake if there are ready bits. */
static void watch_fall_asleep(struct cairn_watch *watch)
{
	WRITE_ONCE(*watch->wake, CAIRN_LANE_ASLEEP);
	/* Pairs with the poster's barrier between its mark and the flag. */
	smp_mb();
	if (watch_any(watch)) {
		WRITE_ONCE(*watch->wake, CAIRN_LANE_AWAKE);
		return;
	}
	watch_deactivate(watch, QUIET_MAX_SHIFT);
	cairn_nic_count(watch->nic, CAIRN_CTR_LANE_SLEEPS, 1);
}

/* The next active watch that this round has not polled, or NULL. watch_done() moves it
 * to the end of the list.
 */
static struct cairn_watch *watch_next(struct cairn_lane *lane)
{
	struct cairn_watch *watch;

	watch = list_first_entry_or_null(&lane->active, struct cairn_watch,
					 active);
	return watch && watch->round != lane->round ? watch : NULL;
}

static void watch_done(struct cairn_watch *watch)
{
	struct cairn_lane *lane = watch->lane;

	watch->round = lane->round;
	if (!list_empty(&watch->active))
		list_move_tail(&watch->active, &lane->active);
}

/* A newly active watch becomes awake, or inactive if other tasks want the CPU. Return:
 * true if it is awake.
 */
static bool watch_is_awake(struct cairn_watch *watch)
{
	if (watch->awake)
		return true;
	if (!single_task_running()) {
		WRITE_ONCE(watch->crowded, true);
		watch_deactivate(watch, QUIET_CPU_SHIFT);
		return false;
	}
	watch_set_awake(watch);
	return true;
}

/* Return: false if pages are left. */
static bool watch_poll_one(struct cairn_watch *watch, bool idle, u32 *left)
{
	if (!watch_is_awake(watch)) {
		--*left;
		return true;
	}
	if (!watch_poll(watch, left))
		return false;
	if (idle && ktime_get_ns() >= watch->last + watch_idle_ns(watch))
		watch_fall_asleep(watch);
	return true;
}

void cairn_watches_poll(struct cairn_lane *lane, bool idle)
{
	u32 left = WATCH_LINES;
	struct cairn_watch *watch;

	lockdep_assert_held(&lane->lock);
	lane->round++;
	while ((watch = watch_next(lane))) {
		if (!left || !watch_poll_one(watch, idle, &left)) {
			cairn_nic_count(watch->nic, CAIRN_CTR_LANE_POLL_LIMITS,
					1);
			return;
		}
		watch_done(watch);
	}
}

bool cairn_watches_rest(struct cairn_lane *lane, bool first)
{
	u32 left = WATCH_LINES;
	struct cairn_watch *watch;

	lockdep_assert_held(&lane->lock);
	if (first)
		lane->round++;
	while (left && (watch = watch_next(lane))) {
		left -= min(left, watch->num_pages);
		if (watch->awake && !watch->busy)
			watch_fall_asleep(watch);
		watch->busy = false;
		watch_done(watch);
	}
	return !left;
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

/* Has the calling thread rung before, and not slept since? Without a lock: the answer may be
 * wrong if several threads ring.
 */
static bool watch_streams(struct cairn_watch *watch)
{
	bool streams = READ_ONCE(watch->poster) == current->pid &&
		       READ_ONCE(watch->poster_slept) == current->nvcsw;

	WRITE_ONCE(watch->poster, current->pid);
	WRITE_ONCE(watch->poster_slept, current->nvcsw);
	return streams;
}

/* Would the lane have to share its CPU? */
static bool watch_is_crowded(const struct cairn_watch *watch)
{
	return num_online_cpus() == 1 || READ_ONCE(watch->crowded);
}

/* A thread of realtime or deadline priority may keep the lazy thread from running. */
static bool watch_may_be_lazy(struct cairn_watch *watch)
{
	return list_empty_careful(&watch->lazy) && watch_is_crowded(watch) &&
	       current->prio >= MAX_RT_PRIO &&
	       ktime_get_ns() >= READ_ONCE(watch->eager_until) &&
	       watch_streams(watch);
}

static void watch_note_served(struct cairn_watch *watch)
{
	lockdep_assert_held(&watch->lane->lock);
	watch->served = ktime_get_ns();
	watch->served_for = current->pid;
	watch->served_preempted = current->nivcsw;
}

static void watch_set_lazy(struct cairn_watch *watch)
{
	struct cairn_lane *lane = watch->lane;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&lane->lock, flags);
	first = list_empty(&watch->lazy) && list_empty(&watch->active);
	if (first) {
		list_add_tail(&watch->lazy, &lane->lazy);
		/* A poll that was not finished before the lane slept does not count. */
		watch->seen = NULL;
		WRITE_ONCE(lane->lazy_due, true);
		watch->ending = false;
		watch_note_served(watch);
		WRITE_ONCE(*watch->wake, CAIRN_LANE_LAZY);
	}
	spin_unlock_irqrestore(&lane->lock, flags);
	if (first)
		cairn_lane_wake_lazy(lane);
}

/* @found: the last part of the map had posts, which waited for the lazy thread.
 * @blame: if they waited long, then because the process did not ring.
 */
static void watch_end_lazy(struct cairn_watch *watch, bool found, bool blame)
{
	u64 now = ktime_get_ns();

	list_del_init(&watch->lazy);
	/* The lazy thread is alone on its CPU, so the lane may be, too. */
	if (single_task_running())
		WRITE_ONCE(watch->crowded, false);
	if (!found)
		watch->eager_shift = 0;
	if (!found || !blame || now < watch->served + QUIET_NS)
		return;
	WRITE_ONCE(watch->eager_until, now + (QUIET_NS << watch->eager_shift));
	watch->eager_shift = min(watch->eager_shift + 1, QUIET_MAX_SHIFT);
}

/* The thread that rang last for a queue of its own. */
struct watch_poster {
	bool runs;			/* on a CPU, or waits for one */
	bool preempted;			/* since it rang for all */
	unsigned long preemptions;
};

/* Its id may be of another thread by now: then the answer is wrong for a while. */
static struct watch_poster watch_poster_now(const struct cairn_watch *watch)
{
	struct watch_poster poster = {};
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(find_pid_ns(READ_ONCE(watch->poster), &init_pid_ns), PIDTYPE_PID);
	if (task) {
		poster.runs = task_is_running(task);
		poster.preemptions = READ_ONCE(task->nivcsw);
		poster.preempted = watch->served_for == READ_ONCE(watch->poster) &&
				   poster.preemptions != watch->served_preempted;
	}
	rcu_read_unlock();
	return poster;
}

/* Have posts waited for 1 ms, at the lazy thread's last look, too? The first look may come
 * while the process waits for the CPU.
 */
static bool watch_waits_long(struct cairn_watch *watch, const struct watch_poster *poster)
{
	bool again = watch->looked == watch->served;

	if (!watch_any(watch) || ktime_get_ns() < watch->served + QUIET_NS)
		return false;
	if (again)
		return true;
	watch->looked = watch->served;
	watch->looked_preempted = poster->preemptions;
	return false;
}

/* Posts have waited long. Has the process had the CPU meanwhile, and not rung? */
static bool watch_blames(const struct cairn_watch *watch, const struct watch_poster *poster)
{
	if (!poster->preempted)
		return true;
	return poster->runs && poster->preemptions != watch->looked_preempted;
}

/* The lazy thread has the CPU before the process has slept: the process may still ring for
 * its posts. Not if the thread is alone on its CPU, where the lane could poll.
 */
static bool watch_stays_lazy(struct cairn_watch *watch, const struct watch_poster *poster)
{
	return poster->runs && !single_task_running() &&
	       ktime_get_ns() < watch->served + LAZY_MAX_NS &&
	       !watch_waits_long(watch, poster);
}

bool cairn_watches_end_lazy(struct cairn_lane *lane)
{
	u32 left = WATCH_LINES;
	struct cairn_watch *watch;
	bool any = false;
	LIST_HEAD(stay);

	lockdep_assert_held(&lane->lock);
	WRITE_ONCE(lane->lazy_due, false);
	while (left && (watch = list_first_entry_or_null(&lane->lazy, struct cairn_watch,
							 lazy))) {
		struct watch_poster poster = watch_poster_now(watch);
		bool found = false;

		if (!watch->ending && watch_stays_lazy(watch, &poster)) {
			left -= min(left, watch->num_pages);
			list_move_tail(&watch->lazy, &stay);
			continue;
		}
		watch->ending = true;
		WRITE_ONCE(*watch->wake, CAIRN_LANE_ASLEEP);
		/* Pairs with the poster's barrier between its mark and the flag. */
		smp_mb();
		if (watch_poll_pages(watch, &left, &found))
			watch_end_lazy(watch, found, watch_blames(watch, &poster));
		any |= found;
	}
	list_splice_tail(&stay, &lane->lazy);
	return any;
}

/* The QPs that @bits of word @i stand for count as running. Return: their number. */
static u32 watch_list_word(struct cairn_watch *watch, const struct watch_page *page, u32 i,
			   u64 bits, struct cairn_exec **exec)
{
	u32 n = 0;

	lockdep_assert_held(&watch->lane->lock);
	for (; bits; bits &= bits - 1) {
		u32 id = __ffs64(bits);
		u32 slot = page->word[i] == NO_WORD ? watch->slot[id] : page->word[i] * 64 + id;

		exec[n] = slot == CAIRN_SCHED_NONE ? NULL : cairn_lane_qp(watch->lane, slot);
		/* A process may set bits that belong to no QP. */
		if (exec[n])
			exec[n++]->running++;
	}
	return n;
}

bool cairn_watch_take_word(struct cairn_watch *watch, struct cairn_exec **exec, u32 *num)
{
	struct watch_page *page;

	lockdep_assert_held(&watch->lane->lock);
	watch_note_served(watch);
	*num = 0;
	list_for_each_entry(page, &watch->pages, list) {
		struct cairn_ready_page *shared = page->shared;
		u64 summary = READ_ONCE(shared->summary) & page->used;
		u32 i;

		if (!summary)
			continue;
		i = __ffs64(summary);
		/* Both are full barriers, as in watch_poll_page(). */
		atomic64_fetch_andnot(BIT_ULL(i), (atomic64_t *)&shared->summary);
		*num = watch_list_word(watch, page, i, xchg(&shared->words[i], 0), exec);
		return true;
	}
	return false;
}

struct cairn_lane *cairn_watch_lane(const struct cairn_watch *watch)
{
	return watch->lane;
}

void cairn_watch_ring(struct cairn_exec *exec)
{
	struct cairn_watch *watch = exec->watch;

	/* A full barrier: the write pointer is read after it. */
	atomic64_fetch_andnot(BIT_ULL(exec->id % 64),
			      (atomic64_t *)exec->ready);
	/* With PREEMPT_RT, the lane may be preempted while the flag is low, and would not
	 * see a post. Tasks of realtime priority are common there, too.
	 */
	if (!list_empty_careful(&watch->active) || IS_ENABLED(CONFIG_PREEMPT_RT) ||
	    !watch_idle_ns(watch))
		return;
	/* With one CPU, a lane that polls keeps the process from posting. */
	if (num_online_cpus() > 1 && ktime_get_ns() >= READ_ONCE(watch->quiet_until))
		watch_activate(watch);
	else if (watch_may_be_lazy(watch))
		watch_set_lazy(watch);
}
