/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A side of a queue pair that needs absent memory: who brings it, and how it ended.
 * One at a time: what else is absent is asked for when that is over.
 */
#ifndef CAIRN_MEM_ODP_WAIT_H
#define CAIRN_MEM_ODP_WAIT_H

#include "mem/odp.h"

void cairn_odp_waits_init(struct cairn_qp *qp);

/* No run of the QP is left. Faults under way end by themselves. Process context. */
void cairn_odp_waits_cancel(struct cairn_qp *qp);

/* The last user frees @cold: the QP, or a fault that ends after it. Process context. */
void cairn_odp_waits_put(struct cairn_qp_cold *cold);

/* The QP is reset: what failed is forgotten. Both side locks held. */
void cairn_odp_waits_reset(struct cairn_qp *qp);

/* What is wanted. */
struct cairn_odp_want {
	struct cairn_odp *odp;
	u32 key;
	bool write;
	u64 addr;		/* of the process; absent */
	u64 len;		/* bytes that are needed from there on */
};

/**
 * cairn_odp_wait() - have memory brought
 * @qp: who needs it
 * @side: which side of it
 * @want: what
 *
 * Context: in a run of that side.
 * Return: -EAGAIN, then the side gets a turn; -EFAULT: the last attempt failed, and
 * was for this.
 */
int cairn_odp_wait(struct cairn_qp *qp, enum cairn_side_id side,
		   const struct cairn_odp_want *want);

/* Is something being brought? Any context. */
bool cairn_odp_waits(struct cairn_qp *qp, enum cairn_side_id side);

#endif
