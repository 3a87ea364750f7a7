/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Congestion control of a QP, see engine/congestion.c. */
#ifndef CAIRN_ENGINE_CONGESTION_H
#define CAIRN_ENGINE_CONGESTION_H

#include "engine/qp.h"

/* Lower the limit to what congestion control allows now. */
void cairn_congestion_limit(struct cairn_qpc *qpc, enum cairn_side_id side,
			    struct cairn_rate_limit *limit, u64 now);
/* @bytes of data packets have left. */
void cairn_congestion_sent(struct cairn_qpc *qpc, enum cairn_side_id side, u32 bytes);
/* @pkt, which belongs to the QP, was marked: answer with a CNP. */
void cairn_congestion_marked(struct cairn_qpc *qpc, enum cairn_side_id side, u64 now);
/* Responder: send a CNP unless one was sent lately. */
void cairn_congestion_answer(struct cairn_qpc *qpc, u64 now);
/* A CNP arrived. Requester's side. */
void cairn_congestion_notified(struct cairn_qpc *qpc, u64 now);

#endif
