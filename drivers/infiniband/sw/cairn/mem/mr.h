/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory regions by key, and fast registration as the send queue does it. */
#ifndef CAIRN_MEM_MR_H
#define CAIRN_MEM_MR_H

#include "mem/key.h"

/* What every kind of region, zeroed, begins with; it is not reachable yet. */
void cairn_mr_init(struct cairn_mr *mr, struct ib_pd *ibpd,
		   enum cairn_mr_kind kind);

/* Give back pages and memory; nobody touches them any more. Sleeps. */
void cairn_mr_free(struct cairn_mr *mr);

/**
 * cairn_mr_reg() - make what map_mr_sg mapped reachable (REG_MR)
 * @dev: the device of the queue pair
 * @pd: of the queue pair
 * @ibmr: of alloc_mr in @pd, not registered now
 * @key: its key, the low byte chosen anew by the consumer
 * @access: IB_ACCESS_*
 *
 * Return: 0 or -EINVAL. Any context. IBTA 10.6.
 */
int cairn_mr_reg(struct cairn_dev *dev, struct ib_pd *pd, struct ib_mr *ibmr,
		 u32 key, int access);

/**
 * cairn_mr_invalidate() - end a fast registration or the binding of a window
 * @qp: the queue pair that asks
 * @key: the whole key
 * @remote: its peer asks; then the key must be valid
 *
 * New accesses are refused from now on; one in a run on another CPU may still
 * finish, mem/inval.h waits for it.
 *
 * Return: 0 or -EINVAL: not such a key of @qp's PD. In a run.
 */
int cairn_mr_invalidate(struct cairn_qp *qp, u32 key, bool remote);

#endif
