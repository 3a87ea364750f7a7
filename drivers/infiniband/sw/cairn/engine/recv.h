/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The receive of a message, see engine/recv.c. */
#ifndef CAIRN_ENGINE_RECV_H
#define CAIRN_ENGINE_RECV_H

#include "engine/qp.h"

/* Take a receive for the message of @pkt, unless it has one. Return: false: refused. */
bool cairn_recv_take(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* Place the payload of a SEND. Return: false: refused. */
bool cairn_recv_place(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* Complete the current receive. @pkt: the last packet; NULL: flushed. Return: false if
 * the CQ is full: the receive stays the current one.
 */
bool cairn_recv_complete(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			 u8 status);
/* Complete the current receive with an error, now or when the CQ has room. */
void cairn_recv_fail(struct cairn_qpc *qpc, u8 status);
/* UD: take, fill and complete a receive. The Q_Key and the size are checked. */
void cairn_recv_datagram(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* Flush the current receive. Return: false if it waits for room in the CQ. */
bool cairn_recv_flush(struct cairn_qpc *qpc);
/* ERR: flush posted receives, one for each packet of the budget, while the CQ has room.
 * A later post rings a doorbell. Return: true if more may be posted now.
 */
bool cairn_recv_flush_all(struct cairn_qpc *qpc, struct cairn_budget *budget);

#endif
