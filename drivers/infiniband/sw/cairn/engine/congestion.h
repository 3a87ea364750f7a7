/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Congestion control of a QP, see engine/congestion.c. */
#ifndef CAIRN_ENGINE_CONGESTION_H
#define CAIRN_ENGINE_CONGESTION_H

#include "engine/qp.h"

/* Lower @limit to the rate that congestion control allows now. */
void cairn_congestion_limit(struct cairn_qpc *qpc, enum cairn_side_id side,
			    struct cairn_rate_limit *limit, u64 now);
/* Account for @bytes of data packets that were sent. */
void cairn_congestion_sent(struct cairn_qpc *qpc, enum cairn_side_id side, u32 bytes);
/* A packet for the QP was marked: answer with a CNP. */
void cairn_congestion_marked(struct cairn_qpc *qpc, enum cairn_side_id side, u64 now);
/* Responder: send a CNP unless one was sent in this interval. */
void cairn_congestion_answer(struct cairn_qpc *qpc, u64 now);
/* A CNP arrived. Requester lock held. */
void cairn_congestion_notified(struct cairn_qpc *qpc, u64 now);

#endif
