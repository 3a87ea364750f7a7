/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder, see engine/responder.c. */
#ifndef CAIRN_ENGINE_RESPONDER_H
#define CAIRN_ENGINE_RESPONDER_H

#include "engine/qp.h"

/* Handle a request packet. Responder lock held. The caller runs cairn_resp_run() after
 * the last packet of a batch, which sends at most one ACK for all of them.
 */
void cairn_resp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now);

/* The same for a request that @pkt->refuse says how to refuse, if it is a new one: it is
 * not executed when it is the next in order. Duplicates are answered as always. Not for
 * CAIRN_REFUSE_QP_FATAL.
 */
void cairn_resp_rx_refused(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			   u64 now);

/* Send due READ and atomic responses, then an ACK or NAK; flush in ERR. Responder lock
 * held. Return: true if another turn is needed.
 */
bool cairn_resp_run(struct cairn_qpc *qpc, u64 now,
		    struct cairn_budget *budget);

/* Would a request with @psn be executed at once and not kept? It is if it is the
 * expected one and no packet is kept. Responder lock held.
 */
bool cairn_resp_in_step(const struct cairn_qpc *qpc, u32 psn);

/* Fence placed data that has to be durable. Called after the last packet of a batch if
 * cairn_resp_run() may follow on another CPU. Responder lock held.
 */
void cairn_resp_settle(struct cairn_qpc *qpc);

/* The same for cairn_resp_rx() and cairn_resp_run(), and a WRITE (cairn_req_prefetch()). */
void cairn_resp_prefetch(const struct cairn_qpc *qpc);

/* When cairn_resp_run() must be called again at the latest, ns; 0: never. */
u64 cairn_resp_deadline(const struct cairn_qpc *qpc);

/* XRC: select the SRQ @srqn of an earlier request again. Called by the responder's files.
 * Return: 0, also for other transports; -EFAULT: the SRQ was destroyed.
 */
int cairn_resp_srq(struct cairn_qpc *qpc, u32 srqn);

#endif
