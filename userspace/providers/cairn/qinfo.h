/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queue-info chunks: one page of space 1 and one of space 3 each. */
#ifndef CAIRN_QINFO_H
#define CAIRN_QINFO_H

#include "cairn.h"

struct cairn_qinfo {
	struct cairn_qinfo *next;
	uint64_t dev_offset;	/* names the chunk in mmap() */
	uint64_t host_offset;
	const struct cairn_qinfo_dev *dev;	/* CAIRN_QINFO_PER_CHUNK */
	struct cairn_qinfo_host *host;
	unsigned int refs;	/* queues that point into the pages */
	unsigned int live;	/* of refs: not being destroyed */
	bool listed;
};

/* The chunk that holds desc->qid, referenced; NULL with errno set. */
struct cairn_qinfo *cairn_qinfo_get(struct cairn_context *ctx,
				    const struct cairn_ring_desc *desc);
void cairn_qinfo_put(struct cairn_context *ctx, struct cairn_qinfo *chunk);

/*
 * These go around the destroy command of a queue. Once the kernel has destroyed the
 * last queue of a chunk, the offset may name a new chunk. So the old one leaves the
 * list before the command is sent.
 */
void cairn_qinfo_retire(struct cairn_context *ctx, struct cairn_qinfo *chunk);
void cairn_qinfo_revive(struct cairn_context *ctx, struct cairn_qinfo *chunk);

void cairn_qinfo_free_all(struct cairn_context *ctx);

#endif /* CAIRN_QINFO_H */
