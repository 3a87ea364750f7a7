// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "pd.h"

static void pd_hold(unsigned int *users)
{
	__atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}

static void pd_release(unsigned int *users)
{
	__atomic_sub_fetch(users, 1, __ATOMIC_RELEASE);
}

static bool pd_used(const unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

struct cairn_pd *cairn_pd_join(struct ibv_pd *pd)
{
	struct cairn_pd *parent = to_cpd(pd);

	if (!parent->base)
		return NULL;
	pd_hold(&parent->users);
	return parent;
}

void cairn_pd_leave(struct cairn_pd *parent)
{
	if (parent)
		pd_release(&parent->users);
}

struct ibv_pd *cairn_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct cairn_pd *pd = calloc(1, sizeof(*pd));
	union verbs_cmd_buf cmd = {};
	int err;

	if (!pd)
		return NULL;
	err = ibv_cmd_alloc_pd(ctx, &pd->pd, &cmd,
			       VERBS_CMD_SIZE(struct ib_uverbs_alloc_pd), &resp,
			       sizeof(resp));
	if (!err)
		return &pd->pd;
	free(pd);
	errno = err;
	return NULL;
}

/* A program's allocator is refused: the kernel allocates the rings. */
struct ibv_pd *cairn_alloc_parent_domain(struct ibv_context *ctx,
					 struct ibv_parent_domain_init_attr *attr)
{
	struct cairn_pd *pd;

	if (attr->comp_mask & ~(uint32_t)IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!attr->pd || to_cpd(attr->pd)->base) {
		errno = EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->pd.context = ctx;
	pd->pd.handle = attr->pd->handle;
	pd->base = to_cpd(attr->pd);
	pd_hold(&pd->base->users);
	if (attr->td) {
		pd->td = cairn_container_of(attr->td, struct cairn_td, td);
		pd_hold(&pd->td->users);
	}
	return &pd->pd;
}

static int pd_dealloc_parent(struct cairn_pd *pd)
{
	if (pd_used(&pd->users))
		return EBUSY;
	if (pd->td)
		pd_release(&pd->td->users);
	pd_release(&pd->base->users);
	free(pd);
	return 0;
}

int cairn_dealloc_pd(struct ibv_pd *ibpd)
{
	struct cairn_pd *pd = to_cpd(ibpd);
	int err;

	if (pd->base)
		return pd_dealloc_parent(pd);
	if (pd_used(&pd->users))
		return EBUSY;
	err = ibv_cmd_dealloc_pd(ibpd);
	if (!err)
		free(pd);
	return err;
}

struct ibv_td *cairn_alloc_td(struct ibv_context *ctx,
			      struct ibv_td_init_attr *attr)
{
	struct cairn_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = ctx;
	return &td->td;
}

int cairn_dealloc_td(struct ibv_td *ibtd)
{
	struct cairn_td *td = cairn_container_of(ibtd, struct cairn_td, td);

	if (pd_used(&td->users))
		return EBUSY;
	free(td);
	return 0;
}
