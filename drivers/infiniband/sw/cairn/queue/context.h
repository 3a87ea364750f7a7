/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The context of a process that opened the device. It owns the queues. */
#ifndef CAIRN_QUEUE_CONTEXT_H
#define CAIRN_QUEUE_CONTEXT_H

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct cairn_qinfo_table;
struct cairn_ready;
struct cairn_dereg_async;
struct cairn_room;
struct cairn_share_user;

struct cairn_ucontext {
	struct ib_ucontext ibuc;
	struct cairn_qinfo_table *qinfo;	/* queue/qinfo.c */
	struct cairn_ready *ready;	/* queue/ready.c */
	struct xarray doorbells;	/* verbs/doorbell.c: qid -> QP side */
	struct cairn_dereg_async *dereg;	/* NULL: none yet */
	struct mem_cgroup *memcg;	/* of the process; holds a reference */
	struct cairn_share_user *user;	/* of the process; holds a reference */
	struct cairn_room *room;	/* lane/room.h; NULL: no UC or UD queue pair yet */
};

static inline struct cairn_ucontext *to_cairn_ucontext(struct ib_ucontext *uc)
{
	return container_of(uc, struct cairn_ucontext, ibuc);
}

/**
 * cairn_context_zalloc() - memory for the owner of a queue, on the data path
 * @uctx: its process is charged; NULL: a kernel consumer
 * @n: elements
 * @size: bytes of each element
 *
 * Context: any but hard interrupts.
 * Return: zeroed memory for kfree(), or NULL.
 */
static inline void *cairn_context_zalloc(const struct cairn_ucontext *uctx,
					 size_t n, size_t size)
{
	gfp_t flags = GFP_ATOMIC | __GFP_NOWARN;
	struct mem_cgroup *old;
	void *mem;

	if (!uctx)
		return kcalloc(n, size, flags);
	old = set_active_memcg(uctx->memcg);
	mem = kcalloc(n, size, flags | __GFP_ACCOUNT);
	set_active_memcg(old);
	return mem;
}

#endif
