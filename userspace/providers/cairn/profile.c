// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cairn.h"
#include "profile.h"
#include "profile_choice.h"
#include "profile_file.h"
#include "qp.h"
#include "srq.h"

static pthread_mutex_t profile_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The operations before which a context has its limits. */
static const struct verbs_context_ops *profile_under(struct ibv_context *ctx)
{
	return &to_cctx(ctx)->under_profile;
}

static struct cairn_profile *profile_of(struct ibv_context *ctx)
{
	return to_cctx(ctx)->profile;
}

/* Return: ENOENT: there is no choice. */
static int profile_read_choice(struct cairn_profile *profile, const struct ibv_device *device)
{
	struct cairn_profile_choice choice;
	int err = cairn_profile_choice_open(&choice, device);

	if (err)
		return err;
	err = cairn_profile_file_read(profile, choice.path, choice.file);
	cairn_profile_choice_close(&choice);
	return err;
}

int cairn_profile_begin(const struct ibv_device *device, struct cairn_profile **profile)
{
	const char *name = secure_getenv("CAIRN_PROFILE");
	struct cairn_profile *read;
	int err;

	if (name && !*name)
		return 0;
	read = malloc(sizeof(*read));
	if (!read)
		return ENOMEM;
	err = name ? cairn_profile_file_load(read, name) : profile_read_choice(read, device);
	if (err) {
		free(read);
		return err == ENOENT ? 0 : err;
	}
	*profile = read;
	return 0;
}

/* ---- what is reported ---- */

static int profile_query_device_ex(struct ibv_context *ctx,
				   const struct ibv_query_device_ex_input *input,
				   struct ibv_device_attr_ex *attr, size_t size)
{
	struct cairn_profile *profile = profile_of(ctx);
	struct ibv_device_attr *base = &attr->orig_attr;
	int err = profile_under(ctx)->query_device_ex(ctx, input, attr, size);

	if (err)
		return err;
	for (const struct cairn_profile_limit *at = cairn_profile_limits; at->name; at++) {
		int *value = cairn_profile_value(base, at);
		int limit = *cairn_profile_value(&profile->attr, at);

		if (*value > limit)
			*value = limit;
	}
	if (base->max_mr_size > profile->attr.max_mr_size)
		base->max_mr_size = profile->attr.max_mr_size;
	if (profile->no_atomics)
		base->atomic_cap = IBV_ATOMIC_NONE;
	if (!base->max_mw)
		base->device_cap_flags &= ~(IBV_DEVICE_MEM_WINDOW |
					    IBV_DEVICE_MEM_WINDOW_TYPE_2A |
					    IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	if (!base->max_srq)
		base->device_cap_flags &= ~IBV_DEVICE_SRQ_RESIZE;
	if (!(profile->transports & CAIRN_PROFILE_XRC))
		base->device_cap_flags &= ~IBV_DEVICE_XRC;
	if (profile->qp_kbps && size >= offsetof(struct ibv_device_attr_ex, packet_pacing_caps) +
					sizeof(attr->packet_pacing_caps))
		attr->packet_pacing_caps.qp_rate_limit_max = profile->qp_kbps;
	if (profile->no_odp && size >= offsetof(struct ibv_device_attr_ex, odp_caps) +
				      sizeof(attr->odp_caps))
		memset(&attr->odp_caps, 0, sizeof(attr->odp_caps));
	return 0;
}

/* An enum ibv_mtu as bytes. */
static uint64_t profile_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

static int profile_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	const struct cairn_profile *profile = profile_of(ctx);
	int err = profile_under(ctx)->query_port(ctx, port, attr);

	if (err)
		return err;
	while (profile_mtu_bytes(attr->max_mtu) > profile->max_mtu)
		attr->max_mtu--;
	if (attr->active_mtu > attr->max_mtu)
		attr->active_mtu = attr->max_mtu;
	return 0;
}

/* ---- what is enforced ---- */

