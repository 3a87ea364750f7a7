// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand memory. Nothing is pinned: the table holds pages that the process
 * has mapped now, and a notifier runs before the kernel removes one. Explicit
 * and implicit regions differ only in their range: the table has entries only
 * for pages that were used. ib_umem_odp is not used, as its arrays are as long
 * as the range.
 *
 * Access: a run finds the page in the table (device/epoch.h).
 *
 * Invalidation (odp_invalidate(), called by the kernel): remove pages from the
 * table, then advance the epoch, which waits for the runs that found one. The
 * mutex is held meanwhile. A second invalidation of the same pages finds none,
 * but must not return before those runs have ended.
 *
 * Faulting in (process context): fault the pages in, and add them to the table
 * unless one was invalidated meanwhile. The sequence number of the notifier
 * tells that. It is read under the lock of the table, as it is changed there.
 */
#include <linux/hmm.h>
#include <linux/lockdep.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "compat/folio.h"
#include "compat/gup.h"
#include "mem/media.h"
#include "mem/odp.h"
#include "mem/page.h"
#include "persist/domain.h"

#if CAIRN_HAS_ODP

/* How long a fault is retried while pages are being invalidated. */
#define ODP_PATIENCE_MS		100
/* Pages that are removed from the table at a time, under its lock. */
#define ODP_TAKE		1024
/* Pages that are checked at a time; their array is on the stack. */
#define ODP_CHECK		16

struct cairn_odp {
	struct mmu_interval_notifier notifier;	/* on the process's memory */
	struct cairn_nic *nic;
	struct mem_cgroup *memcg;	/* charged for tables; a reference */
	struct pid *tgid;		/* finds the process without MEMCG */
	struct cairn_odp_queue queue;	/* jobs that fault in pages */
	/* Page number -> PFN << 1 | writable. Written under its lock in process
	 * context; read under RCU.
	 */
	struct xarray pages;
	struct mutex taking;		/* one at a time; outside xa_lock */
	unsigned long first, end;	/* page numbers */
	bool writable;
	bool synced;			/* writes only to files with MAP_SYNC */
	/* The region, and each pending fault. A file system may delay a fault
	 * for any time, so it may outlive the region. It then holds only this
	 * memory.
	 */
	refcount_t users;
};

static struct page *odp_entry_page(const void *entry)
{
	return pfn_to_page(xa_to_value(entry) >> 1);
}

struct page *cairn_odp_page(const struct cairn_odp *odp, u64 addr, bool write)
{
	void *entry = xa_load((struct xarray *)&odp->pages, addr >> PAGE_SHIFT);

	if (!entry || (write && !(xa_to_value(entry) & 1)))
		return NULL;
	return odp_entry_page(entry);
}

/* Remove up to ODP_TAKE pages from @first to @last. Runs may still write to
 * them until the caller has waited, so the pages are marked dirty here.
 */
static u32 odp_take(struct cairn_odp *odp, unsigned long first,
		    unsigned long last)
{
	unsigned long i;
	void *entry;
	u32 n = 0;

	lockdep_assert_held(&odp->pages.xa_lock);
	xa_for_each_range(&odp->pages, i, entry, first, last) {
		if (xa_to_value(entry) & 1)
			compat_page_mark_dirty(odp_entry_page(entry));
		__xa_erase(&odp->pages, i);
		if (++n == ODP_TAKE)
			break;
	}
	return n;
}

static u64 odp_take_all(struct cairn_odp *odp, unsigned long first,
			unsigned long last)
{
	u64 all = 0;
	u32 n;

	do {
		xa_lock(&odp->pages);
		n = odp_take(odp, first, last);
		xa_unlock(&odp->pages);
		all += n;
		cond_resched();
	} while (n == ODP_TAKE);
	return all;
}

/* mmu_interval_read_begin() waits until the kernel has finished, so no page of
 * this range is added to the table before.
 */
