/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device and its context. */
#ifndef CAIRN_H
#define CAIRN_H

#include <pthread.h>

#include <rdma/cairn-abi.h>

#include "verbs_private.h"

struct cairn_keys;
struct cairn_qinfo;
struct cairn_shared_page;

struct cairn_device {
	struct verbs_device vdev;
};

struct cairn_context {
	struct verbs_context vctx;	/* must be first */
	pid_t pid;			/* whose address space holds the maps */
	size_t page_size;
	uint64_t features;		/* enum cairn_features */
	uint32_t max_inline;		/* bytes in one WQE */
	uint32_t max_sge;
	uint32_t inline_threshold;	/* of new QPs; UINT32_MAX: not set */
	struct cairn_keys *keys;	/* keys.h */
	pthread_mutex_t qinfo_lock;	/* protects the two lists */
	struct cairn_qinfo *qinfo;	/* list of mapped queue-info chunks */
	pthread_mutex_t resize_lock;	/* one resize at a time */
	struct cairn_shared_page *pages;	/* list of ready.c */
	bool has_releases;		/* release.c; under qinfo_lock, too */
	uint64_t release_offset;
	const uint32_t *releases;	/* NULL: not mapped yet */
};

#define cairn_container_of(ptr, type, member)				\
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline struct cairn_context *to_cctx(struct ibv_context *ctx)
{
	return cairn_container_of(ctx, struct cairn_context, vctx.context);
}

/* cairn.c */
bool cairn_device_is(const struct ibv_device *device);
/* Maps device memory; NULL with errno set on failure. */
void *cairn_map(struct cairn_context *ctx, uint64_t offset, size_t bytes,
		int prot);
void cairn_unmap(struct cairn_context *ctx, void *addr, size_t bytes);

/* device.c */
int cairn_query_device_ex(struct ibv_context *ctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size);
int cairn_query_port(struct ibv_context *ctx, uint8_t port_num,
		     struct ibv_port_attr *attr);
int cairn_query_rt_values(struct ibv_context *ctx,
			  struct ibv_values_ex *values);

/* pd.c */
struct ibv_pd *cairn_alloc_pd(struct ibv_context *ctx);
int cairn_dealloc_pd(struct ibv_pd *pd);

/* mr.c */
struct ibv_mr *cairn_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
struct ibv_mr *cairn_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access);
int cairn_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int cairn_dereg_mr(struct verbs_mr *vmr);

/* release.c */
void cairn_releases_free(struct cairn_context *ctx);

/* libcheck.c */
bool cairn_library_fits(void);

#endif /* CAIRN_H */
