// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "mem/inval.h"
#include "mem/mr.h"

static struct cairn_epoch *inval_epoch(struct cairn_qp *qp)
{
	return &qp->exec.nic->epoch;
}

/* Called under the lock of the notes; the lock of the lane nests inside. */
static void inval_over_req(struct cairn_epoch_note *note)
{
	struct cairn_qp_cold *cold = container_of(note, struct cairn_qp_cold,
						  inval[CAIRN_REQ]);

	cairn_exec_defer(&cold->qp->exec, CAIRN_REQ);
}

static void inval_over_resp(struct cairn_epoch_note *note)
{
	struct cairn_qp_cold *cold = container_of(note, struct cairn_qp_cold,
						  inval[CAIRN_RESP]);

	cairn_exec_defer(&cold->qp->exec, CAIRN_RESP);
}

void cairn_invals_init(struct cairn_qp *qp)
{
	INIT_LIST_HEAD(&qp->cold->inval[CAIRN_REQ].node);
	INIT_LIST_HEAD(&qp->cold->inval[CAIRN_RESP].node);
	qp->cold->inval[CAIRN_REQ].func = inval_over_req;
	qp->cold->inval[CAIRN_RESP].func = inval_over_resp;
}

void cairn_invals_cancel(struct cairn_qp *qp)
{
	cairn_epoch_cancel(inval_epoch(qp), &qp->cold->inval[CAIRN_REQ]);
	cairn_epoch_cancel(inval_epoch(qp), &qp->cold->inval[CAIRN_RESP]);
}

int cairn_inval_wait(struct cairn_qp *qp, enum cairn_side_id side)
{
	/* The caller's run is between two accesses, so it needs no wait. */
	if (cairn_epoch_alone(inval_epoch(qp)))
		return 0;
	cairn_epoch_notify(inval_epoch(qp), &qp->cold->inval[side]);
	return -EINPROGRESS;
}

int cairn_inval_begin(struct cairn_qp *qp, enum cairn_side_id side, u32 key)
{
	int err = cairn_mr_invalidate(qp, key, side == CAIRN_RESP);

	return err ?: cairn_inval_wait(qp, side);
}

bool cairn_inval_over(struct cairn_qp *qp, enum cairn_side_id side)
{
	return cairn_epoch_passed(&inval_epoch(qp)->drained,
				  qp->cold->inval[side].ticket);
}
