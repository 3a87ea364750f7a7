// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "text.h"

/* The kinds of objects that are counted. */
enum profile_object {
	PROFILE_AH,
	PROFILE_CQ,
	PROFILE_MR,
	PROFILE_MW,
	PROFILE_PD,
	PROFILE_QP,
	PROFILE_SRQ,
	PROFILE_OBJECTS,
	PROFILE_NONE = PROFILE_OBJECTS
};

/* A limit of struct ibv_device_attr. */
static const struct profile_limit {
	const char *name;
	size_t offset;
	enum profile_object counted;
} profile_limits[] = {
#define PROFILE_LIMIT(name, counted)					\
	{ #name, offsetof(struct ibv_device_attr, name), counted }
	PROFILE_LIMIT(max_ah, PROFILE_AH),
	PROFILE_LIMIT(max_cq, PROFILE_CQ),
	PROFILE_LIMIT(max_cqe, PROFILE_NONE),
	PROFILE_LIMIT(max_mr, PROFILE_MR),
	PROFILE_LIMIT(max_mw, PROFILE_MW),
	PROFILE_LIMIT(max_pd, PROFILE_PD),
	PROFILE_LIMIT(max_qp, PROFILE_QP),
	PROFILE_LIMIT(max_qp_init_rd_atom, PROFILE_NONE),
	PROFILE_LIMIT(max_qp_rd_atom, PROFILE_NONE),
	PROFILE_LIMIT(max_qp_wr, PROFILE_NONE),
	PROFILE_LIMIT(max_sge, PROFILE_NONE),
	PROFILE_LIMIT(max_sge_rd, PROFILE_NONE),
	PROFILE_LIMIT(max_srq, PROFILE_SRQ),
	PROFILE_LIMIT(max_srq_sge, PROFILE_NONE),
	PROFILE_LIMIT(max_srq_wr, PROFILE_NONE),
};
#define PROFILE_LIMITS (sizeof(profile_limits) / sizeof(profile_limits[0]))

#define PROFILE_TRANSPORT(type) (1 << (type))
#define PROFILE_XRC (PROFILE_TRANSPORT(IBV_QPT_XRC_SEND) | PROFILE_TRANSPORT(IBV_QPT_XRC_RECV))

static const struct cairn_text_name profile_transports[] = {
	{ "rc", PROFILE_TRANSPORT(IBV_QPT_RC) }, { "uc", PROFILE_TRANSPORT(IBV_QPT_UC) },
	{ "ud", PROFILE_TRANSPORT(IBV_QPT_UD) }, { "xrc", PROFILE_XRC },
	{}
};

static struct profile {
	struct ibv_device_attr attr;	/* the limits; those that are not named: INT_MAX */
	uint64_t max_inline;
	uint64_t max_mtu;		/* bytes */
	int transports;			/* bits of PROFILE_TRANSPORT() */
	bool no_atomics;
	bool no_odp;
} profile;

static pthread_mutex_t profile_mutex = PTHREAD_MUTEX_INITIALIZER;
static int profile_count[PROFILE_OBJECTS];
static struct verbs_context_ops profile_real;

static int *profile_value(struct ibv_device_attr *attr, const struct profile_limit *limit)
{
	return (int *)((char *)attr + limit->offset);
}

/* ---- the file ---- */

static int profile_error(const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "cairn-profile: %s", file);
	if (line)
		fprintf(stderr, ":%d", line);
	fputs(": ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EINVAL;
}

static bool profile_set_transports(struct profile *read, char *text)
{
	char *place, *word;

	read->transports = 0;
	for (word = strtok_r(text, ",", &place); word; word = strtok_r(NULL, ",", &place)) {
		const struct cairn_text_name *found = cairn_text_find(profile_transports, word);

		if (!found)
			return false;
		read->transports |= found->value;
	}
	return read->transports;
}

/* Return: whether the value is right; *@known says whether the name is. */
static bool profile_set(struct profile *read, const char *name, char *value, bool *known)
{
	uint64_t number;

	*known = true;
	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		if (strcmp(name, profile_limits[i].name))
			continue;
		if (!cairn_text_number(value, 0, INT_MAX, &number))
			return false;
		*profile_value(&read->attr, &profile_limits[i]) = (int)number;
		return true;
	}
	if (!strcmp(name, "max_mr_size"))
		return cairn_text_number(value, 0, UINT64_MAX, &read->attr.max_mr_size);
	if (!strcmp(name, "max_inline_data"))
		return cairn_text_number(value, 0, UINT32_MAX, &read->max_inline);
	if (!strcmp(name, "max_mtu"))
		return cairn_text_number(value, 0, 4096, &read->max_mtu) &&
		       read->max_mtu >= 256 && !(read->max_mtu & (read->max_mtu - 1));
	if (!strcmp(name, "transports"))
		return profile_set_transports(read, value);
	if (!strcmp(name, "atomics"))
		return read->no_atomics = !strcmp(value, "none");
	if (!strcmp(name, "odp"))
		return read->no_odp = !strcmp(value, "none");
	*known = false;
	return false;
}

