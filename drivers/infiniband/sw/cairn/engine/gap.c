// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Loss recovery of the requester: retransmit the missing packets only, not all packets
 * in flight. The wire and the peer are standard (IBTA 9.7.5.1, 9.9.2): the requester
 * retransmits the gap with an AckReq at its end and pauses. The answer tells whether
 * the peer keeps packets behind a gap, as engine/hold.c does:
 *
 *   ACK far ahead	the peer has the rest: continue where sending stopped
 *   NAK right behind	the peer keeps packets, and the gap is longer
 *   ACK right behind	the peer has dropped the rest: go back and send all of it
 *			again, without a pause for the next CAIRN_PLAIN gaps
 *
 * No answer gives the length of a gap. Networks and hosts drop single packets or whole
 * trains. So a gap that begins where a train began is taken for that train, any other
 * gap for one packet; the length doubles while the peer reports a longer gap.
 *
 * When an answer is overdue, by the measured round trip or, for the first answer of a
 * connection, by CAIRN_PROBE_FIRST, the oldest packet is sent again as a probe. Without
 * probes the loss of a burst's last packets would last until the ACK timer, which is
 * long. A probe is a duplicate or fills a gap, and is answered in either case. It
 * costs no retry; after CAIRN_PROBES of them without progress the ACK timer decides.
 * Probe and ACK timer are put off while this machine is late (cairn_env_late()): the CPU
 * that receives the answer, or that of a peer on the same machine, may have been taken
 * away, and then nothing was lost.
 * The ACK timer repeats the oldest packet, too, and then twice as many with each ACK: a
 * slow start.
 *
 * READ and atomic responses behind a missing one are placed and remembered. The request
 * is repeated from the missing response on. Responses that are requested again count
 * as outstanding, since the peer may still be sending them, unless it has ended the
 * connection.
 */
#include <linux/minmax.h>
#include "engine/comp_ack.h"
#include "engine/gap.h"
#include "engine/req_record.h"
#include "engine/req_window.h"
#include "engine/requester.h"
#include "engine/wqe.h"

#define CAIRN_PLAIN		8
#define CAIRN_PROBES		3
/* Minimum delay of a probe, ns: hosts pause for other reasons, too. */
#define CAIRN_PROBE_MIN		1000000U
/* Delay of the probe for the first answer of a connection, ns. */
#define CAIRN_PROBE_FIRST	50000000U
/* Upper bound of a measured round trip, ns; a later probe would be useless. */
#define CAIRN_RTT_MAX		1000000000U
/* How often a late machine puts probes off without progress, in case a packet was lost,
 * too. It takes two to four times CAIRN_PUT_OFF, by the rounding of deadlines.
 */
#define CAIRN_PUT_OFFS		64

static u64 gap_bit(u32 psn)
{
	return 1ULL << (psn % 64);
}

static u64 *gap_word(u64 *map, u32 psn)
{
	return &map[psn / 64 % CAIRN_GAP_WORDS];
}

bool cairn_gap_got(struct cairn_requester *req, u32 psn)
{
	return *gap_word(req->gap.got, psn) & gap_bit(psn);
}

void cairn_gap_set_got(struct cairn_requester *req, u32 psn, bool got)
{
	if (got)
		*gap_word(req->gap.got, psn) |= gap_bit(psn);
	else
		*gap_word(req->gap.got, psn) &= ~gap_bit(psn);
}

void cairn_gap_ask_again(struct cairn_requester *req, u32 psn, u32 n)
{
	u32 k;

	for (k = 0; k < n; k++)
		cairn_gap_set_got(req, psn + k, false);
}

static bool gap_starts_train(struct cairn_requester *req, u32 psn)
{
	return *gap_word(req->gap.starts, psn) & gap_bit(psn);
}

/* Packets of the train that began with the oldest packet, or one. */
static u32 gap_train_at_una(struct cairn_requester *req)
{
	u32 left = cairn_psn_diff(req->sent, req->una), n = 1;

	if (!gap_starts_train(req, req->una))
		return 1;
	while (n < CAIRN_TRAIN_MAX && n < left &&
	       !gap_starts_train(req, req->una + n))
		n++;
	return n;
}

