/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell: a process notifies a sleeping device of a post. */
#ifndef CAIRN_VERBS_DOORBELL_H
#define CAIRN_VERBS_DOORBELL_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/**
 * cairn_doorbells_reserve() - prepare the doorbells of a QP
 * @qp: nothing happens for a kernel QP
 *
 * Context: process.
 * Return: 0, or -ENOMEM. No doorbell is reachable yet.
 */
int cairn_doorbells_reserve(struct cairn_qp *qp);

/* Allow the owner of a QP to ring. The QP is ready for cairn_exec_kick(). */
void cairn_doorbells_publish(struct cairn_qp *qp);

/* Make the doorbells unreachable. Calls in progress end within an RCU grace period. */
void cairn_doorbells_remove(struct cairn_qp *qp);

/* The method, for the device's uapi_definition. */
extern const struct uapi_definition cairn_doorbell_defs[];

#endif
