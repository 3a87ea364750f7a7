// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control of a QP: who answers marks, and what notifications do
 * (Annex A17.9, DCQCN).
 *
 * A side that receives a marked packet sends a CNP, at most one for the QP in an
 * interval. It does so whether or not the QP is controlled itself: the mark says
 * that the sender asked for it. The responder sends for both sides, so that there
 * is one clock for the interval. A CNP names no direction, so it slows both sides
 * of the QP; each applies it, on its own state, when it sends.
 */
#include "engine/internal.h"

#define MAX_CUTS	64u

/* Where an uncontrolled side is: at its limit, or the speed of the link. */
static u32 top_rate(const struct cairn_qpc *q)
{
	u32 kbps = q->attrs.rate.kbps;

	return kbps ? min(kbps, q->cc.line_kbps) : q->cc.line_kbps;
}

/* Each CNP is a cut; after so many the rate is the least anyway. */
static void take_cnps(struct cairn_qpc *q, struct cairn_dcqcn *d, u32 top,
		      u64 now)
{
	u32 cnps = READ_ONCE(q->cc.cnps);
	u32 n = min(cnps - d->cnps, MAX_CUTS);

	d->cnps = cnps;
	while (n--)
		cairn_dcqcn_cut(d, q->cc.params, top, now);
}

void cairn_cc_limit(struct cairn_qpc *q, enum cairn_side_id side,
		    struct cairn_rate_limit *l, u64 now)
{
	struct cairn_dcqcn *d = &q->cc.rp[side];
	u32 top, burst;

	if (!q->attrs.cc)
		return;
	top = top_rate(q);
	cairn_dcqcn_advance(d, q->cc.params, top, now);
	take_cnps(q, d, top, now);
	if (!d->kbps || (l->kbps && l->kbps <= d->kbps))
		return;
	l->kbps = d->kbps;
	/* A long burst would be a long wait, and many packets in the queue
	 * that has marked.
	 */
	burst = cairn_rate_default_burst(d->kbps, cairn_packet_max(q));
	if (l->burst > burst)
		l->burst = burst;
}

void cairn_cc_sent(struct cairn_qpc *q, enum cairn_side_id side, u32 bytes)
{
	if (q->attrs.cc)
		cairn_dcqcn_sent(&q->cc.rp[side], q->cc.params, top_rate(q),
				 bytes);
}

static void send_cnp(struct cairn_qpc *q)
{
	static const u8 payload[CAIRN_CNP_PAYLOAD];
	struct cairn_train t = {
		.count = 1,
		.first = {
			.opcode = CAIRN_BTH_CNP,
			.pkey = q->attrs.pkey,
			.qpn = q->attrs.dqpn,
			.becn = true,
			.payload_len = CAIRN_CNP_PAYLOAD,
		},
		.seg = CAIRN_CNP_PAYLOAD,
		.length = CAIRN_CNP_PAYLOAD,
		.inline_data = payload,
	};

	cairn_port_count(q, CAIRN_CTR_CNPS_SENT, 1);
	cairn_port_emit(q, CAIRN_RESP, &t);
}

void cairn_cc_answer(struct cairn_qpc *q, u64 now)
{
	WRITE_ONCE(q->marked, false);
	if (now < q->cc.cnp_at)
		return;
	q->cc.cnp_at = now + q->cc.params->cnp_interval_us * 1000ULL;
	send_cnp(q);
}

void cairn_cc_marked(struct cairn_qpc *q, enum cairn_side_id side, u64 now)
{
	cairn_port_count(q, CAIRN_CTR_CE_RECEIVED, 1);
	if (q->transport == CAIRN_TRANSPORT_UD)
		return;
	if (side == CAIRN_RESP) {
		cairn_cc_answer(q, now);
		return;
	}
	WRITE_ONCE(q->marked, true);
	cairn_port_kick(q, CAIRN_RESP);
}

void cairn_cc_notified(struct cairn_qpc *q)
{
	cairn_port_count(q, CAIRN_CTR_CNPS_RECEIVED, 1);
	if (q->attrs.cc)
		WRITE_ONCE(q->cc.cnps, q->cc.cnps + 1);
}
