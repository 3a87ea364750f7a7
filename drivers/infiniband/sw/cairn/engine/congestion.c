// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control of a QP: answers to marks, and the effect of notifications
 * (Annex A17.9, DCQCN).
 *
 * A side that receives a marked packet sends a CNP, at most one for the QP in an
 * interval. It does so even if the QP is not controlled itself: a packet can be
 * marked only if its sender is ECN-capable. The responder sends the CNPs of both
 * sides, so that one clock keeps the interval. A CNP names no direction, so it slows
 * both sides of the QP; each side applies it to its own state when it sends.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>
#include "engine/congestion.h"
#include "engine/pace.h"

#define MAX_CUTS	64u

/* The rate of an uncontrolled side: its limit, or the speed of the link. */
static u32 cong_top_rate(const struct cairn_qpc *qpc)
{
	u32 kbps = qpc->attrs.rate.kbps;

	return kbps ? min(kbps, qpc->cc.line_kbps) : qpc->cc.line_kbps;
}

/* Each CNP is one cut. MAX_CUTS of them reach the minimum rate. The side may have been
 * idle since they came, so the rate recovers from then on.
 */
static void cong_take_cnps(struct cairn_qpc *qpc, struct cairn_dcqcn *rp,
			   u32 top, u64 now)
{
	u32 cnps = READ_ONCE(qpc->cc.cnps);
	u32 n = min(cnps - rp->cnps, MAX_CUTS);
	u64 at = min(READ_ONCE(qpc->cc.heard_at), now);

	if (!n)
		return;
	rp->cnps = cnps;
	cairn_dcqcn_advance(rp, qpc->cc.params, top, at);
	while (n--)
		cairn_dcqcn_cut(rp, qpc->cc.params, top, at);
}

void cairn_congestion_limit(struct cairn_qpc *qpc, enum cairn_side_id side,
			    struct cairn_rate_limit *limit, u64 now)
{
	struct cairn_dcqcn *rp = &qpc->cc.rp[side];
	u32 top, burst;

	if (!qpc->attrs.cc)
		return;
	top = cong_top_rate(qpc);
	cong_take_cnps(qpc, rp, top, now);
	cairn_dcqcn_advance(rp, qpc->cc.params, top, now);
	if (!rp->kbps || (limit->kbps && limit->kbps <= rp->kbps))
		return;
	limit->kbps = rp->kbps;
	/* A longer burst would mean a longer wait after it, and more packets in
	 * the congested queue.
	 */
	burst = cairn_rate_default_burst(rp->kbps, cairn_pace_packet_max(qpc));
	if (limit->burst > burst)
		limit->burst = burst;
}

void cairn_congestion_sent(struct cairn_qpc *qpc, enum cairn_side_id side, u32 bytes)
{
	if (qpc->attrs.cc)
		cairn_dcqcn_sent(&qpc->cc.rp[side], qpc->cc.params,
				 cong_top_rate(qpc), bytes);
}

static void cong_send_cnp(struct cairn_qpc *qpc)
{
	static const u8 payload[CAIRN_CNP_PAYLOAD];
	struct cairn_train train = {
		.count = 1,
		.first = {
			.opcode = CAIRN_BTH_CNP,
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.becn = true,
			.payload_len = CAIRN_CNP_PAYLOAD,
		},
		.seg = CAIRN_CNP_PAYLOAD,
		.length = CAIRN_CNP_PAYLOAD,
		.inline_data = payload,
	};

	cairn_env_count(qpc, CAIRN_CTR_CNPS_SENT, 1);
	cairn_env_emit(qpc, CAIRN_RESP, &train);
}

void cairn_congestion_answer(struct cairn_qpc *qpc, u64 now)
{
	WRITE_ONCE(qpc->cnp_due, false);
	if (now < qpc->cc.cnp_at)
		return;
	WRITE_ONCE(qpc->cc.cnp_at,
		   now + qpc->cc.params->cnp_interval_us * 1000ULL);
	cong_send_cnp(qpc);
}

void cairn_congestion_marked(struct cairn_qpc *qpc, enum cairn_side_id side, u64 now)
{
	cairn_env_count(qpc, CAIRN_CTR_CE_RECEIVED, 1);
	if (qpc->transport == CAIRN_TRANSPORT_UD)
		return;
	if (side == CAIRN_RESP) {
		cairn_congestion_answer(qpc, now);
		return;
	}
	/* Kick the responder once for each CNP, not for each mark. */
	if (READ_ONCE(qpc->cnp_due) || now < READ_ONCE(qpc->cc.cnp_at))
		return;
	WRITE_ONCE(qpc->cnp_due, true);
	cairn_env_kick(qpc, CAIRN_RESP);
}

/* A peer sends one CNP in an interval of its own clock. CNPs that arrive within half an
 * interval are forged or duplicated and are ignored.
 */
void cairn_congestion_notified(struct cairn_qpc *qpc, u64 now)
{
	cairn_env_count(qpc, CAIRN_CTR_CNPS_RECEIVED, 1);
	if (!qpc->attrs.cc ||
	    (qpc->cc.cnps &&
	     now < qpc->cc.heard_at + qpc->cc.params->cnp_interval_us * 500ULL))
		return;
	WRITE_ONCE(qpc->cc.heard_at, now);
	WRITE_ONCE(qpc->cc.cnps, qpc->cc.cnps + 1);
}
