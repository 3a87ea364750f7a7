/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Another ring for a queue in use. The device prepares it, the provider maps it, and
 * the standard command makes the device change over. The provider holds the queue's
 * lock meanwhile, so no thread posts (CQ: polls). After success it changes over as
 * well, and no later step can fail.
 */
#ifndef CAIRN_RESIZE_H
#define CAIRN_RESIZE_H

#include "queue.h"

/* The owner of the queue, as the device's method names it. */
struct cairn_ring_owner {
	struct ibv_context *ctx;
	uint16_t attr;		/* CAIRN_ATTR_RING_QP, _SRQ or _CQ */
	uint16_t which;		/* of a QP: enum cairn_ring_of_qp */
	uint32_t handle;
};

/* All zero: the queue keeps its ring. */
struct cairn_resize {
	struct cairn_ring_owner owner;
	struct cairn_queue *queue;
	void *units;		/* the ring that is not in use */
	size_t bytes;
	uint32_t depth;
	uint32_t max_wr;
};

/*
 * Prepares a ring. A @max_wr that is 0 or changes nothing leaves *@resize all zero.
 * Holds cairn_context.resize_lock until cairn_resize_end(). Return: 0 or errno.
 */
int cairn_resize_begin(struct cairn_resize *resize, struct cairn_queue *queue,
		       const struct cairn_ring_owner *owner, uint32_t max_wr);

static inline bool cairn_resize_wanted(const struct cairn_resize *resize)
{
	return resize->units;
}

/* The device has changed over; the queue's lock is held. */
void cairn_resize_commit(struct cairn_resize *resize);

/* @err: the result of the command, or the reason why it was not sent. */
void cairn_resize_end(struct cairn_resize *resize, int err);

/* ibv_modify_qp() with IBV_QP_CAP and other attributes: changes all or none. */
int cairn_resize_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

#endif /* CAIRN_RESIZE_H */