static bool odp_invalidate(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range,
			   unsigned long seq)
{
	struct cairn_odp *odp = container_of(notifier, struct cairn_odp,
					     notifier);
	u64 n;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&odp->taking);
	xa_lock(&odp->pages);
	mmu_interval_set_seq(notifier, seq);
	xa_unlock(&odp->pages);
	n = odp_take_all(odp, range->start >> PAGE_SHIFT,
			 (range->end - 1) >> PAGE_SHIFT);
	if (n) {
		cairn_epoch_wait(&odp->nic->epoch);
		cairn_nic_count(odp->nic, CAIRN_CTR_ODP_INVALIDATIONS, n);
	}
	mutex_unlock(&odp->taking);
	return true;
}

static const struct mmu_interval_notifier_ops odp_notifier_ops = {
	.invalidate = odp_invalidate,
};

struct cairn_odp *cairn_odp_create(struct cairn_dev *dev, u64 start, u64 length,
				   bool writable)
{
	struct cairn_odp *odp;
	int err;

	if (!start && length == U64_MAX)
		length = TASK_SIZE;
	if (!length || start >= TASK_SIZE || length > TASK_SIZE - start)
		return ERR_PTR(-EOVERFLOW);
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	err = cairn_odp_queue_init(&odp->queue);
	if (err) {
		kfree(odp);
		return ERR_PTR(err);
	}
	odp->nic = &dev->nic;
	odp->first = start >> PAGE_SHIFT;
	odp->end = DIV_ROUND_UP(start + length, PAGE_SIZE);
	odp->writable = writable;
	xa_init_flags(&odp->pages, XA_FLAGS_ACCOUNT);
	mutex_init(&odp->taking);
	refcount_set(&odp->users, 1);
	err = mmu_interval_notifier_insert(&odp->notifier, current->mm,
					   odp->first << PAGE_SHIFT,
					   (odp->end - odp->first) << PAGE_SHIFT,
					   &odp_notifier_ops);
	if (err) {
		cairn_odp_queue_free(&odp->queue);
		kfree(odp);
		return ERR_PTR(err);
	}
	odp->memcg = get_mem_cgroup_from_mm(current->mm);
	odp->tgid = get_pid(task_tgid(current));
	mmgrab(odp->notifier.mm);
	return odp;
}

void cairn_odp_need_files(struct cairn_odp *odp)
{
	odp->synced = true;
}

static void odp_free(struct cairn_odp *odp)
{
	xa_destroy(&odp->pages);
	mutex_destroy(&odp->taking);
	mem_cgroup_put(odp->memcg);
	put_pid(odp->tgid);
	mmdrop(odp->notifier.mm);
	cairn_odp_queue_free(&odp->queue);
	kfree(odp);
}

void cairn_odp_stop(struct cairn_odp *odp)
{
	cairn_odp_queue_end(&odp->queue);
}

void cairn_odp_destroy(struct cairn_odp *odp)
{
	if (!odp)
		return;
	cairn_odp_stop(odp);
	/* Faults add no pages from now on: odp_keep() checks queue.ended under
	 * the lock. Written pages become dirty here, while the notifier keeps
	 * them in place.
	 */
	odp_take_all(odp, odp->first, odp->end - 1);
	mmu_interval_notifier_remove(&odp->notifier);
	cairn_odp_put(odp);
}

void cairn_odp_queue(struct cairn_odp *odp, struct cairn_odp_job *job)
{
	struct cairn_nic *nic = odp->nic;

	/* The job owns the reference to @odp and may drop it. */
	if (cairn_odp_job_queue(job, &odp->queue))
		cairn_nic_count(nic, CAIRN_CTR_ODP_WAITS, 1);
}

void cairn_odp_get(struct cairn_odp *odp)
{
	refcount_inc(&odp->users);
}

void cairn_odp_put(struct cairn_odp *odp)
{
	if (refcount_dec_and_test(&odp->users))
		odp_free(odp);
}

