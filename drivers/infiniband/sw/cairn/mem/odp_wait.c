// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The request is the side's until its state says BUSY, then the work's until that says
 * otherwise.
 */
#include "mem/odp_wait.h"

enum odp_wait_state {
	ODP_WAIT_IDLE,
	ODP_WAIT_BUSY,
	ODP_WAIT_FAILED,
};

static void odp_wait_run(struct cairn_odp_job *job)
{
	struct cairn_odp_slot *slot = container_of(job, struct cairn_odp_slot,
						   job);
	struct cairn_qp *qp = slot->qp;
	enum cairn_side_id side = slot->side;
	int err;

	err = cairn_odp_bring_near(slot->odp, slot->addr, slot->len,
				   slot->write);
	if (err)
		cairn_nic_count(qp->exec.nic, CAIRN_CTR_ODP_FAULT_ERRORS, 1);
	cairn_odp_put(slot->odp);
	/* Pairs with the look at it in a run. */
	smp_store_release(&slot->state, err ? ODP_WAIT_FAILED : ODP_WAIT_IDLE);
	cairn_exec_defer(&qp->exec, side);
}

void cairn_odp_waits_init(struct cairn_qp *qp)
{
	enum cairn_side_id side;

	for (side = 0; side < CAIRN_SIDES; side++) {
		struct cairn_odp_slot *slot = &qp->cold->odp[side];

		cairn_odp_job_init(&slot->job, odp_wait_run);
		slot->qp = qp;
		slot->side = side;
	}
}

void cairn_odp_waits_cancel(struct cairn_qp *qp)
{
	enum cairn_side_id side;

	for (side = 0; side < CAIRN_SIDES; side++)
		if (cairn_odp_job_cancel(&qp->cold->odp[side].job))
			cairn_odp_put(qp->cold->odp[side].odp);
}

void cairn_odp_waits_reset(struct cairn_qp *qp)
{
	enum cairn_side_id side;

	for (side = 0; side < CAIRN_SIDES; side++)
		cmpxchg(&qp->cold->odp[side].state, ODP_WAIT_FAILED,
			ODP_WAIT_IDLE);
}

/* Did the last attempt, which failed, include what is wanted? */
static bool odp_wait_failed(const struct cairn_odp_slot *slot,
			    const struct cairn_odp_want *want)
{
	return slot->key == want->key && slot->write >= want->write &&
	       want->addr - slot->addr < slot->len;
}

int cairn_odp_wait(struct cairn_qp *qp, enum cairn_side_id side,
		   const struct cairn_odp_want *want)
{
	struct cairn_odp_slot *slot = &qp->cold->odp[side];
	u32 state = smp_load_acquire(&slot->state);	/* the work's end */

	if (state == ODP_WAIT_BUSY)
		return -EAGAIN;
	if (state == ODP_WAIT_FAILED) {
		slot->state = ODP_WAIT_IDLE;
		if (odp_wait_failed(slot, want))
			return -EFAULT;
	}
	cairn_odp_get(want->odp);
	slot->odp = want->odp;
	slot->key = want->key;
	slot->write = want->write;
	slot->addr = want->addr;
	slot->len = want->len;
	slot->state = ODP_WAIT_BUSY;
	cairn_nic_count(qp->exec.nic, CAIRN_CTR_ODP_FAULTS, 1);
	cairn_odp_queue(slot->odp, &slot->job);
	return -EAGAIN;
}

bool cairn_odp_waits(struct cairn_qp *qp, enum cairn_side_id side)
{
	/* What the work did is seen if it is over. */
	return smp_load_acquire(&qp->cold->odp[side].state) == ODP_WAIT_BUSY;
}