static int *profile_count(struct ibv_context *ctx, enum cairn_profile_object object)
{
	struct cairn_device *dev =
		cairn_container_of(ctx->device, struct cairn_device, vdev.device);

	return &dev->profile_count[object];
}

/* Return: whether one more object of this kind may be there; it is counted then. */
static bool profile_take(struct ibv_context *ctx, enum cairn_profile_object object)
{
	int *count = profile_count(ctx, object), limit = 0;
	bool free;

	for (const struct cairn_profile_limit *at = cairn_profile_limits; at->name; at++)
		if (at->counted == object)
			limit = *cairn_profile_value(&profile_of(ctx)->attr, at);
	pthread_mutex_lock(&profile_mutex);
	free = *count < limit;
	*count += free;
	pthread_mutex_unlock(&profile_mutex);
	if (!free)
		errno = ENOMEM;
	return free;
}

static void profile_give(struct ibv_context *ctx, enum cairn_profile_object object)
{
	pthread_mutex_lock(&profile_mutex);
	*profile_count(ctx, object) -= 1;
	pthread_mutex_unlock(&profile_mutex);
}

/* Return: whether an error keeps the call from being made, with errno. */
static bool profile_refuses(bool refuses, int err)
{
	if (refuses)
		errno = err;
	return refuses;
}

/* An object that was not made is not counted. */
static void *profile_made(struct ibv_context *ctx, enum cairn_profile_object object, void *made)
{
	if (!made)
		profile_give(ctx, object);
	return made;
}

/* Nor is one that is destroyed. */
static int profile_ended(struct ibv_context *ctx, enum cairn_profile_object object, int err)
{
	if (!err)
		profile_give(ctx, object);
	return err;
}

static struct ibv_pd *profile_alloc_pd(struct ibv_context *ctx)
{
	if (!profile_take(ctx, CAIRN_PROFILE_PD))
		return NULL;
	return profile_made(ctx, CAIRN_PROFILE_PD, profile_under(ctx)->alloc_pd(ctx));
}

static struct ibv_pd *profile_alloc_parent_domain(struct ibv_context *ctx,
						  struct ibv_parent_domain_init_attr *attr)
{
	if (!profile_take(ctx, CAIRN_PROFILE_PD))
		return NULL;
	return profile_made(ctx, CAIRN_PROFILE_PD, profile_under(ctx)->alloc_parent_domain(ctx, attr));
}

static int profile_dealloc_pd(struct ibv_pd *pd)
{
	struct ibv_context *ctx = pd->context;

	return profile_ended(ctx, CAIRN_PROFILE_PD, profile_under(ctx)->dealloc_pd(pd));
}

static struct ibv_mw *profile_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (!profile_take(pd->context, CAIRN_PROFILE_MW))
		return NULL;
	return profile_made(pd->context, CAIRN_PROFILE_MW, profile_under(pd->context)->alloc_mw(pd, type));
}

static int profile_dealloc_mw(struct ibv_mw *mw)
{
	struct ibv_context *ctx = mw->context;

	return profile_ended(ctx, CAIRN_PROFILE_MW, profile_under(ctx)->dealloc_mw(mw));
}

static struct ibv_ah *profile_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	if (!profile_take(pd->context, CAIRN_PROFILE_AH))
		return NULL;
	return profile_made(pd->context, CAIRN_PROFILE_AH,
			    profile_under(pd->context)->create_ah(pd, attr));
}

static int profile_destroy_ah(struct ibv_ah *ah)
{
	struct ibv_context *ctx = ah->context;

	return profile_ended(ctx, CAIRN_PROFILE_AH, profile_under(ctx)->destroy_ah(ah));
}

static struct ibv_mr *profile_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				     uint64_t hca_va, int access)
{
	const struct cairn_profile *profile = profile_of(pd->context);

