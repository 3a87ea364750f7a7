// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers come from one UDP source port. An off-path attacker has to guess the port
 * and a PSN (Documentation/security.rst). A peer may change its port. So before the
 * first answer, and when an answer is overdue, an answer from any port is accepted if
 * it has the one right PSN. A peer with several ports would be slow that way, so after
 * CAIRN_MAX_PEER_PORTS changes any port is accepted, and also if no timer runs.
 */
#include "engine/comp_ack.h"
#include "engine/comp_rx.h"
#include "engine/gap.h"
#include "engine/peer_port.h"
#include "engine/persist_req.h"
#include "engine/req_record.h"
#include "engine/wqe.h"

/* UDP source ports that a peer may use, one after the other. */
#define CAIRN_MAX_PEER_PORTS	8

/* Is @psn that of an outstanding packet? */
static bool port_is_awaited(struct cairn_requester *req, u32 psn)
{
	return cairn_psn_diff(psn, cairn_persist_first_psn(req)) >= 0 &&
	       cairn_psn_diff(psn, req->sent) < 0;
}

/* The PSN of the next response; without one, the next PSN to be sent. */
static u32 port_next_response(struct cairn_requester *req)
{
	u32 n;

	for (n = req->ack_rec; n != req->new_rec; n++) {
		const struct cairn_swr *swr = cairn_req_swr(req, n);

		if (swr->npkts && cairn_comp_responses(swr))
			return cairn_psn_diff(swr->psn, req->una) > 0 ?
				       swr->psn :
				       req->una;
	}
	return req->sent;
}

/*
 * Does @pkt have the one PSN that is accepted from an unknown port? For an ACK that is
 * the newest packet, for a NAK the oldest packet, for a response the next one. Every
 * retransmission ends in one of these answers.
 */
static bool port_is_proven(struct cairn_requester *req,
			   const struct cairn_pkt *pkt)
{
	u32 newest = cairn_psn_add(req->sent, CAIRN_24BIT_MASK);

	if (cairn_comp_is_nak_of_next(req, pkt))
		return true;
	if (!port_is_awaited(req, pkt->psn))
		return false;
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK)
		return cairn_persist_tells_most(req, pkt);
	if (pkt->op->kind != CAIRN_KIND_ACK)
		return pkt->psn == port_next_response(req);
	if ((pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK)
		return pkt->psn == req->una;
	/* An ACK never has the PSN of a READ. If a READ is the newest packet, its
	 * response identifies the port.
	 */
	return pkt->psn == newest || cairn_persist_probed(req, pkt->psn);
}

/* All packets were sent again, and the peer has no receive for one behind the oldest.
 * From an unknown port that acknowledges nothing, but it delays the next attempt.
 */
static void port_heed_rnr(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			  u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->retries &&
	    pkt->op->kind == CAIRN_KIND_ACK &&
	    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_RNR_NAK &&
	    cairn_psn_diff(pkt->psn, req->una) >= 0 &&
	    cairn_psn_diff(pkt->psn, req->sent) < 0)
		cairn_comp_wait_for_receive(qpc, pkt, now);
}

/* Ignore an acknowledgement from another port, but send all packets again once: if the
 * peer has changed its port, it acknowledges the newest packet from there.
 */
static void port_ask(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_requester *req = &qpc->req;

	if (req->peer_port.known || req->peer_port.asked ||
	    pkt->op->kind != CAIRN_KIND_ACK ||
	    !port_is_awaited(req, pkt->psn) || !cairn_req_outstanding(req))
		return;
	req->peer_port.asked = true;
	cairn_gap_repeat_all(qpc);
}

bool cairn_peer_port_judge(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			   u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_peer_port *port = &req->peer_port;

	if (!qpc->attrs.timeout || port->changes > CAIRN_MAX_PEER_PORTS)
		return true;
	if (port->changes && pkt->flow == port->sport) {
		port->known |= port_is_awaited(req, pkt->psn);
		return true;
	}
	if (port->known || !port_is_proven(req, pkt)) {
		if (port->asked && !port->known)
			port_heed_rnr(qpc, pkt, now);
		else
			port_ask(qpc, pkt);
		return false;
	}
	port->sport = pkt->flow;
	port->known = true;
	port->changes++;
	return true;
}
