/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Since 6.15 the driver says how much memory ib_core allocates for a QP counter, and
 * initialises it. ib_core calls counter_init() without a check. cairn adds nothing to the
 * counter.
 */
#ifndef CAIRN_COMPAT_COUNTER_H
#define CAIRN_COMPAT_COUNTER_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include "compat/found.h"

#ifdef CAIRN_HAS_COUNTER_INIT
static inline void compat_counter_init(struct rdma_counter *counter)
{
}

static inline void compat_set_counter(struct ib_device *ibdev)
{
	ibdev->ops.counter_init = compat_counter_init;
	ibdev->ops.size_rdma_counter = sizeof(struct rdma_counter);
}
#else
static inline void compat_set_counter(struct ib_device *ibdev)
{
}
#endif

#endif