	if (profile_refuses(length > profile->attr.max_mr_size, EINVAL) ||
	    profile_refuses(profile->no_odp && access & IBV_ACCESS_ON_DEMAND, EOPNOTSUPP) ||
	    !profile_take(pd->context, CAIRN_PROFILE_MR))
		return NULL;
	return profile_made(pd->context, CAIRN_PROFILE_MR,
			    profile_under(pd->context)->reg_mr(pd, addr, length, hca_va, access));
}

static struct ibv_mr *profile_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					    uint64_t iova, int fd, int access)
{
	const struct cairn_profile *profile = profile_of(pd->context);

	if (profile_refuses(length > profile->attr.max_mr_size, EINVAL) ||
	    !profile_take(pd->context, CAIRN_PROFILE_MR))
		return NULL;
	return profile_made(pd->context, CAIRN_PROFILE_MR,
			    profile_under(pd->context)->reg_dmabuf_mr(pd, offset, length, iova, fd, access));
}

static struct ibv_mr *profile_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
					size_t length, unsigned int access)
{
	if (!profile_take(pd->context, CAIRN_PROFILE_MR))
		return NULL;
	return profile_made(pd->context, CAIRN_PROFILE_MR,
			    profile_under(pd->context)->reg_dm_mr(pd, dm, offset, length, access));
}

static struct ibv_mr *profile_alloc_null_mr(struct ibv_pd *pd)
{
	if (!profile_take(pd->context, CAIRN_PROFILE_MR))
		return NULL;
	return profile_made(pd->context, CAIRN_PROFILE_MR, profile_under(pd->context)->alloc_null_mr(pd));
}

static int profile_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			    size_t length, int access)
{
	struct ibv_context *ctx = mr->ibv_mr.context;

	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION &&
	    length > profile_of(ctx)->attr.max_mr_size)
		return EINVAL;
	return profile_under(ctx)->rereg_mr(mr, flags, pd, addr, length, access);
}

static int profile_dereg_mr(struct verbs_mr *mr)
{
	struct ibv_context *ctx = mr->ibv_mr.context;

	return profile_ended(ctx, CAIRN_PROFILE_MR, profile_under(ctx)->dereg_mr(mr));
}

static struct ibv_cq *profile_create_cq(struct ibv_context *ctx, int cqe,
					struct ibv_comp_channel *channel, int vector)
{
	const struct cairn_profile *profile = profile_of(ctx);

	if (profile_refuses(cqe > profile->attr.max_cqe, EINVAL) ||
	    !profile_take(ctx, CAIRN_PROFILE_CQ))
		return NULL;
	return profile_made(ctx, CAIRN_PROFILE_CQ,
			    profile_under(ctx)->create_cq(ctx, cqe, channel, vector));
}

static struct ibv_cq_ex *profile_create_cq_ex(struct ibv_context *ctx,
					      struct ibv_cq_init_attr_ex *attr)
{
	const struct cairn_profile *profile = profile_of(ctx);

	if (profile_refuses(attr->cqe > (uint32_t)profile->attr.max_cqe, EINVAL) ||
	    !profile_take(ctx, CAIRN_PROFILE_CQ))
		return NULL;
	return profile_made(ctx, CAIRN_PROFILE_CQ, profile_under(ctx)->create_cq_ex(ctx, attr));
}

static int profile_resize_cq(struct ibv_cq *cq, int cqe)
{
	const struct cairn_profile *profile = profile_of(cq->context);

	return cqe > profile->attr.max_cqe ? EINVAL : profile_under(cq->context)->resize_cq(cq, cqe);
}

static int profile_destroy_cq(struct ibv_cq *cq)
{
	struct ibv_context *ctx = cq->context;

	return profile_ended(ctx, CAIRN_PROFILE_CQ, profile_under(ctx)->destroy_cq(cq));
}

static bool profile_srq_fits(const struct cairn_profile *profile,
			     const struct ibv_srq_attr *attr)
{
	return attr->max_wr <= (uint32_t)profile->attr.max_srq_wr &&
	       attr->max_sge <= (uint32_t)profile->attr.max_srq_sge;
}

static void profile_least(uint32_t *value, int limit)
{
	if (*value > (uint32_t)limit)
		*value = (uint32_t)limit;
}