static struct profile profile_without_limits(void)
{
	struct profile read = {
		.attr.max_mr_size = UINT64_MAX, .max_inline = UINT64_MAX, .max_mtu = 4096,
		.transports = -1,
	};

	for (size_t i = 0; i < PROFILE_LIMITS; i++)
		*profile_value(&read.attr, &profile_limits[i]) = INT_MAX;
	return read;
}

static int profile_read(struct profile *read, const char *path, FILE *file)
{
	char text[256];

	for (int line = 1; fgets(text, sizeof(text), file); line++) {
		char *place, *name, *value;
		bool known;

		if (!strchr(text, '\n') && !feof(file))
			return profile_error(path, line, "this line is too long");
		text[strcspn(text, "#\n")] = 0;
		name = strtok_r(text, " \t", &place);
		if (!name)
			continue;
		value = strtok_r(NULL, " \t", &place);
		if (!value || strtok_r(NULL, " \t", &place))
			return profile_error(path, line, "not a name and a value");
		if (!profile_set(read, name, value, &known))
			return profile_error(path, line, known ? "%s: wrong value" :
					     "%s is no limit: cairn_profile(7) has them", name);
	}
	if (ferror(file))
		return profile_error(path, 0, "cannot be read");
	return 0;
}

int cairn_profile_begin(void)
{
	const char *name = secure_getenv("CAIRN_PROFILE");
	struct profile read = profile_without_limits();
	char path[PATH_MAX];
	FILE *file;
	int err;

	if (!name || !*name)
		return ENOENT;
	if (snprintf(path, sizeof(path), strchr(name, '/') ? "%s" : CAIRN_PROFILES "/%s", name) >=
	    (int)sizeof(path))
		return profile_error(name, 0, "this name is too long");
	file = fopen(path, "re");
	if (!file) {
		err = errno;
		profile_error(path, 0, "%s", strerror(err));
		return err == ENOENT ? EINVAL : err;
	}
	err = profile_read(&read, path, file);
	fclose(file);
	if (!err)
		profile = read;
	return err;
}

/* ---- what is reported ---- */

