// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Direct verbs that query objects; cairndv.h says how to add one. */
#include <errno.h>
#include <string.h>

#include "dv.h"
#include "qp.h"
#include "rate.h"

bool cairndv_is_supported(struct ibv_device *device)
{
	return device && cairn_device_is(device);
}

static void dv_query_queue(const struct cairn_queue *queue,
			   struct cairndv_queue_attr *attr)
{
	const struct cairn_ring *ring = &queue->ring;

	if (!ring->units)
		return;
	attr->used = cairn_ring_used(ring);
	attr->state = cairn_ring_load(&ring->dev->state);
	attr->depth = cairn_ring_load(&ring->dev->depth);
	attr->generation = cairn_ring_load(&ring->dev->generation);
}

int cairndv_query_qp(struct ibv_qp *ibqp, struct cairndv_qp_attr *attr,
		     size_t size)
{
	struct cairndv_qp_attr known = {};
	int err = 0;

	if (!cairn_dv_owns(ibqp->context))
		return EOPNOTSUPP;
	dv_query_queue(&to_cqp(ibqp)->sq, &known.sq);
	dv_query_queue(&to_cqp(ibqp)->rq.queue, &known.rq);
	if (size > offsetof(struct cairndv_qp_attr, rate_limit))
		err = cairn_rate_query(ibqp, &known);
	if (err)
		return err;
	cairn_dv_fill(attr, size, &known, sizeof(known));
	return 0;
}
