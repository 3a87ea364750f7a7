/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell: a process tells the sleeping device where it has posted. */
#ifndef CAIRN_VERBS_DOORBELL_H
#define CAIRN_VERBS_DOORBELL_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_doorbells_add() - let the QP's owner ring its queues
 * @qp: ready to be kicked; nothing to do for a kernel QP
 *
 * Return: 0 or -ENOMEM; then nothing was visible. Process context.
 */
int cairn_doorbells_add(struct cairn_qp *qp);

/* Doorbells that are under way end within an RCU grace period. */
void cairn_doorbells_remove(struct cairn_qp *qp);

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_doorbell_defs[];

#endif