static bool odp_found(unsigned long pfn)
{
	return (pfn & (HMM_PFN_VALID | HMM_PFN_ERROR)) == HMM_PFN_VALID;
}

/* Number of pages from @pfns on with equal write access, at most @max. */
static unsigned long odp_found_alike(const unsigned long *pfns,
				     unsigned long max)
{
	unsigned long n = 0;

	while (n < max && odp_found(pfns[n]) &&
	       !((pfns[n] ^ pfns[0]) & HMM_PFN_WRITE))
		n++;
	return n;
}

/* How many of the @n pages from @addr on are mapped as the region needs it? */
static unsigned long odp_fitting(struct cairn_odp *odp, unsigned long addr,
				 unsigned long n)
{
	if (!odp->synced)
		return n;
	return cairn_media_synced(odp->notifier.mm, addr, n << PAGE_SHIFT) >>
	       PAGE_SHIFT;
}

static bool odp_page_fits(const struct cairn_odp *odp, struct page *page,
			  bool write)
{
	return cairn_page_touchable(page) &&
	       (!write || !odp->synced ||
		cairn_domain_is_pmem(page_to_phys(page), PAGE_SIZE));
}

/* Check up to @n pages from @addr on. Refused ones become errors. Return: the
 * number of pages that were checked, at least one.
 */
static unsigned long odp_check(struct cairn_odp *odp, unsigned long addr,
			       unsigned long *pfns, unsigned long n)
{
	bool write = odp->writable && pfns[0] & HMM_PFN_WRITE;
	struct page *pages[ODP_CHECK];
	long i, got = 0;

	if (write)
		n = odp_fitting(odp, addr, n);
	if (n)
		got = compat_get_user_pages_remote(odp->notifier.mm, addr, n,
						   FOLL_NOFAULT |
						   (write ? FOLL_WRITE : 0),
						   pages);
	if (got <= 0) {
		pfns[0] |= HMM_PFN_ERROR;
		return 1;
	}
	for (i = 0; i < got; i++) {
		if (pages[i] != hmm_pfn_to_page(pfns[i]) ||
		    !odp_page_fits(odp, pages[i], write))
			pfns[i] |= HMM_PFN_ERROR;
		put_page(pages[i]);
	}
	return got;
}

/* hmm_range_fault() finds pages that get_user_pages() refuses: secret memory,
 * and shadow stacks for writing. Nor does it know which can become durable. The
 * mappings do not change meanwhile. A page may change: then the notifier
 * invalidates the result.
 */
static void odp_check_all(struct cairn_odp *odp, const struct hmm_range *range)
{
	unsigned long n, addr = range->start;
	unsigned long *pfns = range->hmm_pfns;

	mmap_assert_locked(odp->notifier.mm);
	while (addr < range->end) {
		n = min_t(unsigned long, (range->end - addr) >> PAGE_SHIFT,
			  ODP_CHECK);
		n = odp_found_alike(pfns, n);
		n = n ? odp_check(odp, addr, pfns, n) : 1;
		addr += n << PAGE_SHIFT;
		pfns += n;
	}
}

/* Add the pages that were found to the table. @must: all are needed, and
 * entries are reserved for them.
 */
