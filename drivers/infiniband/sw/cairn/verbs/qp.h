/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events of a queue pair, and its life as netlink sees it. */
#ifndef CAIRN_VERBS_QP_H
#define CAIRN_VERBS_QP_H

#include "verbs/verbs.h"

/* Report @event; the handler runs later, in process context. Any context. */
void cairn_qp_async(struct cairn_qp *qp, enum cairn_async event);

/**
 * cairn_qp_read_begin() - look at what a QP that netlink found points to
 * @qp: the object itself is kept by ib_core
 *
 * Return: false when the QP is being destroyed. Else its destruction waits for
 * cairn_qp_read_end().
 */
bool cairn_qp_read_begin(struct cairn_qp *qp);
void cairn_qp_read_end(struct cairn_qp *qp);

#endif
