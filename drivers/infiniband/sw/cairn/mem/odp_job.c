// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A job waits in the queue of its region. A queue with jobs is in the list of its
 * process. A process with such queues is in the list of its user, unless it runs
 * its full share of jobs. The queues of a process take turns, and so do the
 * processes of a user.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include "compat/workqueue.h"
#include "device/share.h"
#include "mem/odp_job.h"

/* Jobs that are started at a time, under the lock, when a queue ends. */
#define ODP_END_JOBS	32
/* A job that runs longer may never end. */
#define ODP_LONG_MS	100

/* A job that runs, on the stack of its thread. */
struct odp_run {
	struct list_head node;
	unsigned long since;		/* jiffies */
	bool holds_module;
};

struct odp_user {
	struct hlist_node node;
	kuid_t uid;
	u32 processes;			/* under the mutex */
	u32 busy;			/* jobs that were given to the workqueue */
	struct list_head ready;		/* processes with jobs to start */
};

struct cairn_odp_process {
	struct hlist_node node;
	const struct mm_struct *mm;	/* only compared */
	struct odp_user *user;
	refcount_t refs;		/* queues, and jobs */
	u32 busy;
	struct list_head turn;		/* in the user's list */
	struct list_head queues;		/* queues that have jobs */
};

/* Users and processes that have regions or jobs. */
static DEFINE_HASHTABLE(odp_users, 6);
static DEFINE_HASHTABLE(odp_processes, 8);
static DEFINE_MUTEX(odp_jobs_mutex);	/* both tables */
static DEFINE_SPINLOCK(odp_jobs_lock);	/* running and waiting jobs */
static LIST_HEAD(odp_runs);		/* oldest first; under the lock */
static struct workqueue_struct *odp_wq;
static u32 odp_user_jobs;

static struct odp_user *odp_user_find(kuid_t uid)
{
	struct odp_user *user;

