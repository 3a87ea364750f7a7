/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Jobs that fault in pages of on-demand regions, and shares of the threads for
 * them. A process (FUSE) or a frozen file system may delay a page for any time.
 * So each process and each user has a limited number of threads at a time. Its
 * other jobs wait, without delaying jobs of others.
 */
#ifndef CAIRN_MEM_ODP_JOB_H
#define CAIRN_MEM_ODP_JOB_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct cairn_odp_process;

/* Jobs that run at a time. */
#define CAIRN_ODP_PROCESS_JOBS	16
#define CAIRN_ODP_USER_JOBS	128	/* divided by the number of NUMA nodes */
#define CAIRN_ODP_JOBS		512	/* in total: the workqueue's limit */

/* Jobs of one region that wait for a share. */
struct cairn_odp_queue {
	struct cairn_odp_process *process;	/* a reference */
	struct list_head turn;			/* in the process's list */
	struct list_head waiting;		/* jobs */
	bool ended;				/* also read without the lock */
};

struct cairn_odp_job {
	struct work_struct work;
	void (*func)(struct cairn_odp_job *job);
	struct list_head node;			/* while it waits */
	struct cairn_odp_queue *queue;		/* valid while it waits */
	struct cairn_odp_process *process;	/* until func has returned */
};

/* Initialise @queue for the calling process and user. Sleeps. Return: 0 or
 *	-ENOMEM.
 */
int cairn_odp_queue_init(struct cairn_odp_queue *queue);
/* Free @queue, which has no waiting jobs. Sleeps. */
void cairn_odp_queue_free(struct cairn_odp_queue *queue);

/* Start all waiting jobs of @queue, and later ones when they are queued,
 * regardless of shares: they end quickly. Sleeps.
 */
void cairn_odp_queue_end(struct cairn_odp_queue *queue);

/* @func may sleep, free the job or queue it again. */
void cairn_odp_job_init(struct cairn_odp_job *job,
			void (*func)(struct cairn_odp_job *job));

/**
 * cairn_odp_job_queue() - run a job when there is a thread
 * @job: neither waiting nor about to run; may be freed when this returns
 * @queue: its queue; must stay valid until the job has begun
 *
 * Any context. Return: true if it waits for a share.
 */
bool cairn_odp_job_queue(struct cairn_odp_job *job, struct cairn_odp_queue *queue);

/* Cancel @job, which no caller queues any more. Return: true if it was queued
 * and will not run; false if it runs now or has run. Process context.
 */
bool cairn_odp_job_cancel(struct cairn_odp_job *job);

/* Module start and stop. */
int cairn_odp_jobs_start(void);
void cairn_odp_jobs_stop(void);

#endif
