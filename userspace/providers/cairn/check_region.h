/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The memory regions of the process by local key, those that have ended included. */
#ifndef CAIRN_CHECK_REGION_H
#define CAIRN_CHECK_REGION_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "check_trace.h"

/* @access: as registered. @iova: 0 for a zero based region. Under the lock of check.h. */
void cairn_region_open(const struct ibv_mr *mr, uint64_t iova, uint64_t length,
		       int access);
void cairn_region_close(const struct ibv_mr *mr);
/* Return: the address of its first byte in work requests. Under the lock. */
uint64_t cairn_region_iova(const struct ibv_mr *mr);
/* Regions of a context that ends are forgotten. */
void cairn_region_forget_all(const struct ibv_context *ctx);

/* The use of an SGE, for reports. */
struct cairn_region_use {
	struct ibv_context *ctx;
	const struct ibv_pd *pd;	/* of the queue */
	const char *what;		/* "a SEND" */
	int needs;			/* enum ibv_access_flags */
};

/* Return: the access flags of the region of @key, 0 without one. Under the lock. */
int cairn_region_access(const struct ibv_context *ctx, uint32_t key);
/* Return: whether there are regions that have not ended, in any context. */
bool cairn_region_any(void);

/* Reports what is wrong with the key of @sge. */
void cairn_region_check(const struct cairn_region_use *use,
			const struct ibv_sge *sge);

#endif /* CAIRN_CHECK_REGION_H */
