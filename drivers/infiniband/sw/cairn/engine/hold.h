/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests ahead of a gap, see engine/hold.c. */
#ifndef CAIRN_ENGINE_HOLD_H
#define CAIRN_ENGINE_HOLD_H

#include "engine/qp.h"

/* Keep @pkt, which is ahead of the expected PSN. */
void cairn_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* The kept packet with the expected PSN, if there is one. */
bool cairn_hold_next(struct cairn_qpc *qpc, struct cairn_pkt *pkt);
void cairn_hold_drop(struct cairn_qpc *qpc);

#endif
