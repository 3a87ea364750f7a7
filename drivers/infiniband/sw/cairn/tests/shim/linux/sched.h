/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SCHED_H
#define CAIRN_SHIM_LINUX_SCHED_H

#include <linux/types.h>
#include <sys/types.h>

struct task_struct {
	pid_t pid;
	unsigned long nvcsw;	/* how often it slept */
	unsigned long nivcsw;	/* how often it was preempted */
	int prio;
	bool running;		/* on a CPU, or waits for one */
	bool idle;		/* of an idle CPU */
};

#define task_is_running(task)	((task)->running)
#define is_idle_task(task)	((task)->idle)

/* Defined by the test: the calling thread. */
extern struct task_struct *shim_current;
#define current shim_current

#define SCHED_BATCH	3

struct sched_attr;

/* Defined by the test. */
int sched_setattr_nocheck(struct task_struct *task, const struct sched_attr *attr);
void wake_up_process(struct task_struct *task);
void cond_resched(void);

#endif
