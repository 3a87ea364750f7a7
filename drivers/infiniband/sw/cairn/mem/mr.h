/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory regions, and fast registration by work requests. */
#ifndef CAIRN_MEM_MR_H
#define CAIRN_MEM_MR_H

#include "mem/key.h"

/* Initialise a zeroed region of any kind, which is not reachable yet. */
void cairn_mr_init(struct cairn_mr *mr, struct ib_pd *ibpd,
		   enum cairn_mr_kind kind);

/* Free @mr and its pages, which no run uses any more. Sleeps. */
void cairn_mr_free(struct cairn_mr *mr);

/**
 * cairn_mr_reg() - make what map_mr_sg mapped reachable (REG_MR)
 * @dev: the device of the queue pair
 * @pd: of the queue pair
 * @ibmr: of alloc_mr in @pd, not registered now
 * @key: its key, with a low byte that the consumer chose
 * @access: IB_ACCESS_*
 *
 * Context: any.
 * Return: 0 or -EINVAL. IBTA 10.6.
 */
int cairn_mr_reg(struct cairn_dev *dev, struct ib_pd *pd, struct ib_mr *ibmr,
		 u32 key, int access);

/**
 * cairn_mr_invalidate() - end a fast registration or the binding of a window
 * @qp: the queue pair that asks
 * @key: the whole key
 * @remote: its peer asks: the key must be valid
 *
 * New accesses are refused from now on. A run on another CPU may still finish
 * an access; mem/inval.h waits for it.
 *
 * Context: in a run.
 * Return: 0, or -EINVAL if it is no such key of @qp's PD.
 */
int cairn_mr_invalidate(struct cairn_qp *qp, u32 key, bool remote);

#endif