static int profile_query_device_ex(struct ibv_context *ctx,
				   const struct ibv_query_device_ex_input *input,
				   struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr *base = &attr->orig_attr;
	int err = profile_real.query_device_ex(ctx, input, attr, size);

	if (err)
		return err;
	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		int *value = profile_value(base, &profile_limits[i]);
		int limit = *profile_value(&profile.attr, &profile_limits[i]);

		if (*value > limit)
			*value = limit;
	}
	if (base->max_mr_size > profile.attr.max_mr_size)
		base->max_mr_size = profile.attr.max_mr_size;
	if (profile.no_atomics)
		base->atomic_cap = IBV_ATOMIC_NONE;
	if (!base->max_mw)
		base->device_cap_flags &= ~(IBV_DEVICE_MEM_WINDOW |
					    IBV_DEVICE_MEM_WINDOW_TYPE_2A |
					    IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	if (!base->max_srq)
		base->device_cap_flags &= ~IBV_DEVICE_SRQ_RESIZE;
	if (!(profile.transports & PROFILE_XRC))
		base->device_cap_flags &= ~IBV_DEVICE_XRC;
	if (profile.no_odp && size >= offsetof(struct ibv_device_attr_ex, odp_caps) +
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
	int err = profile_real.query_port(ctx, port, attr);

	if (err)
		return err;
	while (profile_mtu_bytes(attr->max_mtu) > profile.max_mtu)
		attr->max_mtu--;
	if (attr->active_mtu > attr->max_mtu)
		attr->active_mtu = attr->max_mtu;
	return 0;
}

/* ---- what is enforced ---- */

/* Return: whether one more object of this kind may be there; it is counted then. */
static bool profile_take(enum profile_object object)
{
	bool free = false;

	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		if (profile_limits[i].counted != object)
			continue;
		pthread_mutex_lock(&profile_mutex);
		free = profile_count[object] < *profile_value(&profile.attr, &profile_limits[i]);
		profile_count[object] += free;
		pthread_mutex_unlock(&profile_mutex);
	}
	if (!free)
		errno = ENOMEM;
	return free;
}

static void profile_give(enum profile_object object)
{
	pthread_mutex_lock(&profile_mutex);
	profile_count[object]--;
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
static void *profile_made(enum profile_object object, void *made)
{
	if (!made)
		profile_give(object);
	return made;
}

/* Nor is one that is destroyed. */
static int profile_ended(enum profile_object object, int err)
{
	if (!err)
		profile_give(object);
	return err;
}

static struct ibv_pd *profile_alloc_pd(struct ibv_context *ctx)
{
	if (!profile_take(PROFILE_PD))
		return NULL;
	return profile_made(PROFILE_PD, profile_real.alloc_pd(ctx));
}

static struct ibv_pd *profile_alloc_parent_domain(struct ibv_context *ctx,
						  struct ibv_parent_domain_init_attr *attr)
{
	if (!profile_take(PROFILE_PD))
		return NULL;
	return profile_made(PROFILE_PD, profile_real.alloc_parent_domain(ctx, attr));
}

static int profile_dealloc_pd(struct ibv_pd *pd)
{
	return profile_ended(PROFILE_PD, profile_real.dealloc_pd(pd));
}

static struct ibv_mw *profile_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (!profile_take(PROFILE_MW))
		return NULL;
	return profile_made(PROFILE_MW, profile_real.alloc_mw(pd, type));
}

static int profile_dealloc_mw(struct ibv_mw *mw)
{
	return profile_ended(PROFILE_MW, profile_real.dealloc_mw(mw));
}

static struct ibv_ah *profile_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	if (!profile_take(PROFILE_AH))
		return NULL;
	return profile_made(PROFILE_AH, profile_real.create_ah(pd, attr));
}

static int profile_destroy_ah(struct ibv_ah *ah)
{
	return profile_ended(PROFILE_AH, profile_real.destroy_ah(ah));
}

static struct ibv_mr *profile_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				     uint64_t hca_va, int access)
{
	if (profile_refuses(length > profile.attr.max_mr_size, EINVAL) ||
	    profile_refuses(profile.no_odp && access & IBV_ACCESS_ON_DEMAND, EOPNOTSUPP) ||
	    !profile_take(PROFILE_MR))
		return NULL;
	return profile_made(PROFILE_MR,
			    profile_real.reg_mr(pd, addr, length, hca_va, access));
}

static struct ibv_mr *profile_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					    uint64_t iova, int fd, int access)
{
	if (profile_refuses(length > profile.attr.max_mr_size, EINVAL) ||
	    !profile_take(PROFILE_MR))
		return NULL;
	return profile_made(PROFILE_MR, profile_real.reg_dmabuf_mr(pd, offset, length, iova, fd,
								   access));
}

