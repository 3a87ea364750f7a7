/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_KTHREAD_H
#define CAIRN_SHIM_LINUX_KTHREAD_H

#include <linux/sched.h>

/* Defined by the test, which calls the thread's function itself. */
struct task_struct *kthread_create_on_node(int (*function)(void *), void *data, int node,
					   const char *name, ...);
bool kthread_should_stop(void);
int kthread_stop(struct task_struct *task);

#define IS_ERR(pointer)		((unsigned long)(pointer) >= -4095UL)
#define PTR_ERR(pointer)	((long)(pointer))
#define ERR_PTR(error)		((void *)(long)(error))

#endif
