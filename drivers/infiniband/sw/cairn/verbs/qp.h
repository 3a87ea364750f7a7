/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events of a queue pair. */
#ifndef CAIRN_VERBS_QP_H
#define CAIRN_VERBS_QP_H

#include "verbs/verbs.h"

/* Report @event; the handler runs later, in process context. Any context. */
void cairn_qp_async(struct cairn_qp *qp, enum cairn_async event);

#endif
