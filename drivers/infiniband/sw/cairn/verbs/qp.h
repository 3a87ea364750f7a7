/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events of a QP, and readers by netlink. */
#ifndef CAIRN_VERBS_QP_H
#define CAIRN_VERBS_QP_H

#include "verbs/verbs.h"

/**
 * cairn_qps_retire() - stop all user QPs of a device that leaves
 * @dev: dev->leaving is set, so that no further user QP is created
 *
 * To send their queues may take minutes, and so may a grace period for each. The ones
 * that are retired here are destroyed without either.
 *
 * Context: process.
 */
void cairn_qps_retire(struct cairn_dev *dev);

/* Report @event; the handler runs later, in process context. Any context. */
void cairn_qp_async(struct cairn_qp *qp, enum cairn_async event);

/**
 * cairn_qp_read_begin() - begin to read memory that a QP found by netlink points to
 * @qp: the QP; ib_core keeps the object itself
 *
 * Return: true: the destruction of the QP waits for cairn_qp_read_end(); false: the QP
 * is being destroyed.
 */
bool cairn_qp_read_begin(struct cairn_qp *qp);
void cairn_qp_read_end(struct cairn_qp *qp);

#endif