/* Move the send cursor back to its place before the gap, or to una if that is newer. */
static void gap_restore_cursor(struct cairn_requester *req)
{
	req->send_rec = req->gap.rec;
	req->pkt = req->gap.pkt;
	if ((s32)(req->send_rec - req->una_rec) < 0) {
		req->send_rec = req->una_rec;
		req->pkt = 0;
	}
	cairn_comp_clip(req);
}

static void gap_finish(struct cairn_requester *req)
{
	gap_restore_cursor(req);
	req->gap_kind = CAIRN_GAP_NONE;
}

void cairn_gap_forget(struct cairn_requester *req)
{
	req->gap_kind = CAIRN_GAP_NONE;
	req->gap.nak = false;
	req->rtt.probe_deadline = 0;
	req->rtt.start = 0;
}

/* Retransmit all packets from the oldest on. */
static void gap_go_back(struct cairn_qpc *qpc)
{
	qpc->req.gap_kind = CAIRN_GAP_NONE;
	cairn_req_rewind(qpc, qpc->req.una);
}

void cairn_gap_repeat_all(struct cairn_qpc *qpc)
{
	qpc->req.rtt.start = 0;
	gap_go_back(qpc);
}

/* Retransmit @n packets from the oldest on, then pause. */
static void gap_begin(struct cairn_qpc *qpc, u32 n, enum cairn_gap_kind kind)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_gap *gap = &req->gap;
	const struct cairn_swr *swr;

	if (!req->gap_kind) {
		gap->rec = req->send_rec;
		gap->pkt = req->pkt;
		gap->high = cairn_req_cursor(req);
	}
	/* The answer may be to either transmission, so do not time it. After a
	 * probe take it as the first one's: otherwise the round trip of a peer that
	 * has become slower would never be measured.
	 */
	if (kind != CAIRN_GAP_PROBE)
		req->rtt.start = 0;
	gap->nak = false;
	gap_go_back(qpc);
	swr = cairn_req_swr(req, req->send_rec);
	if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS)
		n = max(n, cairn_req_read_count(qpc, swr));
	if ((s32)n >= cairn_psn_diff(gap->high, req->una))
		return;
	req->gap_kind = kind;
	req->gap_sent = false;
	gap->run = n;
	gap->end = cairn_psn_add(req->una, n);
}

u32 cairn_gap_limit(struct cairn_requester *req, u32 n)
{
	struct cairn_gap *gap = &req->gap;
	s32 left;

	if (!req->gap_kind)
		return n;
	if (req->gap_sent)
		return 0;
	left = cairn_psn_diff(gap->end, cairn_req_cursor(req));
	if (left > 0)
		return min(n, (u32)left);
	req->gap_sent = true;
	gap_restore_cursor(req);
	return 0;
}

bool cairn_gap_ends(const struct cairn_requester *req, u32 psn)
{
	return req->gap_kind && !req->gap_sent && req->gap.end == psn;
}

void cairn_gap_left(struct cairn_requester *req, u32 psn, u32 n, bool asks,
		    u64 now)
{
	u32 k;

	for (k = 1; k < n; k++)
		*gap_word(req->gap.starts, psn + k) &= ~gap_bit(psn + k);
	*gap_word(req->gap.starts, psn) |= gap_bit(psn);
	/* Do not time a packet before the first answer: it is sent alone, sees no
	 * queueing, and the RTT would be too short.
	 */
	if (asks && !req->rtt.start && req->peer_port.changes) {
		req->rtt.start = now;
		req->rtt.psn = cairn_psn_add(psn, n - 1);
	}
}

void cairn_gap_nak(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_gap *gap = &req->gap;
	bool longer = req->gap_kind && req->una == gap->end;
	u32 n = gap_train_at_una(req);

	if (longer) {
		gap->plain = 0;
		n = max_t(u32, n, min_t(u32, 2 * gap->run, CAIRN_TRAIN_MAX));
	}
	if (!gap->plain) {
		gap_begin(qpc, n, CAIRN_GAP_NAK);
		return;
	}
	gap->plain--;
	req->rtt.start = 0;
	gap_go_back(qpc);
}

void cairn_gap_later_nak(struct cairn_requester *req, u32 psn)
{
	req->gap.nak = true;
	req->gap.nak_psn = psn;
}