static void profile_limit_srq_attr(const struct cairn_profile *profile, struct ibv_srq_attr *attr)
{
	profile_least(&attr->max_wr, profile->attr.max_srq_wr);
	profile_least(&attr->max_sge, profile->attr.max_srq_sge);
}

/* The device gives more than was asked for, as its queues grow by powers of two: not more
 * than the profile has.
 */
static struct ibv_srq *profile_made_srq(struct ibv_context *ctx, struct ibv_srq *made,
					struct ibv_srq_attr *attr)
{
	if (made) {
		profile_limit_srq_attr(profile_of(ctx), attr);
		to_csrq(made)->rq.queue.max_wr = attr->max_wr;
		to_csrq(made)->rq.max_sge = attr->max_sge;
	}
	return profile_made(ctx, CAIRN_PROFILE_SRQ, made);
}

static struct ibv_srq *profile_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	const struct cairn_profile *profile = profile_of(pd->context);

	if (profile_refuses(!profile->attr.max_srq, EOPNOTSUPP) ||
	    profile_refuses(!profile_srq_fits(profile, &attr->attr), EINVAL) ||
	    !profile_take(pd->context, CAIRN_PROFILE_SRQ))
		return NULL;
	return profile_made_srq(pd->context, profile_under(pd->context)->create_srq(pd, attr),
				&attr->attr);
}

static struct ibv_srq *profile_create_srq_ex(struct ibv_context *ctx,
					     struct ibv_srq_init_attr_ex *attr)
{
	const struct cairn_profile *profile = profile_of(ctx);
	bool xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;

	if (profile_refuses(!profile->attr.max_srq, EOPNOTSUPP) ||
	    profile_refuses(xrc && !(profile->transports & CAIRN_PROFILE_XRC), EOPNOTSUPP) ||
	    profile_refuses(!profile_srq_fits(profile, &attr->attr), EINVAL) ||
	    !profile_take(ctx, CAIRN_PROFILE_SRQ))
		return NULL;
	return profile_made_srq(ctx, profile_under(ctx)->create_srq_ex(ctx, attr), &attr->attr);
}

static int profile_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	const struct cairn_profile *profile = profile_of(srq->context);

	if (mask & IBV_SRQ_MAX_WR && attr->max_wr > (uint32_t)profile->attr.max_srq_wr)
		return EINVAL;
	return profile_under(srq->context)->modify_srq(srq, attr, mask);
}

static int profile_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	int err = profile_under(srq->context)->query_srq(srq, attr);

	if (!err)
		profile_limit_srq_attr(profile_of(srq->context), attr);
	return err;
}

static int profile_destroy_srq(struct ibv_srq *srq)
{
	struct ibv_context *ctx = srq->context;

	return profile_ended(ctx, CAIRN_PROFILE_SRQ, profile_under(ctx)->destroy_srq(srq));
}

/* The sizes of a receive queue do not count beside an SRQ. */
static bool profile_cap_fits(const struct cairn_profile *profile, const struct ibv_qp_cap *cap,
			     bool has_srq)
{
	uint32_t wr = (uint32_t)profile->attr.max_qp_wr, sge = (uint32_t)profile->attr.max_sge;

	return cap->max_send_wr <= wr && cap->max_send_sge <= sge &&
	       cap->max_inline_data <= profile->max_inline &&
	       (has_srq || (cap->max_recv_wr <= wr && cap->max_recv_sge <= sge));
}

static void profile_limit_cap(const struct cairn_profile *profile, struct ibv_qp_cap *cap)
{
	profile_least(&cap->max_send_wr, profile->attr.max_qp_wr);
	profile_least(&cap->max_recv_wr, profile->attr.max_qp_wr);
	profile_least(&cap->max_send_sge, profile->attr.max_sge);
	profile_least(&cap->max_recv_sge, profile->attr.max_sge);
}

