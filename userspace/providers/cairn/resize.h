/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Another ring for a queue in use: the device prepares it, we map it, and the
 * standard command makes the device change over. Nobody posts (CQ: polls)
 * during that command, because we hold the queue's lock; on its success we
 * change over as well, and nothing is left that could fail.
 */
#ifndef CAIRN_RESIZE_H
#define CAIRN_RESIZE_H

#include "queue.h"

/* The object that has the queue, as the device's method names it. */
struct cairn_ring_owner {
	struct ibv_context *ctx;
	uint16_t attr;		/* CAIRN_ATTR_RING_QP, _SRQ or _CQ */
	uint16_t which;		/* of a QP: enum cairn_ring_of_qp */
	uint32_t handle;
};

/* All zero: this queue stays as it is. */
struct cairn_resize {
	struct cairn_ring_owner owner;
	struct cairn_queue *queue;
	void *units;		/* the ring that is not in use */
	size_t bytes;
	uint32_t depth;
	uint32_t max_wr;
};

/*
 * 0 or errno. max_wr 0, or one that makes no difference, leaves *r all zero.
 * ctx->resize_lock is held from here to cairn_resize_end().
 */
int cairn_resize_begin(struct cairn_resize *resize, struct cairn_queue *queue,
		       const struct cairn_ring_owner *owner, uint32_t max_wr);

static inline bool cairn_resize_wanted(const struct cairn_resize *resize)
{
	return resize->units;
}

/* The device has changed over; the queue's lock is held. */
void cairn_resize_commit(struct cairn_resize *resize);

/* err: what the command returned, or why it was not sent. */
void cairn_resize_end(struct cairn_resize *resize, int err);

/* ibv_modify_qp() with IBV_QP_CAP and anything else: all of it or nothing. */
int cairn_resize_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

#endif /* CAIRN_RESIZE_H */