	hash_for_each_possible(odp_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static void odp_user_put(struct odp_user *user)
{
	if (--user->processes)
		return;
	hash_del(&user->node);
	kfree(user);
}

static struct cairn_odp_process *odp_process_find(const struct mm_struct *mm,
						  kuid_t uid)
{
	struct cairn_odp_process *process;

	hash_for_each_possible(odp_processes, process, node, (unsigned long)mm)
		if (process->mm == mm && uid_eq(process->user->uid, uid))
			return process;
	return NULL;
}

/* @process is new, and so is @user if it has no processes. */
static void odp_process_add(struct cairn_odp_process *process,
			    struct odp_user *user, kuid_t uid)
{
	if (!user->processes++) {
		user->uid = uid;
		INIT_LIST_HEAD(&user->ready);
		hash_add(odp_users, &user->node, __kuid_val(uid));
	}
	process->user = user;
	process->mm = current->mm;
	refcount_set(&process->refs, 1);
	INIT_LIST_HEAD(&process->turn);
	INIT_LIST_HEAD(&process->queues);
	hash_add(odp_processes, &process->node, (unsigned long)current->mm);
}

/* Allocate before taking the mutex: an allocation that sleeps must not delay
 * others.
 */
static struct cairn_odp_process *odp_process_get(void)
{
	struct cairn_odp_process *process, *fresh;
	struct odp_user *user, *fresh_user;
	kuid_t uid = cairn_share_uid();

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	fresh_user = kzalloc(sizeof(*fresh_user), GFP_KERNEL_ACCOUNT);
	mutex_lock(&odp_jobs_mutex);
	process = odp_process_find(current->mm, uid);
	if (process) {
		refcount_inc(&process->refs);
	} else if (fresh && fresh_user) {
		user = odp_user_find(uid);
		if (!user)
			swap(user, fresh_user);
		swap(process, fresh);
		odp_process_add(process, user, uid);
	}
	mutex_unlock(&odp_jobs_mutex);
	kfree(fresh_user);
	kfree(fresh);
	return process;
}

static void odp_process_put(struct cairn_odp_process *process)
{
	if (!refcount_dec_and_mutex_lock(&process->refs, &odp_jobs_mutex))
		return;
	hash_del(&process->node);
	odp_user_put(process->user);
	mutex_unlock(&odp_jobs_mutex);
	kfree(process);
}

int cairn_odp_queue_init(struct cairn_odp_queue *queue)
{
	INIT_LIST_HEAD(&queue->turn);
	INIT_LIST_HEAD(&queue->waiting);
	queue->process = odp_process_get();
	return queue->process ? 0 : -ENOMEM;
}

void cairn_odp_queue_free(struct cairn_odp_queue *queue)
{
	odp_process_put(queue->process);
}

/* Give @process a turn if it has waiting jobs and its share allows one. */
static void odp_process_ready(struct cairn_odp_process *process)
{
	if (list_empty(&process->turn) && !list_empty(&process->queues) &&
	    process->busy < CAIRN_ODP_PROCESS_JOBS)
		list_add_tail(&process->turn, &process->user->ready);
}

/* Start the first job of @queue. Return: that job, only to be compared. */
static const struct cairn_odp_job *odp_queue_run(struct cairn_odp_queue *queue)
{
	struct cairn_odp_process *process = queue->process;
	struct cairn_odp_job *job = list_first_entry(&queue->waiting,
						     struct cairn_odp_job, node);

	list_del_init(&job->node);
	list_del_init(&queue->turn);
	if (!list_empty(&queue->waiting))
		list_add_tail(&queue->turn, &process->queues);
	process->busy++;
	process->user->busy++;
	queue_work(odp_wq, &job->work);
	return job;
}

/* Start waiting jobs of @user: mostly one, when another has ended. Return: true
 * if @job was among them; it may be freed then.
 */
static bool odp_user_run(struct odp_user *user, const struct cairn_odp_job *job)
{
	bool begun = false;

	while (user->busy < odp_user_jobs && !list_empty(&user->ready)) {
		struct cairn_odp_process *process =
			list_first_entry(&user->ready, struct cairn_odp_process,
					 turn);

		list_del_init(&process->turn);
		begun |= job == odp_queue_run(list_first_entry(&process->queues,
							       struct cairn_odp_queue,
							       turn));
		odp_process_ready(process);
	}
	return begun;
}

/* A process without waiting jobs has no turn. */
static void odp_process_left(struct cairn_odp_process *process)
{
	if (list_empty(&process->queues))
		list_del_init(&process->turn);
}

void cairn_odp_queue_end(struct cairn_odp_queue *queue)
{
	bool more = true;
	u32 n;

	while (more) {
		spin_lock_irq(&odp_jobs_lock);
		WRITE_ONCE(queue->ended, true);
		for (n = 0; n < ODP_END_JOBS && !list_empty(&queue->waiting); n++)
			odp_queue_run(queue);
		more = !list_empty(&queue->waiting);
		odp_process_left(queue->process);
		spin_unlock_irq(&odp_jobs_lock);
		cond_resched();
	}
}

/* Hold a reference to the module for jobs that run long, so that rmmod fails.
 * Otherwise unloading waits for its threads, and hangs as long as a file system
 * does.
 */
static void odp_runs_watch(struct work_struct *work);
static DECLARE_DELAYED_WORK(odp_runs_work, odp_runs_watch);

static void odp_runs_watch(struct work_struct *work)
{
	unsigned long old = jiffies - msecs_to_jiffies(ODP_LONG_MS);
	struct odp_run *run;
	bool any;

	spin_lock_irq(&odp_jobs_lock);
	list_for_each_entry(run, &odp_runs, node) {
		if (time_after(run->since, old))
			break;
		if (!run->holds_module)
			run->holds_module = try_module_get(THIS_MODULE);
	}
	any = !list_empty(&odp_runs);
	spin_unlock_irq(&odp_jobs_lock);
	if (any)
		schedule_delayed_work(&odp_runs_work,
				      msecs_to_jiffies(ODP_LONG_MS));
}

static void odp_run_begin(struct odp_run *run)
{
	run->since = jiffies;
	run->holds_module = false;
	spin_lock_irq(&odp_jobs_lock);
	list_add_tail(&run->node, &odp_runs);
	spin_unlock_irq(&odp_jobs_lock);
	schedule_delayed_work(&odp_runs_work, msecs_to_jiffies(ODP_LONG_MS));
}

static void odp_run_end(struct odp_run *run)
{
	spin_lock_irq(&odp_jobs_lock);
	list_del(&run->node);
	spin_unlock_irq(&odp_jobs_lock);
	/* Destroying the workqueue still waits for this thread. */
	if (run->holds_module)
		module_put(THIS_MODULE);
}

static void odp_job_over(struct cairn_odp_process *process)
{
	spin_lock_irq(&odp_jobs_lock);
	process->busy--;
	process->user->busy--;
	odp_process_ready(process);
	odp_user_run(process->user, NULL);
	spin_unlock_irq(&odp_jobs_lock);
	odp_process_put(process);
}

static void odp_job_work(struct work_struct *work)
{
	struct cairn_odp_job *job = container_of(work, struct cairn_odp_job,
						 work);
	/* job->func() may free the job, or queue it again. */
	struct cairn_odp_process *process = job->process;
	struct odp_run run;

	odp_run_begin(&run);
	job->func(job);
	odp_job_over(process);
	odp_run_end(&run);
}

void cairn_odp_job_init(struct cairn_odp_job *job,
			void (*func)(struct cairn_odp_job *job))
{
	INIT_WORK(&job->work, odp_job_work);
	INIT_LIST_HEAD(&job->node);
	job->func = func;
}

bool cairn_odp_job_queue(struct cairn_odp_job *job, struct cairn_odp_queue *queue)
{
	struct cairn_odp_process *process = queue->process;
	unsigned long flags;
	bool begun = true;

	refcount_inc(&process->refs);
	job->process = process;
	job->queue = queue;
	spin_lock_irqsave(&odp_jobs_lock, flags);
	if (list_empty(&queue->waiting))
		list_add_tail(&queue->turn, &process->queues);
	list_add_tail(&job->node, &queue->waiting);
	if (queue->ended) {
		odp_queue_run(queue);
		odp_process_left(process);
	} else {
		odp_process_ready(process);
		begun = odp_user_run(process->user, job);
	}
	spin_unlock_irqrestore(&odp_jobs_lock, flags);
	return !begun;
}

/* Remove @job from its queue, if it is in one. */
static bool odp_job_leave(struct cairn_odp_job *job)
{
	bool waits;

	spin_lock_irq(&odp_jobs_lock);
	waits = !list_empty(&job->node);
	if (waits) {
		list_del_init(&job->node);
		if (list_empty(&job->queue->waiting))
			list_del_init(&job->queue->turn);
		odp_process_left(job->process);
	}
	spin_unlock_irq(&odp_jobs_lock);
	return waits;
}

bool cairn_odp_job_cancel(struct cairn_odp_job *job)
{
	if (odp_job_leave(job))
		odp_process_put(job->process);
	else if (compat_cancel_work(&job->work))
		odp_job_over(job->process);
	else
		return false;
	return true;
}

int cairn_odp_jobs_start(void)
{
	/* The threads of the workqueue are divided among the nodes. */
	odp_user_jobs = max_t(u32, CAIRN_ODP_USER_JOBS / num_online_nodes(),
			      CAIRN_ODP_PROCESS_JOBS);
	odp_wq = alloc_workqueue("cairn_odp", WQ_UNBOUND, CAIRN_ODP_JOBS);
	return odp_wq ? 0 : -ENOMEM;
}

void cairn_odp_jobs_stop(void)
{
	destroy_workqueue(odp_wq);
	cancel_delayed_work_sync(&odp_runs_work);
}
