/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests ahead of a gap, see engine/hold.c. */
#ifndef CAIRN_ENGINE_HOLD_H
#define CAIRN_ENGINE_HOLD_H

#include "engine/qp.h"

/* Keep @pkt, which is ahead of the expected PSN. */
void cairn_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* Get the kept packet with the expected PSN. Return: false if there is none. */
bool cairn_hold_next(struct cairn_qpc *qpc, struct cairn_pkt *pkt);
/* Never use a kept packet with @psn: it must arrive in sequence. */
void cairn_hold_refuse(struct cairn_qpc *qpc, u32 psn);
/* Note that the @n PSNs from @psn on were executed. */
void cairn_hold_passed(struct cairn_responder *resp, u32 psn, u32 n);
/* Drop kept packets whose gap stays open for too long. Called once in each run. */
void cairn_hold_expire(struct cairn_qpc *qpc, u64 now);
void cairn_hold_drop(struct cairn_qpc *qpc);

#endif
