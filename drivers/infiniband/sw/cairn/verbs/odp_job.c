// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A job waits in the list of its process. A process is in the list of its user while
 * jobs wait there and the process has not its share at work. Processes of a user take
 * turns.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include "verbs/odp_job.h"

struct odp_user {
	struct hlist_node node;
	kuid_t uid;
	u32 processes;			/* below the mutex */
	u32 busy;			/* jobs that were given to the workqueue */
	struct list_head ready;		/* of processes */
};

struct cairn_odp_process {
	struct hlist_node node;
	const struct mm_struct *mm;	/* compared, not used */
	struct odp_user *user;
	refcount_t refs;		/* regions, and jobs */
	u32 busy;
	struct list_head turn;		/* in the user's list */
	struct list_head waiting;	/* of jobs */
};

/* Those that have regions or jobs. */
static DEFINE_HASHTABLE(odp_users, 6);
static DEFINE_HASHTABLE(odp_processes, 8);
static DEFINE_MUTEX(odp_jobs_mutex);	/* both tables */
static DEFINE_SPINLOCK(odp_jobs_lock);	/* what is at work, and what waits */
static struct workqueue_struct *odp_wq;

/* Who is responsible: who may make user namespaces can be many users in them. */
static kuid_t odp_current_user(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

static struct odp_user *odp_user_get(kuid_t uid)
{
	struct odp_user *user;

	hash_for_each_possible(odp_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			goto found;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	INIT_LIST_HEAD(&user->ready);
	hash_add(odp_users, &user->node, __kuid_val(uid));
found:
	user->processes++;
	return user;
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

static struct cairn_odp_process *odp_process_new(const struct mm_struct *mm,
						 kuid_t uid)
{
	struct cairn_odp_process *process;

	process = kzalloc(sizeof(*process), GFP_KERNEL_ACCOUNT);
	if (!process)
		return NULL;
	process->user = odp_user_get(uid);
	if (!process->user) {
		kfree(process);
		return NULL;
	}
	process->mm = mm;
	refcount_set(&process->refs, 1);
	INIT_LIST_HEAD(&process->turn);
	INIT_LIST_HEAD(&process->waiting);
	hash_add(odp_processes, &process->node, (unsigned long)mm);
	return process;
}

struct cairn_odp_process *cairn_odp_process_get(void)
{
	kuid_t uid = odp_current_user();
	struct cairn_odp_process *process;

	mutex_lock(&odp_jobs_mutex);
	process = odp_process_find(current->mm, uid);
	if (process)
		refcount_inc(&process->refs);
	else
		process = odp_process_new(current->mm, uid);
	mutex_unlock(&odp_jobs_mutex);
	return process;
}

void cairn_odp_process_put(struct cairn_odp_process *process)
{
	if (!refcount_dec_and_mutex_lock(&process->refs, &odp_jobs_mutex))
		return;
	hash_del(&process->node);
	odp_user_put(process->user);
	mutex_unlock(&odp_jobs_mutex);
	kfree(process);
}

/* It has jobs that wait: may it have its turn? */
static void odp_process_ready(struct cairn_odp_process *process)
{
	if (list_empty(&process->turn) && !list_empty(&process->waiting) &&
	    process->busy < CAIRN_ODP_PROCESS_JOBS)
		list_add_tail(&process->turn, &process->user->ready);
}

static struct cairn_odp_job *odp_job_waiting(struct cairn_odp_process *process)
{
	return list_first_entry(&process->waiting, struct cairn_odp_job, node);
}

/* Give threads to who waits for them: to one job mostly, when another is over. */
static void odp_user_run(struct odp_user *user)
{
	while (user->busy < CAIRN_ODP_USER_JOBS && !list_empty(&user->ready)) {
		struct cairn_odp_process *process =
			list_first_entry(&user->ready, struct cairn_odp_process,
					 turn);
		struct cairn_odp_job *job = odp_job_waiting(process);

		list_del_init(&process->turn);
		list_del_init(&job->node);
		process->busy++;
		user->busy++;
		queue_work(odp_wq, &job->work);
		odp_process_ready(process);
	}
}

static void odp_job_over(struct cairn_odp_process *process)
{
	spin_lock_irq(&odp_jobs_lock);
	process->busy--;
	process->user->busy--;
	odp_process_ready(process);
	odp_user_run(process->user);
	spin_unlock_irq(&odp_jobs_lock);
	cairn_odp_process_put(process);
}

static void odp_job_work(struct work_struct *work)
{
	struct cairn_odp_job *job = container_of(work, struct cairn_odp_job,
						 work);
	/* The job may be gone, or queued again, when it returns. */
	struct cairn_odp_process *process = job->process;

	job->func(job);
	odp_job_over(process);
}

void cairn_odp_job_init(struct cairn_odp_job *job,
			void (*func)(struct cairn_odp_job *job))
{
	INIT_WORK(&job->work, odp_job_work);
	INIT_LIST_HEAD(&job->node);
	job->func = func;
}

bool cairn_odp_job_queue(struct cairn_odp_job *job,
			 struct cairn_odp_process *process)
{
	unsigned long flags;
	bool waits;

	refcount_inc(&process->refs);
	job->process = process;
	spin_lock_irqsave(&odp_jobs_lock, flags);
	list_add_tail(&job->node, &process->waiting);
	odp_process_ready(process);
	odp_user_run(process->user);
	waits = !list_empty(&job->node);
	spin_unlock_irqrestore(&odp_jobs_lock, flags);
	return waits;
}

/* Take it out of its list, if it is in one. */
static bool odp_job_leave(struct cairn_odp_job *job)
{
	bool waits;

	spin_lock_irq(&odp_jobs_lock);
	waits = !list_empty(&job->node);
	if (waits) {
		list_del_init(&job->node);
		if (list_empty(&job->process->waiting))
			list_del_init(&job->process->turn);
	}
	spin_unlock_irq(&odp_jobs_lock);
	return waits;
}

bool cairn_odp_job_cancel(struct cairn_odp_job *job)
{
	if (odp_job_leave(job)) {
		cairn_odp_process_put(job->process);
		return true;
	}
	if (!cancel_work_sync(&job->work))
		return false;
	odp_job_over(job->process);
	return true;
}

int cairn_odp_jobs_start(void)
{
	odp_wq = alloc_workqueue("cairn_odp", WQ_UNBOUND, CAIRN_ODP_JOBS);
	return odp_wq ? 0 : -ENOMEM;
}

void cairn_odp_jobs_stop(void)
{
	destroy_workqueue(odp_wq);
}
