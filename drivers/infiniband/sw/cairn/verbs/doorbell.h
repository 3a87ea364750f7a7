/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell: a process notifies a sleeping device of a post. */
#ifndef CAIRN_VERBS_DOORBELL_H
#define CAIRN_VERBS_DOORBELL_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_doorbells_add() - allow the owner of a QP to ring its doorbells
 * @qp: ready for cairn_exec_kick(); nothing happens for a kernel QP
 *
 * Context: process.
 * Return: 0, or -ENOMEM with no doorbell reachable.
 */
int cairn_doorbells_add(struct cairn_qp *qp);

/* Make the doorbells unreachable. Calls in progress end within an RCU grace period. */
void cairn_doorbells_remove(struct cairn_qp *qp);

/* The method, for the device's uapi_definition. */
extern const struct uapi_definition cairn_doorbell_defs[];

#endif
