// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests ahead of a gap are kept and executed when the gap is filled, so that the
 * requester need not retransmit them. Execution stays in PSN order (IBTA 9.7.4.1.1):
 * the rest of the responder sees a kept packet as one that arrives later. The wire is
 * standard: one NAK for each gap. A requester that retransmits everything sends
 * duplicates.
 *
 * While packets are kept, an AckReq is answered with a NAK of the gap instead of an
 * ACK. So an ACK means that no packet is kept, and a NAK right behind the
 * retransmitted packets means that the gap is longer (engine/gap.c uses both). A
 * requester that has sent no packet with the NAK's PSN treats the NAK as an ACK.
 *
 * Packets may be forged (Documentation/security.rst). A packet in sequence proves that
 * its sender knows the PSN; a packet ahead of it proves less. So it is kept only
 * within the peer's window, and only if it comes from the UDP source port of the
 * packets in sequence. If two different packets have the same PSN, both are dropped
 * and the PSN is refused until it arrives in sequence. A kept packet that cannot be
 * executed is refused, too, and does not end the connection. All kept packets are
 * dropped after CAIRN_HOLD_NS in which none was executed.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/hold.h"
#include "engine/window.h"

/* Longer than a requester takes to retransmit, ns. */
#define CAIRN_HOLD_NS		500000000ULL

static u64 *hold_word(struct cairn_responder *resp, u32 psn)
{
	return &resp->hold.refused[psn / 64 % CAIRN_HOLD_WORDS];
}

static bool hold_is_refused(struct cairn_responder *resp, u32 psn)
{
	return resp->any_refused && *hold_word(resp, psn) & 1ULL << psn % 64;
}

void cairn_hold_refuse(struct cairn_qpc *qpc, u32 psn)
{
	struct cairn_responder *resp = &qpc->resp;

	*hold_word(resp, psn) |= 1ULL << psn % 64;
	resp->any_refused = true;
	cairn_env_count(qpc, CAIRN_CTR_RX_HELD_REFUSED, 1);
}

void cairn_hold_passed(struct cairn_responder *resp, u32 psn, u32 n)
{
	u32 i;

	if (!resp->any_refused)
		return;
	for (n = min_t(u32, n, CAIRN_HOLD_WORDS * 64); n--; psn++)
		*hold_word(resp, psn) &= ~(1ULL << psn % 64);
	resp->any_refused = false;
	for (i = 0; i < CAIRN_HOLD_WORDS; i++)
		resp->any_refused |= !!resp->hold.refused[i];
}

void cairn_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	s32 ahead = cairn_psn_diff(pkt->psn, resp->epsn);
	int ret;

	if (ahead >= (s32)cairn_window(qpc) || hold_is_refused(resp, pkt->psn))
		return;
	ret = cairn_env_hold(qpc, pkt);
	if (ret == -EEXIST)
		cairn_hold_refuse(qpc, pkt->psn);
	else if (ret)
		cairn_env_count(qpc, CAIRN_CTR_RX_HELD_FULL, 1);
	if (ret)
		return;
	if (!resp->holding)
		resp->hold.until = 0;
	resp->holding = true;
	cairn_env_count(qpc, CAIRN_CTR_RX_HELD, 1);
}

bool cairn_hold_next(struct cairn_qpc *qpc, struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int ret;

	if (!resp->holding || hold_is_refused(resp, resp->epsn))
		return false;
	ret = cairn_env_held(qpc, resp->epsn, pkt);
	if (ret < 0)
		resp->holding = false;
	if (ret <= 0)
		return false;
	if (resp->peer_port.known && pkt->flow != resp->peer_port.sport) {
		cairn_hold_refuse(qpc, resp->epsn);
		return false;
	}
	resp->hold.until = 0;
	return true;
}

void cairn_hold_expire(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_responder *resp = &qpc->resp;

	if (!resp->holding)
		return;
	/* A packet that waits for its invalidation waits for this host, not for
	 * the peer.
	 */
	if (resp->waits)
		resp->hold.until = 0;
	else if (!resp->hold.until)
		resp->hold.until = now + CAIRN_HOLD_NS;
	else if (now >= resp->hold.until)
		cairn_hold_drop(qpc);
}

void cairn_hold_drop(struct cairn_qpc *qpc)
{
	if (qpc->resp.holding)
		cairn_env_drop_held(qpc);
	qpc->resp.holding = false;
	qpc->resp.hold.until = 0;
}
