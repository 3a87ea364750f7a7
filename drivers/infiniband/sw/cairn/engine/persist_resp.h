/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Persistence at the responder, see engine/persist_resp.c. */
#ifndef CAIRN_ENGINE_PERSIST_RESP_H
#define CAIRN_ENGINE_PERSIST_RESP_H

#include "engine/qp.h"

/**
 * cairn_resp_release() - the host made a message durable, or failed to
 * @qpc: the QP
 * @token: from its completion
 * @status: 0, or not 0: it failed
 *
 * Responder lock held. The caller runs cairn_resp_run() afterwards.
 *
 * Return: 0; -ENOENT: no such token is outstanding, or the memory is no longer
 * registered.
 */
int cairn_resp_release(struct cairn_qpc *qpc, u64 token, u32 status);

/* The region @rkey ends: fail its pending messages. Responder lock held. The caller
 * runs cairn_resp_run() afterwards.
 */
void cairn_resp_revoke(struct cairn_qpc *qpc, u32 rkey);

/* Number of messages that wait for the host's release. */
static inline u32 cairn_resp_pending(const struct cairn_qpc *qpc)
{
	const struct cairn_persist_resp *persist = &qpc->resp.persist;

	return READ_ONCE(persist->tail) - READ_ONCE(persist->head);
}

/* For the other files of the responder. */

static inline enum cairn_persist
cairn_persist_method(enum cairn_durability durability)
{
	if (durability == CAIRN_DURABILITY_UNKNOWN)
		return CAIRN_PERSIST_NONE;
	return durability == CAIRN_DURABILITY_HOST ? CAIRN_PERSIST_HOST :
						     CAIRN_PERSIST_NIC;
}

/* UC has no acknowledgement that could wait for durability, so it may not write to
 * such memory. The XRC target QP has no program to ask for a host flush.
 */
static inline bool cairn_persist_allowed(const struct cairn_qpc *qpc,
					 enum cairn_durability durability)
{
	return qpc->transport == CAIRN_TRANSPORT_RC ||
	       (cairn_qp_reliable(qpc) &&
		cairn_persist_method(durability) != CAIRN_PERSIST_HOST);
}

bool cairn_persist_room(struct cairn_qpc *qpc);
bool cairn_persist_placed(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
bool cairn_persist_word(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
void cairn_persist_fence(struct cairn_qpc *qpc);
void cairn_persist_fence_answers(struct cairn_qpc *qpc);
/* Fail messages that the host has not released in time. */
void cairn_persist_overdue(struct cairn_qpc *qpc, u64 now);
bool cairn_persist_covers(const struct cairn_responder *resp, u32 psn);
bool cairn_persist_limit(const struct cairn_responder *resp, u32 *psn,
			 u32 *msn);
bool cairn_persist_may_ack(struct cairn_qpc *qpc, u32 *psn, u32 *msn);
bool cairn_persist_repeated(struct cairn_responder *resp, u32 psn);
u8 cairn_persist_hold(struct cairn_responder *resp, u32 *psn, u32 *msn);
void cairn_persist_drop(struct cairn_responder *resp);

#endif