bool cairn_gap_read(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	return req->gap_kind == CAIRN_GAP_READ &&
	       cairn_psn_diff(req->una, req->gap.end) < 0;
}

void cairn_gap_repeat_read(struct cairn_qpc *qpc)
{
	gap_begin(qpc, 1, CAIRN_GAP_READ);
}

/* All packets of the gap are answered: decide about the packets behind it. */
static void gap_answered(struct cairn_qpc *qpc, bool right_behind)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_gap *gap = &req->gap;
	u32 n = gap_train_at_una(req);

	switch (req->gap_kind) {
	case CAIRN_GAP_NAK:
		if (right_behind) {
			gap->plain = CAIRN_PLAIN;
			gap_go_back(qpc);
		} else {
			gap_begin(qpc, n, CAIRN_GAP_NAK);
		}
		break;
	case CAIRN_GAP_PROBE:
		if (right_behind)
			gap_begin(qpc, max_t(u32, n, 2 * gap->run), CAIRN_GAP_PROBE);
		else
			gap_finish(req);
		break;
	case CAIRN_GAP_READ:
		if (gap->nak && req->una == gap->nak_psn)
			gap_begin(qpc, n, CAIRN_GAP_NAK);
		else
			gap_finish(req);
		break;
	}
}

void cairn_gap_answer(struct cairn_qpc *qpc, bool ack, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_gap *gap = &req->gap;
	s32 past = cairn_psn_diff(req->una, gap->end);

	if (!req->gap_kind || past < 0)
		return;
	if (cairn_psn_diff(req->una, gap->high) >= 0)
		gap_finish(req);
	else if (cairn_psn_diff(req->acked, req->una) > 0)
		gap_begin(qpc, 1, CAIRN_GAP_READ);
	else
		gap_answered(qpc, ack && !past);
	cairn_req_rearm(qpc, now);
}

/* Deadlines of probes. */

void cairn_gap_progress(struct cairn_requester *req, u64 now)
{
	struct cairn_rtt *rtt = &req->rtt;
	u32 took, delta;

	rtt->probes = 0;
	rtt->put_off = 0;
	if (!rtt->start || cairn_psn_diff(req->una, rtt->psn) <= 0)
		return;
	took = cairn_gap_took(rtt->start, now, CAIRN_RTT_MAX);
	rtt->start = 0;
	delta = took > rtt->mean ? took - rtt->mean : rtt->mean - took;
	rtt->deviation = rtt->mean ?
		rtt->deviation - rtt->deviation / 4 + delta / 4 : took / 2;
	rtt->mean = cairn_gap_smooth(rtt->mean, took);
}

void cairn_gap_arm(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_rtt *rtt = &qpc->req.rtt;
	u64 after;

	rtt->probe_deadline = 0;
	if (!qpc->attrs.timeout || rtt->probes >= CAIRN_PROBES ||
	    (!rtt->mean && qpc->req.peer_port.changes))
		return;
	after = rtt->mean ? max_t(u64, 2ULL * rtt->mean + 4ULL * rtt->deviation,
				  CAIRN_PROBE_MIN) : CAIRN_PROBE_FIRST;
	after <<= rtt->probes;
	/* With a slower peer only the ACK timer applies. */
	if (after < 2048ULL << qpc->attrs.timeout)
		rtt->probe_deadline = now + after;
}

bool cairn_gap_put_off(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_rtt *rtt = &qpc->req.rtt;

	return cairn_req_put_off(qpc, &rtt->probe_deadline, &rtt->put_off,
				 CAIRN_PUT_OFFS, now);
}

void cairn_gap_probe(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	req->rtt.probe_deadline = 0;
	if (!cairn_req_outstanding(req))
		return;
	req->rtt.probes++;
	cairn_env_count(qpc, CAIRN_CTR_TAIL_PROBES, 1);
	gap_begin(qpc, 1, CAIRN_GAP_PROBE);
}

void cairn_gap_timeout(struct cairn_qpc *qpc)
{
	qpc->req.rtt.probes = 0;
	qpc->req.rtt.put_off = 0;
	qpc->req.rtt.start = 0;
	gap_begin(qpc, 1, CAIRN_GAP_PROBE);
}
