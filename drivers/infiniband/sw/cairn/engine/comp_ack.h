/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Acknowledgements of requests, see engine/comp_ack.c. Requester lock held. */
#ifndef CAIRN_ENGINE_COMP_ACK_H
#define CAIRN_ENGINE_COMP_ACK_H

#include "engine/wqe.h"

/* Handle an acknowledgement, positive or not, of an outstanding packet. */
void cairn_comp_rx_aeth(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now);
/* A response acknowledges all packets before @psn. Return: true if no response before
 * @psn is missing and the QP is not in ERR.
 */
bool cairn_comp_ack_before(struct cairn_qpc *qpc, u32 psn, u64 now);
/* Packets before @psn were answered: advance una. READs and atomics are acknowledged by
 * their own responses only. Return: false if one of them is missing.
 */
bool cairn_comp_advance_una(struct cairn_requester *req, u32 psn);
/* Progress was acknowledged: complete records and reset the retry counters. */
void cairn_comp_progress(struct cairn_qpc *qpc, u64 now);
/* Handle deadlines that have passed. */
void cairn_comp_expire(struct cairn_qpc *qpc, u64 now);
/* The peer has no receive for a message: wait as the RNR NAK @pkt says. */
void cairn_comp_wait_for_receive(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt, u64 now);
/* Take the end-to-end credits of an AETH. The limit never decreases. */
void cairn_comp_take_credits(struct cairn_requester *req,
			     const struct cairn_pkt *pkt);
/* Move the send cursor forward to the first packet that is not acknowledged. */
void cairn_comp_clip(struct cairn_requester *req);
/* The peer refuses the oldest request, by the syndrome of a NAK: fail it. */
void cairn_comp_refused(struct cairn_qpc *qpc, u8 syndrome);
/* Does a NAK of @nak_psn refuse READ responses that are still missing? */
bool cairn_comp_refuses_reads(struct cairn_qpc *qpc, u32 nak_psn);
/* The peer knows no requests beyond @able (enum cairn_need): fail the oldest unanswered
 * request if it needs more. Requester lock held. The caller runs cairn_req_run() afterwards.
 */
void cairn_comp_peer_unable(struct cairn_qpc *qpc, u8 able);
/* The READ or atomic, by @op_flag, that the response @psn belongs to, or NULL. */
struct cairn_swr *cairn_comp_record_of(struct cairn_requester *req, u32 psn,
				       u8 op_flag);

/* The record's flags CAIRN_WOP_READS and CAIRN_WOP_ATOMIC: the kind of its responses. */
static inline u8 cairn_comp_responses(const struct cairn_swr *swr)
{
	return cairn_wqe_ops[swr->opcode].flags &
	       (CAIRN_WOP_READS | CAIRN_WOP_ATOMIC);
}

#endif
