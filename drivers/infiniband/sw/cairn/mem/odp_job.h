/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work that brings pages of regions on demand, and shares of the threads that do it.
 * How long a page takes may be up to a process (FUSE), or to a file system that is
 * frozen. So each process has a few threads at a time and each user some more, and the
 * rest of their work waits for those: nobody else waits for it.
 */
#ifndef CAIRN_MEM_ODP_JOB_H
#define CAIRN_MEM_ODP_JOB_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct cairn_odp_process;

/* At work at a time. */
#define CAIRN_ODP_PROCESS_JOBS	16
#define CAIRN_ODP_USER_JOBS	128	/* divided by the number of NUMA nodes */
#define CAIRN_ODP_JOBS		512	/* of all: the most a workqueue has */

/* What waits for a share, of one region. */
struct cairn_odp_line {
	struct cairn_odp_process *process;	/* held */
	struct list_head turn;			/* in the process's list */
	struct list_head waiting;		/* of jobs */
	bool ended;				/* also read without the lock */
};

struct cairn_odp_job {
	struct work_struct work;
	void (*func)(struct cairn_odp_job *job);
	struct list_head node;			/* while it waits */
	struct cairn_odp_line *line;		/* held by the user while it waits */
	struct cairn_odp_process *process;	/* held until func has returned */
};

/* @line is for the calling process and user. Return: 0 or -ENOMEM. Both sleep. */
int cairn_odp_line_init(struct cairn_odp_line *line);
/* Nothing waits there any more. */
void cairn_odp_line_free(struct cairn_odp_line *line);

/* What waits, or is queued later, goes to work at once, whatever is at work: it is soon
 * through. Sleeps.
 */
void cairn_odp_line_end(struct cairn_odp_line *line);

/* @func sleeps, and may free the job or queue it again. */
void cairn_odp_job_init(struct cairn_odp_job *job,
			void (*func)(struct cairn_odp_job *job));

/**
 * cairn_odp_job_queue() - do it when there is a thread
 * @job: neither waiting nor about to run; may be gone when this returns
 * @line: for which; held until the job has begun
 *
 * Any context. Return: true if it waits for a share.
 */
bool cairn_odp_job_queue(struct cairn_odp_job *job, struct cairn_odp_line *line);

/* No caller queues it any more. Return: true if it was queued and will not run; else it runs
 * now, or has run. Process context.
 */
bool cairn_odp_job_cancel(struct cairn_odp_job *job);

/* Module start and stop. */
int cairn_odp_jobs_start(void);
void cairn_odp_jobs_stop(void);

#endif
