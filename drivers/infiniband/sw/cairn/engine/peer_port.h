/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The UDP source port of the peer's answers, see engine/peer_port.c. */
#ifndef CAIRN_ENGINE_PEER_PORT_H
#define CAIRN_ENGINE_PEER_PORT_H

#include <linux/compiler.h>
#include "engine/qp.h"

/* An answer is overdue: accept one from another port, too. */
static inline void cairn_peer_port_doubt(struct cairn_peer_port *port)
{
	port->known = false;
	port->asked = false;
}

/* cairn_peer_port_fits() for all but the usual case. */
bool cairn_peer_port_judge(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			   u64 now);

/**
 * cairn_peer_port_fits() - may this answer count?
 * @qpc: the QP
 * @pkt: the answer
 * @now: CLOCK_MONOTONIC, ns
 *
 * An answer from a new port may change the peer's port. One that does not count may
 * cause a retransmission, or delay the next attempt. Requester lock held.
 *
 * Return: false if the answer must be dropped.
 */
static inline bool cairn_peer_port_fits(struct cairn_qpc *qpc,
					const struct cairn_pkt *pkt, u64 now)
{
	const struct cairn_peer_port *port = &qpc->req.peer_port;

	if (likely(port->known && pkt->flow == port->sport))
		return true;
	return cairn_peer_port_judge(qpc, pkt, now);
}

#endif
