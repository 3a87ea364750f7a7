/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ACKs and NAKs of the responder, see engine/answer_resp.c. */
#ifndef CAIRN_ENGINE_ANSWER_RESP_H
#define CAIRN_ENGINE_ANSWER_RESP_H

#include "engine/qp.h"

/* The syndrome of an ACK or response: it has the credits. */
u8 cairn_answer_syndrome(struct cairn_qpc *qpc);
/* An ACK is due for @psn, unless a later one is already. */
void cairn_answer_owe_ack(struct cairn_responder *resp, u32 psn);
/* A NAK of @psn is due. */
void cairn_answer_nak(struct cairn_responder *resp, u32 psn, u8 syndrome);
/* End the connection with a NAK, after the responses that are still pending. */
void cairn_answer_fail(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code);
/* The same, and report an event to the host. */
void cairn_answer_fatal(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code,
			enum cairn_async event);
/* Send what is due. The caller has fenced (cairn_persist_fence_answers()). */
void cairn_answer_send(struct cairn_qpc *qpc);

#endif
