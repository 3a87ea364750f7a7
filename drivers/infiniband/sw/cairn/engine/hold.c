// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests ahead of a gap are kept and executed when the gap is filled, so that
 * the requester need not repeat them. Execution stays in PSN order (IBTA
 * 9.7.4.1.1): to the rest of the responder a kept packet is one that arrives
 * later. What goes over the wire is standard: one NAK for each gap. A requester
 * that repeats everything all the same sends duplicates.
 *
 * While something is kept, a request for acknowledgement is answered with a NAK
 * of the gap instead of an ACK. So an ACK says that nothing is kept, and a NAK
 * right behind what was repeated says that the gap is longer
 * (engine/gap.c makes use of both).
 */
#include "engine/hold.h"

/* PSNs ahead of the expected one beyond which no requester is. */
#define CAIRN_HOLD_SPAN		4096

void cairn_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (cairn_psn_diff(pkt->psn, resp->epsn) > CAIRN_HOLD_SPAN ||
	    !cairn_port_hold(qpc, pkt))
		return;
	resp->holding = true;
	cairn_port_count(qpc, CAIRN_CTR_RX_HELD, 1);
}

bool cairn_hold_next(struct cairn_qpc *qpc, struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int ret;

	if (!resp->holding)
		return false;
	ret = cairn_port_held(qpc, resp->epsn, pkt);
	if (ret < 0)
		resp->holding = false;
	return ret > 0;
}

void cairn_hold_drop(struct cairn_qpc *qpc)
{
	if (qpc->resp.holding)
		cairn_port_drop_held(qpc);
	qpc->resp.holding = false;
}
