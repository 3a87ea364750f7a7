/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder, see engine/responder.c. */
#ifndef CAIRN_ENGINE_RESPONDER_H
#define CAIRN_ENGINE_RESPONDER_H

#include "engine/qp.h"

/* A request packet arrived. Responder lock held; run cairn_resp_run() after
 * the last packet of a batch: that sends at most one ACK for all of them.
 */
void cairn_resp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now);

/* Send what is due: READ and atomic responses, then ACK or NAK; flush in ERR.
 * Responder lock held. Returns true when another turn is needed.
 */
bool cairn_resp_run(struct cairn_qpc *qpc, u64 now,
		    struct cairn_budget *budget);

/* Is a request with @psn the next one, and does nothing wait for one before it? Then
 * it will not be kept. Responder lock held.
 */
bool cairn_resp_in_step(const struct cairn_qpc *qpc, u32 psn);

/* After the last packet of a batch, when cairn_resp_run() may follow on another CPU:
 * what was placed is durable where it has to be. Responder lock held.
 */
void cairn_resp_settle(struct cairn_qpc *qpc);

/* cairn_resp_rx() and that come soon: have the lines that they need fetched. No
 * lock.
 */
void cairn_resp_prefetch(const struct cairn_qpc *qpc);

/* When cairn_resp_run() must be called again at the latest; 0: never. */
u64 cairn_resp_deadline(const struct cairn_qpc *qpc);

/* For the other files of the responder. */

void cairn_resp_fail(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code);
void cairn_resp_fatal(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code,
		      enum cairn_async event);
u8 cairn_resp_ack_syndrome(struct cairn_qpc *qpc);
/* XRC: what follows is for the SRQ @srqn, as an earlier request was. -EFAULT: it is
 * gone. 0 for others.
 */
int cairn_resp_srq(struct cairn_qpc *qpc, u32 srqn);
/* An ACK is due for @psn, unless a later one is already. */
void cairn_resp_owe_ack(struct cairn_responder *resp, u32 psn);

#endif
