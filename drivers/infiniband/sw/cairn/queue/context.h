/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a process that opened the device has: the owner of its queues. */
#ifndef CAIRN_QUEUE_CONTEXT_H
#define CAIRN_QUEUE_CONTEXT_H

#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct cairn_qinfo_table;
struct cairn_ready;
struct cairn_dereg_async;

struct cairn_ucontext {
	struct ib_ucontext ibuc;
	struct cairn_qinfo_table *qinfo;	/* queue/qinfo.c */
	struct cairn_ready *ready;	/* queue/ready.c */
	struct xarray doorbells;	/* verbs/doorbell.c: qid -> QP side */
	struct cairn_dereg_async *dereg;	/* NULL: none yet */
};

static inline struct cairn_ucontext *to_cairn_ucontext(struct ib_ucontext *uc)
{
	return container_of(uc, struct cairn_ucontext, ibuc);
}

#endif
