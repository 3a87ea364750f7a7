/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests ahead of a gap, see engine/hold.c. */
#ifndef CAIRN_ENGINE_HOLD_H
#define CAIRN_ENGINE_HOLD_H

#include "engine/qp.h"

/* Keep @pkt, which is ahead of the expected PSN. */
void cairn_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* The kept packet with the expected PSN, if there is one. */
bool cairn_hold_next(struct cairn_qpc *qpc, struct cairn_pkt *pkt);
/* What was kept with @psn is not to be used; it counts when it comes in
 * sequence.
 */
void cairn_hold_refuse(struct cairn_qpc *qpc, u32 psn);
/* The @n PSNs from @psn on were executed. */
void cairn_hold_passed(struct cairn_responder *resp, u32 psn, u32 n);
/* Forget what nobody fills the gap for. At the end of each run. */
void cairn_hold_expire(struct cairn_qpc *qpc, u64 now);
void cairn_hold_drop(struct cairn_qpc *qpc);

#endif
