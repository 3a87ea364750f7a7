/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests at the responder, see engine/request.c. */
#ifndef CAIRN_ENGINE_REQUEST_H
#define CAIRN_ENGINE_REQUEST_H

#include "engine/qp.h"

/* Execute @pkt, which is in sequence. Return: true: it counts as received; false: it does
 * not, and a NAK may be due, or it waits (resp.waits).
 */
bool cairn_request_execute(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

/* XRC: use the SRQ that @pkt names, in this run. Others have none. Return: false: there is
 * no such SRQ, and the request was refused.
 */
bool cairn_request_take_srq(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

/* The last packet of a message was executed. */
static inline void cairn_request_done(struct cairn_responder *resp)
{
	resp->msg.kind = CAIRN_KIND_NONE;
	resp->msn = cairn_psn_add(resp->msn, 1);
}

#endif
