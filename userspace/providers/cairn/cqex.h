/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_CQEX_H
#define CAIRN_CQEX_H

#include "cq.h"

/* Sets the calls of an extended CQ that was asked for these values. */
void cairn_cqex_fill(struct cairn_cq *cq, uint64_t wc_flags);

#endif /* CAIRN_CQEX_H */