static int odp_keep(struct cairn_odp *odp, const struct hmm_range *range,
		    bool must)
{
	unsigned long i, first = range->start >> PAGE_SHIFT;
	unsigned long n = (range->end - range->start) >> PAGE_SHIFT;
	/* Without reserved entries, nodes are allocated here. */
	struct mem_cgroup *old_memcg = set_active_memcg(odp->memcg);
	int err = 0;
	u32 added = 0;

	xa_lock(&odp->pages);
	/* The device may be freed after the region has ended. */
	if (READ_ONCE(odp->queue.ended))
		err = -EINTR;
	else if (mmu_interval_read_retry(&odp->notifier, range->notifier_seq))
		err = -EBUSY;
	for (i = 0; i < n && !err; i++) {
		unsigned long found = range->hmm_pfns[i];
		void *old;

		if (!odp_found(found)) {
			err = must ? -EFAULT : 0;
			continue;
		}
		old = __xa_store(&odp->pages, first + i,
				 xa_mk_value(page_to_pfn(hmm_pfn_to_page(found)) << 1 |
					     (odp->writable && found & HMM_PFN_WRITE)),
				 GFP_NOWAIT | __GFP_NOWARN);
		if (xa_is_err(old) && must)
			err = -EBUSY;
		added += !old;
	}
	if (added)
		cairn_nic_count(odp->nic, CAIRN_CTR_ODP_PAGES, added);
	xa_unlock(&odp->pages);
	set_active_memcg(old_memcg);
	return err;
}

/* One attempt. -EBUSY: a page was invalidated meanwhile. */
static int odp_fault(struct cairn_odp *odp, unsigned long first,
		     unsigned long end, unsigned long flags)
{
	unsigned long pfns[CAIRN_ODP_BATCH] = {};
	struct mm_struct *mm = odp->notifier.mm;
	struct mem_cgroup *old_memcg;
	struct hmm_range range = {
		.notifier = &odp->notifier,
		.start = first << PAGE_SHIFT,
		.end = end << PAGE_SHIFT,
		.hmm_pfns = pfns,
		.default_flags = flags,
	};
	int err;

	range.notifier_seq = mmu_interval_read_begin(&odp->notifier);
	/* Charge page tables and page cache to the process, not this thread. */
	old_memcg = set_active_memcg(odp->memcg);
	mmap_read_lock(mm);
	err = hmm_range_fault(&range);
	if (!err)
		odp_check_all(odp, &range);
	mmap_read_unlock(mm);
	set_active_memcg(old_memcg);
	return err ?: odp_keep(odp, &range, flags);
}

/* Reserve entries in the table, before its lock is taken. */
static int odp_reserve(struct cairn_odp *odp, unsigned long first,
		       unsigned long end)
{
	struct mem_cgroup *old = set_active_memcg(odp->memcg);
	int err = 0;

	for (; first < end && !err; first++)
		err = xa_reserve(&odp->pages, first, GFP_KERNEL_ACCOUNT);
	set_active_memcg(old);
	return err;
}

static void odp_release(struct cairn_odp *odp, unsigned long first,
			unsigned long end)
{
	for (; first < end; first++)
		xa_release(&odp->pages, first);
}

/* Fault in at most CAIRN_ODP_BATCH pages. This gives up if they are invalidated
 * all the time; the access then asks again.
 */
static int odp_bring_batch(struct cairn_odp *odp, unsigned long first,
			   unsigned long end, enum cairn_odp_how how)
{
	unsigned long until = jiffies + msecs_to_jiffies(ODP_PATIENCE_MS);
	unsigned long flags = HMM_PFN_REQ_FAULT;
	int err;

	if (how == CAIRN_ODP_PRESENT)
		flags = 0;
	else if (how == CAIRN_ODP_WRITE)
		flags |= HMM_PFN_REQ_WRITE;
	err = flags ? odp_reserve(odp, first, end) : 0;
	while (!err) {
		err = odp_fault(odp, first, end, flags);
		if (err != -EBUSY || time_after(jiffies, until))
			break;
		err = READ_ONCE(odp->queue.ended) ? -EINTR : 0;
	}
	odp_release(odp, first, end);
	return err == -EBUSY ? 0 : err;
}

/* Is the memory used by a process that is not being killed? execve() and the
 * end of the last thread clear mm->owner. Without it pages would be charged to
 * the root cgroup.
 */