static struct ibv_mr *profile_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
					size_t length, unsigned int access)
{
	if (!profile_take(PROFILE_MR))
		return NULL;
	return profile_made(PROFILE_MR, profile_real.reg_dm_mr(pd, dm, offset, length, access));
}

static struct ibv_mr *profile_alloc_null_mr(struct ibv_pd *pd)
{
	if (!profile_take(PROFILE_MR))
		return NULL;
	return profile_made(PROFILE_MR, profile_real.alloc_null_mr(pd));
}

static int profile_dereg_mr(struct verbs_mr *mr)
{
	return profile_ended(PROFILE_MR, profile_real.dereg_mr(mr));
}

static struct ibv_cq *profile_create_cq(struct ibv_context *ctx, int cqe,
					struct ibv_comp_channel *channel, int vector)
{
	if (profile_refuses(cqe > profile.attr.max_cqe, EINVAL) || !profile_take(PROFILE_CQ))
		return NULL;
	return profile_made(PROFILE_CQ, profile_real.create_cq(ctx, cqe, channel, vector));
}

static struct ibv_cq_ex *profile_create_cq_ex(struct ibv_context *ctx,
					      struct ibv_cq_init_attr_ex *attr)
{
	if (profile_refuses(attr->cqe > (uint32_t)profile.attr.max_cqe, EINVAL) ||
	    !profile_take(PROFILE_CQ))
		return NULL;
	return profile_made(PROFILE_CQ, profile_real.create_cq_ex(ctx, attr));
}

static int profile_resize_cq(struct ibv_cq *cq, int cqe)
{
	return cqe > profile.attr.max_cqe ? EINVAL : profile_real.resize_cq(cq, cqe);
}

static int profile_destroy_cq(struct ibv_cq *cq)
{
	return profile_ended(PROFILE_CQ, profile_real.destroy_cq(cq));
}

static bool profile_srq_fits(const struct ibv_srq_attr *attr)
{
	return attr->max_wr <= (uint32_t)profile.attr.max_srq_wr &&
	       attr->max_sge <= (uint32_t)profile.attr.max_srq_sge;
}

static struct ibv_srq *profile_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	if (profile_refuses(!profile.attr.max_srq, EOPNOTSUPP) ||
	    profile_refuses(!profile_srq_fits(&attr->attr), EINVAL) || !profile_take(PROFILE_SRQ))
		return NULL;
	return profile_made(PROFILE_SRQ, profile_real.create_srq(pd, attr));
}

static struct ibv_srq *profile_create_srq_ex(struct ibv_context *ctx,
					     struct ibv_srq_init_attr_ex *attr)
{
	bool xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;

	if (profile_refuses(!profile.attr.max_srq || (xrc && !(profile.transports & PROFILE_XRC)),
			    EOPNOTSUPP) ||
	    profile_refuses(!profile_srq_fits(&attr->attr), EINVAL) || !profile_take(PROFILE_SRQ))
		return NULL;
	return profile_made(PROFILE_SRQ, profile_real.create_srq_ex(ctx, attr));
}

static int profile_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	if (mask & IBV_SRQ_MAX_WR && attr->max_wr > (uint32_t)profile.attr.max_srq_wr)
		return EINVAL;
	return profile_real.modify_srq(srq, attr, mask);
}

static int profile_destroy_srq(struct ibv_srq *srq)
{
	return profile_ended(PROFILE_SRQ, profile_real.destroy_srq(srq));
}

/* The sizes of a receive queue do not count beside an SRQ. */
static bool profile_cap_fits(const struct ibv_qp_cap *cap, bool has_srq)
{
	uint32_t wr = (uint32_t)profile.attr.max_qp_wr, sge = (uint32_t)profile.attr.max_sge;

	return cap->max_send_wr <= wr && cap->max_send_sge <= sge &&
	       cap->max_inline_data <= profile.max_inline &&
	       (has_srq || (cap->max_recv_wr <= wr && cap->max_recv_sge <= sge));
}

