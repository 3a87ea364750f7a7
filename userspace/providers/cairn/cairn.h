/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device and its context. */
#ifndef CAIRN_H
#define CAIRN_H

#include <pthread.h>

#include <rdma/cairn-abi.h>

#include "profile_file.h"
#include "verbs_private.h"

struct cairn_keys;
struct cairn_qinfo;
struct cairn_shared_page;

struct cairn_device {
	struct verbs_device vdev;
	int profile_count[CAIRN_PROFILE_OBJECTS];	/* see profile.c */
};

struct cairn_context {
	struct verbs_context vctx;	/* must be first */
	pid_t pid;			/* process that made the list qinfo */
	bool faulty;			/* fault.h */
	struct cairn_profile *profile;	/* profile.h; NULL: none */
	size_t page_size;
	uint32_t max_inline;		/* bytes in one WQE */
	uint32_t max_sge;
	uint32_t inline_threshold;	/* of new QPs; UINT32_MAX: not set */
	uint32_t unrung;		/* posts that wait for a doorbell; see doorbell.c */
	uint32_t alone;			/* doorbells for all that were for one post, in a row */
	uint32_t ring_next;		/* posts that ring for themselves */
	struct cairn_keys *keys;	/* keys.h */
	size_t dm_bytes;		/* atomic; see dm.c */
	pthread_mutex_t qinfo_lock;	/* protects the two lists */
	struct cairn_qinfo *qinfo;	/* list of mapped queue-info chunks */
	pthread_mutex_t resize_lock;	/* one resize at a time */
	struct cairn_shared_page *pages;	/* list; see ready.c */
	uint32_t release_slots;		/* see release.c; 0: none; under qinfo_lock, too */
	uint64_t release_offset;
	int (*dereg_mr)(struct verbs_mr *mr);	/* that of the operations */
	const uint32_t *releases;	/* NULL: not mapped yet */
	/* what each layer calls: contexts differ in their layers */
	struct verbs_context_ops under_profile, under_fault, under_check;
};

#define cairn_container_of(ptr, type, member)				\
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline struct cairn_context *to_cctx(struct ibv_context *ctx)
{
	return cairn_container_of(ctx, struct cairn_context, vctx.context);
}

bool cairn_device_is(const struct ibv_device *device);
/* Maps device memory, which children inherit; NULL with the errno of mmap() on failure. */
void *cairn_map(struct cairn_context *ctx, uint64_t offset, size_t bytes,
		int prot);
void cairn_unmap(void *addr, size_t bytes);

#endif /* CAIRN_H */