#ifdef CONFIG_MEMCG
static bool odp_has_process(struct cairn_odp *odp)
{
	struct task_struct *owner;
	bool lives;

	rcu_read_lock();
	owner = rcu_dereference(odp->notifier.mm->owner);
	lives = owner &&
		!(READ_ONCE(owner->signal->flags) & SIGNAL_GROUP_EXIT);
	rcu_read_unlock();
	return lives;
}
#else
static bool odp_has_process(struct cairn_odp *odp)
{
	struct task_struct *leader, *thread;
	bool lives = false;

	rcu_read_lock();
	leader = pid_task(odp->tgid, PIDTYPE_TGID);
	if (leader && !(READ_ONCE(leader->signal->flags) & SIGNAL_GROUP_EXIT))
		for_each_thread(leader, thread)
			lives |= READ_ONCE(thread->mm) == odp->notifier.mm;
	rcu_read_unlock();
	return lives;
}
#endif

/* Hold the process's memory for one batch only: back-to-back faults would keep
 * the memory of a process that has ended.
 */
static int odp_bring_of_process(struct cairn_odp *odp, unsigned long first,
				unsigned long end, enum cairn_odp_how how)
{
	struct mm_struct *mm = odp->notifier.mm;
	int err = -EFAULT;

	if (!mmget_not_zero(mm))
		return -EFAULT;
	if (odp_has_process(odp))
		err = odp_bring_batch(odp, first, end, how);
	mmput_async(mm);
	return err;
}

int cairn_odp_bring(struct cairn_odp *odp, u64 addr, u64 len,
		    enum cairn_odp_how how)
{
	unsigned long first = addr >> PAGE_SHIFT, end;
	int err = 0;

	if (READ_ONCE(odp->queue.ended))
		return -EINTR;
	if (!len)
		return 0;
	if (first < odp->first || first >= odp->end ||
	    len > ((u64)odp->end << PAGE_SHIFT) - addr)
		return -EFAULT;
	end = DIV_ROUND_UP(addr + len, PAGE_SIZE);
	while (first < end && !err) {
		unsigned long n = min_t(unsigned long, end - first,
					CAIRN_ODP_BATCH);

		err = odp_bring_of_process(odp, first, first + n, how);
		first += n;
		if (READ_ONCE(odp->queue.ended) || fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	return err;
}

int cairn_odp_bring_near(struct cairn_odp *odp, u64 addr, u64 len, bool write)
{
	u64 from = round_down(addr, CAIRN_ODP_BATCH << PAGE_SHIFT);
	u64 to = from + (CAIRN_ODP_BATCH << PAGE_SHIFT);
	int err;

	err = cairn_odp_bring(odp, addr, len,
			      write ? CAIRN_ODP_WRITE : CAIRN_ODP_READ);
	if (err)
		return err;
	from = max(from, (u64)odp->first << PAGE_SHIFT);
	to = min(to, (u64)odp->end << PAGE_SHIFT);
	cairn_odp_bring(odp, from, to - from, CAIRN_ODP_PRESENT);
	return 0;
}

#else

struct cairn_odp *cairn_odp_create(struct cairn_dev *dev, u64 start, u64 length,
				   bool writable)
{
	return ERR_PTR(-EOPNOTSUPP);
}

void cairn_odp_need_files(struct cairn_odp *odp)
{
}

void cairn_odp_destroy(struct cairn_odp *odp)
{
}

void cairn_odp_stop(struct cairn_odp *odp)
{
}

void cairn_odp_queue(struct cairn_odp *odp, struct cairn_odp_job *job)
{
}

void cairn_odp_get(struct cairn_odp *odp)
{
}

void cairn_odp_put(struct cairn_odp *odp)
{
}

struct page *cairn_odp_page(const struct cairn_odp *odp, u64 addr, bool write)
{
	return NULL;
}

int cairn_odp_bring(struct cairn_odp *odp, u64 addr, u64 len,
		    enum cairn_odp_how how)
{
	return -EFAULT;
}

int cairn_odp_bring_near(struct cairn_odp *odp, u64 addr, u64 len, bool write)
{
	return -EFAULT;
}

#endif