/* As profile_made_srq(). @cap: as the device gave it. */
static void profile_limit_qp(struct ibv_context *ctx, struct cairn_qp *qp, struct ibv_qp_cap *cap)
{
	profile_limit_cap(profile_of(ctx), cap);
	qp->sq.max_wr = cap->max_send_wr;
	qp->rq.queue.max_wr = cap->max_recv_wr;
	qp->max_send_sge = cap->max_send_sge;
	qp->rq.max_sge = cap->max_recv_sge;
}

/* A queue pair that was made may post no atomics. */
static struct ibv_qp *profile_made_qp(struct ibv_context *ctx, struct ibv_qp *made,
				      struct ibv_qp_cap *cap)
{
	if (made)
		profile_limit_qp(ctx, to_cqp(made), cap);
	if (made && profile_of(ctx)->no_atomics)
		to_cqp(made)->refused = 1u << CAIRN_WQE_CAS | 1u << CAIRN_WQE_FAA;
	return profile_made(ctx, CAIRN_PROFILE_QP, made);
}

static struct ibv_qp *profile_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct cairn_profile *profile = profile_of(pd->context);

	if (profile_refuses(!(profile->transports & CAIRN_PROFILE_TRANSPORT(attr->qp_type)),
			    EOPNOTSUPP) ||
	    profile_refuses(!profile_cap_fits(profile, &attr->cap, attr->srq), EINVAL) ||
	    !profile_take(pd->context, CAIRN_PROFILE_QP))
		return NULL;
	return profile_made_qp(pd->context, profile_under(pd->context)->create_qp(pd, attr),
			       &attr->cap);
}

#define PROFILE_ATOMIC_OPS						\
	(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp *profile_create_qp_ex(struct ibv_context *ctx,
					   struct ibv_qp_init_attr_ex *attr)
{
	const struct cairn_profile *profile = profile_of(ctx);
	bool atomics = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
		       attr->send_ops_flags & PROFILE_ATOMIC_OPS;

	if (profile_refuses(!(profile->transports & CAIRN_PROFILE_TRANSPORT(attr->qp_type)) ||
			    (profile->no_atomics && atomics), EOPNOTSUPP) ||
	    profile_refuses(!profile_cap_fits(profile, &attr->cap, attr->srq), EINVAL) ||
	    !profile_take(ctx, CAIRN_PROFILE_QP))
		return NULL;
	return profile_made_qp(ctx, profile_under(ctx)->create_qp_ex(ctx, attr), &attr->cap);
}

static struct ibv_qp *profile_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	if (!profile_take(ctx, CAIRN_PROFILE_QP))
		return NULL;
	return profile_made(ctx, CAIRN_PROFILE_QP, profile_under(ctx)->open_qp(ctx, attr));
}

static struct ibv_xrcd *profile_open_xrcd(struct ibv_context *ctx,
					  struct ibv_xrcd_init_attr *attr)
{
	const struct cairn_profile *profile = profile_of(ctx);

	if (profile_refuses(!(profile->transports & CAIRN_PROFILE_XRC), EOPNOTSUPP))
		return NULL;
	return profile_under(ctx)->open_xrcd(ctx, attr);
}

static int profile_destroy_qp(struct ibv_qp *qp)
{
	struct ibv_context *ctx = qp->context;

	return profile_ended(ctx, CAIRN_PROFILE_QP, profile_under(ctx)->destroy_qp(qp));
}

/* A rate limit that a program sets, 0: none. Return: that which its queue pair gets. */
static uint32_t profile_rate(const struct cairn_profile *profile, uint32_t kbps)
{
	return !profile->qp_kbps || (kbps && kbps < profile->qp_kbps) ? kbps : profile->qp_kbps;
}

/* Return: whether the change lets the queue pair send for the first time since RESET. */
static bool profile_starts(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	return mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTS && qp->state == IBV_QPS_RTR &&
	       (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_UC || qp->qp_type == IBV_QPT_UD);
}

