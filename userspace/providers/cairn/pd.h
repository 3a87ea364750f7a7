/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection domains, thread domains, and parent domains, each of which joins both.
 *
 * A parent domain has the handle of its protection domain and stands for it in every
 * call. If it has a thread domain, its queue pairs take no locks when they post, nor its
 * completion queues when they are polled: the program uses them from one thread at a time.
 */
#ifndef CAIRN_PD_H
#define CAIRN_PD_H

#include "cairn.h"

struct cairn_td {
	struct ibv_td td;	/* must be first */
	unsigned int users;	/* parent domains; atomic */
	int inside;		/* CAIRN_CHECK: a thread in a call for its objects */
};

struct cairn_pd {
	struct ibv_pd pd;	/* must be first */
	struct cairn_pd *base;	/* of a parent domain; else NULL */
	struct cairn_td *td;	/* or NULL */
	/* Parent domains; of a parent domain: queue pairs and completion queues. Atomic. */
	unsigned int users;
};

static inline struct cairn_pd *to_cpd(struct ibv_pd *pd)
{
	return cairn_container_of(pd, struct cairn_pd, pd);
}

/* The protection domain itself. */
static inline const struct ibv_pd *cairn_pd_base(struct ibv_pd *pd)
{
	return to_cpd(pd)->base ? &to_cpd(pd)->base->pd : pd;
}

/* Return: whether objects of @pd are used from one thread at a time. */
static inline bool cairn_pd_single(struct ibv_pd *pd)
{
	return to_cpd(pd)->td;
}

/*
 * A queue pair or completion queue of @pd. Return: the parent domain, which does not end
 * before cairn_pd_leave(), or NULL if @pd is none: the kernel counts its users.
 */
struct cairn_pd *cairn_pd_join(struct ibv_pd *pd);
/* @parent may be NULL. */
void cairn_pd_leave(struct cairn_pd *parent);

struct ibv_pd *cairn_alloc_pd(struct ibv_context *ctx);
struct ibv_pd *cairn_alloc_parent_domain(struct ibv_context *ctx,
					 struct ibv_parent_domain_init_attr *attr);
int cairn_dealloc_pd(struct ibv_pd *pd);
struct ibv_td *cairn_alloc_td(struct ibv_context *ctx,
			      struct ibv_td_init_attr *attr);
int cairn_dealloc_td(struct ibv_td *td);

#endif /* CAIRN_PD_H */
