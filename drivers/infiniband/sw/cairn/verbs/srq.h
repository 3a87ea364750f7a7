/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events of a shared receive queue. */
#ifndef CAIRN_VERBS_SRQ_H
#define CAIRN_VERBS_SRQ_H

#include "verbs/verbs.h"

enum cairn_srq_event {
	CAIRN_SRQ_LIMIT,
	CAIRN_SRQ_ERROR,
};

/* Report @event; the handler runs later, in process context. Any context. */
void cairn_srq_event(struct cairn_srq *srq, enum cairn_srq_event event);

#endif