static int profile_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	struct ibv_qp_rate_limit_attr copy = *attr;

	copy.rate_limit = profile_rate(profile_of(qp->context), attr->rate_limit);
	return profile_under(qp->context)->modify_qp_rate_limit(qp, &copy);
}

/* rdma_cm permits remote atomics whatever the device can: this is not refused. */
static int profile_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const struct cairn_profile *profile = profile_of(qp->context);
	struct ibv_qp_attr copy = *attr;
	int err;

	if (mask & IBV_QP_CAP && !profile_cap_fits(profile, &attr->cap, qp->srq))
		return EINVAL;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	    attr->max_rd_atomic > profile->attr.max_qp_init_rd_atom)
		return EINVAL;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > profile->attr.max_qp_rd_atom)
		return EINVAL;
	if (mask & IBV_QP_PATH_MTU && attr->path_mtu <= IBV_MTU_4096 &&
	    profile_mtu_bytes(attr->path_mtu) > profile->max_mtu)
		return EINVAL;
	if (mask & IBV_QP_RATE_LIMIT)
		copy.rate_limit = profile_rate(profile, attr->rate_limit);
	else if (profile->qp_kbps && profile_starts(qp, attr, mask)) {
		copy.rate_limit = profile->qp_kbps;
		mask |= IBV_QP_RATE_LIMIT;
	}
	if (profile->no_atomics)
		copy.qp_access_flags &= ~(unsigned int)IBV_ACCESS_REMOTE_ATOMIC;
	err = profile_under(qp->context)->modify_qp(qp, &copy, mask);
	if (!err && mask & IBV_QP_CAP) {
		profile_limit_qp(qp->context, to_cqp(qp), &copy.cap);
		attr->cap = copy.cap;	/* the real sizes */
	}
	return err;
}

static int profile_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			    struct ibv_qp_init_attr *init)
{
	int err = profile_under(qp->context)->query_qp(qp, attr, mask, init);

	if (err)
		return err;
	profile_limit_cap(profile_of(qp->context), &attr->cap);
	profile_limit_cap(profile_of(qp->context), &init->cap);
	return 0;
}

void cairn_profile_overlay(struct cairn_context *ctx, struct verbs_context_ops *ops)
{
	ctx->under_profile = *ops;
	ops->alloc_mw = profile_alloc_mw;
	ops->alloc_null_mr = profile_alloc_null_mr;
	ops->alloc_parent_domain = profile_alloc_parent_domain;
	ops->alloc_pd = profile_alloc_pd;
	ops->create_ah = profile_create_ah;
	ops->create_cq = profile_create_cq;
	ops->create_cq_ex = profile_create_cq_ex;
	ops->create_qp = profile_create_qp;
	ops->create_qp_ex = profile_create_qp_ex;
	ops->create_srq = profile_create_srq;
	ops->create_srq_ex = profile_create_srq_ex;
	ops->dealloc_mw = profile_dealloc_mw;
	ops->dealloc_pd = profile_dealloc_pd;
	ops->dereg_mr = profile_dereg_mr;
	ops->destroy_ah = profile_destroy_ah;
	ops->destroy_cq = profile_destroy_cq;
	ops->destroy_qp = profile_destroy_qp;
	ops->destroy_srq = profile_destroy_srq;
	ops->modify_qp = profile_modify_qp;
	ops->modify_qp_rate_limit = profile_modify_qp_rate_limit;
	ops->modify_srq = profile_modify_srq;
	ops->open_qp = profile_open_qp;
	ops->open_xrcd = profile_open_xrcd;
	ops->query_device_ex = profile_query_device_ex;
	ops->query_port = profile_query_port;
	ops->query_qp = profile_query_qp;
	ops->query_srq = profile_query_srq;
	ops->reg_dm_mr = profile_reg_dm_mr;
	ops->reg_dmabuf_mr = profile_reg_dmabuf_mr;
	ops->reg_mr = profile_reg_mr;
	ops->rereg_mr = profile_rereg_mr;
	ops->resize_cq = profile_resize_cq;
}
