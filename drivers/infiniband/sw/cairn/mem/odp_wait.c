// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A slot belongs to the job while its state is BUSY, and to the side otherwise.
 * A file system may delay a fault for any time, so destroying the QP does not
 * wait for it, but detaches the slot. The slot then holds only its own memory
 * and the region.
 */
#include <linux/slab.h>
#include "mem/odp_wait.h"

enum odp_wait_state {
	ODP_WAIT_IDLE,
	ODP_WAIT_BUSY,
	ODP_WAIT_FAILED,
};

void cairn_odp_waits_put(struct cairn_qp_cold *cold)
{
	if (refcount_dec_and_test(&cold->users))
		kfree(cold);
}

/* Give the side a turn, if the QP is not destroyed. */
static void odp_wait_tell(struct cairn_odp_slot *slot, int err)
{
	struct cairn_qp *qp = slot->qp;

	lockdep_assert_held(&slot->cold->odp_lock);
	if (!qp)
		return;
	if (err)
		cairn_nic_count(qp->exec.nic, CAIRN_CTR_ODP_FAULT_ERRORS, 1);
	/* Pairs with the loads in runs, which may queue the job again. */
	smp_store_release(&slot->state, err ? ODP_WAIT_FAILED : ODP_WAIT_IDLE);
	cairn_exec_defer(&qp->exec, slot->side);
}

static void odp_wait_run(struct cairn_odp_job *job)
{
	struct cairn_odp_slot *slot = container_of(job, struct cairn_odp_slot,
						   job);
	struct cairn_qp_cold *cold = slot->cold;
	int err;

	err = cairn_odp_bring_near(slot->odp, slot->addr, slot->len,
				   slot->write);
	cairn_odp_put(slot->odp);
	spin_lock(&cold->odp_lock);
	odp_wait_tell(slot, err);
	spin_unlock(&cold->odp_lock);
	cairn_odp_waits_put(cold);
}

void cairn_odp_waits_init(struct cairn_qp *qp)
{
	enum cairn_side_id side;

	spin_lock_init(&qp->cold->odp_lock);
	for (side = 0; side < CAIRN_SIDES; side++) {
		struct cairn_odp_slot *slot = &qp->cold->odp[side];

		cairn_odp_job_init(&slot->job, odp_wait_run);
		slot->qp = qp;
		slot->cold = qp->cold;
		slot->side = side;
	}
}

static void odp_wait_cut_off(struct cairn_odp_slot *slot)
{
	spin_lock(&slot->cold->odp_lock);
	slot->qp = NULL;
	spin_unlock(&slot->cold->odp_lock);
	if (!cairn_odp_job_cancel(&slot->job))
		return;
	cairn_odp_put(slot->odp);
	cairn_odp_waits_put(slot->cold);
}

void cairn_odp_waits_cancel(struct cairn_qp *qp)
{
	enum cairn_side_id side;

	for (side = 0; side < CAIRN_SIDES; side++)
		odp_wait_cut_off(&qp->cold->odp[side]);
}

void cairn_odp_waits_reset(struct cairn_qp *qp)
{
	enum cairn_side_id side;

	for (side = 0; side < CAIRN_SIDES; side++)
		cmpxchg(&qp->cold->odp[side].state, ODP_WAIT_FAILED,
			ODP_WAIT_IDLE);
}

/* Did the last attempt, which failed, include @want? */
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
	u32 state = smp_load_acquire(&slot->state);	/* odp_wait_tell() */

	if (state == ODP_WAIT_BUSY)
		return -EAGAIN;
	if (state == ODP_WAIT_FAILED) {
		slot->state = ODP_WAIT_IDLE;
		if (odp_wait_failed(slot, want))
			return -EFAULT;
	}
	cairn_odp_get(want->odp);
	refcount_inc(&slot->cold->users);
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
	/* Pairs with odp_wait_tell(): the effects of an ended job are visible.
	 */
	return smp_load_acquire(&qp->cold->odp[side].state) == ODP_WAIT_BUSY;
}
