/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Waits of a QP side for memory that is not present. A side waits for one range
 * at a time, and requests others afterwards.
 */
#ifndef CAIRN_MEM_ODP_WAIT_H
#define CAIRN_MEM_ODP_WAIT_H

#include "mem/odp.h"

void cairn_odp_waits_init(struct cairn_qp *qp);

/* Detach pending faults. The QP has no runs any more. Process context. */
void cairn_odp_waits_cancel(struct cairn_qp *qp);

/* Drop a reference to @cold, of the QP or of a fault that outlives it. Process
 * context.
 */
void cairn_odp_waits_put(struct cairn_qp_cold *cold);

/* Forget failed attempts, as the QP is reset. Both side locks held. */
void cairn_odp_waits_reset(struct cairn_qp *qp);

/* The memory that a side needs. */
struct cairn_odp_want {
	struct cairn_odp *odp;
	u32 key;
	bool write;
	u64 addr;		/* in the process; not present */
	u64 len;		/* bytes that are needed from addr on */
};

/**
 * cairn_odp_wait() - request memory that is not present
 * @qp: the QP that needs it
 * @side: side of @qp
 * @want: the memory
 *
 * Context: in a run of that side.
 * Return: -EAGAIN, and the side gets a turn when the job has ended; or -EFAULT
 * if the last attempt was for @want and failed.
 */
int cairn_odp_wait(struct cairn_qp *qp, enum cairn_side_id side,
		   const struct cairn_odp_want *want);

/* Is a fault of @side pending? Any context. */
bool cairn_odp_waits(struct cairn_qp *qp, enum cairn_side_id side);

#endif