static struct ibv_qp *profile_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (profile_refuses(!(profile.transports & PROFILE_TRANSPORT(attr->qp_type)),
			    EOPNOTSUPP) ||
	    profile_refuses(!profile_cap_fits(&attr->cap, attr->srq), EINVAL) ||
	    !profile_take(PROFILE_QP))
		return NULL;
	return profile_made(PROFILE_QP, profile_real.create_qp(pd, attr));
}

#define PROFILE_ATOMIC_OPS						\
	(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp *profile_create_qp_ex(struct ibv_context *ctx,
					   struct ibv_qp_init_attr_ex *attr)
{
	bool atomics = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
		       attr->send_ops_flags & PROFILE_ATOMIC_OPS;

	if (profile_refuses(!(profile.transports & PROFILE_TRANSPORT(attr->qp_type)) ||
			    (profile.no_atomics && atomics), EOPNOTSUPP) ||
	    profile_refuses(!profile_cap_fits(&attr->cap, attr->srq), EINVAL) ||
	    !profile_take(PROFILE_QP))
		return NULL;
	return profile_made(PROFILE_QP, profile_real.create_qp_ex(ctx, attr));
}

static struct ibv_qp *profile_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	if (!profile_take(PROFILE_QP))
		return NULL;
	return profile_made(PROFILE_QP, profile_real.open_qp(ctx, attr));
}

static struct ibv_xrcd *profile_open_xrcd(struct ibv_context *ctx,
					  struct ibv_xrcd_init_attr *attr)
{
	if (profile_refuses(!(profile.transports & PROFILE_XRC), EOPNOTSUPP))
		return NULL;
	return profile_real.open_xrcd(ctx, attr);
}

static int profile_destroy_qp(struct ibv_qp *qp)
{
	return profile_ended(PROFILE_QP, profile_real.destroy_qp(qp));
}

/* rdma_cm permits remote atomics whatever the device can: this is not refused. */
static int profile_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr copy = *attr;

	if (mask & IBV_QP_CAP && !profile_cap_fits(&attr->cap, qp->srq))
		return EINVAL;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	    attr->max_rd_atomic > profile.attr.max_qp_init_rd_atom)
		return EINVAL;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > profile.attr.max_qp_rd_atom)
		return EINVAL;
	if (mask & IBV_QP_PATH_MTU && attr->path_mtu <= IBV_MTU_4096 &&
	    profile_mtu_bytes(attr->path_mtu) > profile.max_mtu)
		return EINVAL;
	if (profile.no_atomics)
		copy.qp_access_flags &= ~(unsigned int)IBV_ACCESS_REMOTE_ATOMIC;
	return profile_real.modify_qp(qp, &copy, mask);
}

/* The requests before an atomic are posted. */
static int profile_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			     struct ibv_send_wr **bad_wr)
{
	struct ibv_send_wr *atomic = wr, *last = NULL;
	int err = 0;

	while (atomic && atomic->opcode != IBV_WR_ATOMIC_CMP_AND_SWP &&
	       atomic->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD) {
		last = atomic;
		atomic = atomic->next;
	}
	if (!atomic)
		return profile_real.post_send(qp, wr, bad_wr);
	if (last) {
		last->next = NULL;
		err = profile_real.post_send(qp, wr, bad_wr);
		last->next = atomic;
	}
	if (err)
		return err;
	*bad_wr = atomic;
	return EINVAL;
}

void cairn_profile_overlay(struct verbs_context_ops *ops)
{
	profile_real = *ops;
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
	ops->modify_srq = profile_modify_srq;
	ops->open_qp = profile_open_qp;
	ops->open_xrcd = profile_open_xrcd;
	ops->query_device_ex = profile_query_device_ex;
	ops->query_port = profile_query_port;
	ops->reg_dm_mr = profile_reg_dm_mr;
	ops->reg_dmabuf_mr = profile_reg_dmabuf_mr;
	ops->reg_mr = profile_reg_mr;
	ops->resize_cq = profile_resize_cq;
	if (profile.no_atomics)
		ops->post_send = profile_post_send;
}
