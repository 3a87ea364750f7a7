/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The test decides which readers there are, and when removed objects are freed. */
#ifndef CAIRN_SHIM_LINUX_RCUPDATE_H
#define CAIRN_SHIM_LINUX_RCUPDATE_H

#include <linux/compiler.h>

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

#define rcu_dereference_raw(p)	__atomic_load_n(&(p), __ATOMIC_CONSUME)
#define rcu_dereference(p)	rcu_dereference_raw(p)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_access_pointer(p)	__atomic_load_n(&(p), __ATOMIC_RELAXED)
#define rcu_assign_pointer(p, v) __atomic_store_n(&(p), v, __ATOMIC_RELEASE)
#define RCU_INIT_POINTER(p, v)	__atomic_store_n(&(p), v, __ATOMIC_RELAXED)

static inline void rcu_read_lock(void) { }
static inline void rcu_read_unlock(void) { }

/* free() after a grace period */
void shim_free_rcu(void *p);

#define kfree_rcu(p, head)	shim_free_rcu(p)

#endif
