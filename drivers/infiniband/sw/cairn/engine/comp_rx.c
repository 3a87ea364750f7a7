// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A response packet of the peer is checked, and handled by its kind.
 */
#include "engine/comp_ack.h"
#include "engine/comp_read.h"
#include "engine/comp_rx.h"
#include "engine/congestion.h"
#include "engine/gap.h"
#include "engine/peer_port.h"
#include "engine/persist_req.h"

/* A CNP is valid in every state in which the QP may send, responses included. */
static void comp_rx_cnp(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	u8 state = cairn_state(qpc);

	if (qpc->transport == CAIRN_TRANSPORT_UD || state < CAIRN_QP_RTR ||
	    state == CAIRN_QP_ERR)
		cairn_env_count(qpc, CAIRN_CTR_RX_WRONG_QP, 1);
	else if (!cairn_qp_pkey_fits(qpc, pkt->pkey))
		cairn_env_count(qpc, CAIRN_CTR_RX_PKEY_ERRORS, 1);
	else
		cairn_congestion_notified(qpc, now);
}

/* A peer that received a forged packet ahead of all packets sent reports a gap where
 * none is (engine/hold.c), or has no receive for it. Its NAK acknowledges all packets.
 */
bool cairn_comp_is_nak_of_next(const struct cairn_requester *req,
			       const struct cairn_pkt *pkt)
{
	bool nak = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) ==
		   CAIRN_AETH_RNR_NAK ||
		   pkt->syndrome == (CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);

	return pkt->op->kind == CAIRN_KIND_ACK && nak &&
	       pkt->psn == req->sent && req->una != req->sent;
}

static bool comp_is_fatal_nak(const struct cairn_pkt *pkt)
{
	u8 code = pkt->syndrome & CAIRN_AETH_VALUE_MASK;

	return pkt->op->kind == CAIRN_KIND_ACK &&
	       (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_NAK &&
	       code != CAIRN_NAK_PSN_SEQ && code <= CAIRN_NAK_INVALID_RD_REQUEST;
}

/* Handle an answer to a packet that is not outstanding. */
static void comp_rx_stale(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (comp_is_fatal_nak(pkt) && cairn_comp_refuses_reads(qpc, pkt->psn)) {
		cairn_env_count(qpc, CAIRN_CTR_FATAL_NAKS_RECEIVED, 1);
		cairn_comp_refused(qpc, pkt->syndrome);
	} else if (!cairn_persist_alive(qpc, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_STALE_RESPONSES, 1);
	}
}

void cairn_comp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u8 state = cairn_state(qpc);

	cairn_env_assert_held(qpc, CAIRN_REQ);
	if (!cairn_qp_sender_fits(qpc, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_SPOOFED, 1);
		return;
	}
	if (pkt->op->kind == CAIRN_KIND_CNP) {
		comp_rx_cnp(qpc, pkt, now);
		return;
	}
	if (pkt->op->transport != qpc->transport || !cairn_qp_reliable(qpc) ||
	    (state != CAIRN_QP_RTS && state != CAIRN_QP_SQD)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_WRONG_QP, 1);
		return;
	}
	if (!cairn_qp_pkey_fits(qpc, pkt->pkey)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_PKEY_ERRORS, 1);
		return;
	}
	if (!cairn_peer_port_fits(qpc, pkt, now)) {
		cairn_env_count(qpc, CAIRN_CTR_RX_OTHER_PORT, 1);
		return;
	}
	if (pkt->ce)
		cairn_congestion_marked(qpc, CAIRN_REQ, now);
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK) {
		cairn_persist_ack(qpc, pkt, now);
		return;
	}
	if (cairn_comp_is_nak_of_next(req, pkt)) {
		cairn_env_count(qpc, CAIRN_CTR_ACKS_RECEIVED, 1);
		cairn_comp_ack_before(qpc, pkt->psn, now);
		cairn_gap_answer(qpc, false, now);
		return;
	}
	if (cairn_psn_diff(pkt->psn, req->una) < 0 ||
	    cairn_psn_diff(pkt->psn, req->sent) >= 0) {
		comp_rx_stale(qpc, pkt);
		return;
	}
	switch (pkt->op->kind) {
	case CAIRN_KIND_ACK:
		cairn_comp_rx_aeth(qpc, pkt, now);
		break;
	case CAIRN_KIND_READ_RESP:
		cairn_comp_rx_read(qpc, pkt, now);
		break;
	case CAIRN_KIND_ATOMIC_ACK:
		cairn_comp_rx_atomic(qpc, pkt, now);
		break;
	}
}
