// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Loss, as the requester sees it: repeat what is missing, not all that is on
 * the way. The wire and the peer are standard (IBTA 9.7.5.1, 9.9.2): a gap is
 * repeated with an AckReq at its end, sending pauses, and the answer tells
 * whether the peer keeps what it gets behind a gap, as engine/hold.c does:
 *
 *   ACK far ahead	it had the rest: go on where sending stopped
 *   NAK right behind	it keeps things, and the gap is longer
 *   ACK right behind	it has nothing: go back and send everything again, at
 *			once for the next CAIRN_PLAIN gaps
 *
 * How long a gap is, nobody tells. Networks and hosts drop packets or whole
 * trains, so a gap that begins like a train did is taken for that train, any
 * other for one packet, doubled while the peer says that it is longer.
 *
 * When an answer is overdue by what was measured of the round trip, the oldest
 * packet goes again, as a probe: if the last packets of a burst were lost nobody
 * would report it, and the ACK timer is long. A probe is a duplicate or fills
 * a gap, and is answered in either case. It costs no retry; after CAIRN_PROBES of
 * them without progress the ACK timer decides. That repeats the oldest packet
 * too, and then twice as many with each ACK: a slow start.
 *
 * READ and atomic responses behind a missing one are placed when they come and
 * remembered; the request is repeated from the missing one on. What is asked for
 * again is awaited again: as long as the peer may be busy with it, it counts as
 * outstanding.
 */
#include "engine/internal.h"

#define CAIRN_PLAIN		8
#define CAIRN_PROBES		3
/* No probe is earlier, ns: hosts pause for other reasons, too. */
#define CAIRN_PROBE_MIN		1000000U
/* A round trip is this at most, ns: a probe later than that is of no use. */
#define CAIRN_RTT_MAX		1000000000U

static u64 bit_of(u32 psn)
{
	return 1ULL << (psn % 64);
}

static u64 *word_of(u64 *map, u32 psn)
{
	return &map[psn / 64 % CAIRN_GAP_WORDS];
}

bool cairn_gap_got(struct cairn_requester *r, u32 psn)
{
	return *word_of(r->gap.got, psn) & bit_of(psn);
}

void cairn_gap_set_got(struct cairn_requester *r, u32 psn, bool got)
{
	if (got)
		*word_of(r->gap.got, psn) |= bit_of(psn);
	else
		*word_of(r->gap.got, psn) &= ~bit_of(psn);
}

void cairn_gap_ask_again(struct cairn_requester *r, u32 psn, u32 n)
{
	u32 k;

	for (k = 0; k < n; k++)
		cairn_gap_set_got(r, psn + k, false);
}

static bool starts_train(struct cairn_requester *r, u32 psn)
{
	return *word_of(r->gap.starts, psn) & bit_of(psn);
}

/* Packets of the train that began with the oldest packet, or one. */
static u32 train_at_una(struct cairn_requester *r)
{
	u32 left = cairn_psn_diff(r->sent, r->una), n = 1;

	if (!starts_train(r, r->una))
		return 1;
	while (n < CAIRN_TRAIN_MAX && n < left &&
	       !starts_train(r, r->una + n))
		n++;
	return n;
}

/* The send cursor to where it was before the gap, or to what is newer. */
static void put_back(struct cairn_requester *r)
{
	r->send_rec = r->gap.rec;
	r->pkt = r->gap.pkt;
	if ((s32)(r->send_rec - r->una_rec) < 0) {
		r->send_rec = r->una_rec;
		r->pkt = 0;
	}
	cairn_req_clip(r);
}

static void finish(struct cairn_requester *r)
{
	put_back(r);
	r->gap_kind = CAIRN_GAP_NONE;
}

void cairn_gap_forget(struct cairn_requester *r)
{
	r->gap_kind = CAIRN_GAP_NONE;
	r->gap.nak = false;
	r->probe_deadline = 0;
	r->rtt_start = 0;
}

/* Everything from the oldest packet on goes again. */
static void go_back(struct cairn_qpc *q)
{
	q->req.gap_kind = CAIRN_GAP_NONE;
	cairn_req_rewind(q, q->req.una);
}

/* Repeat @n packets from the oldest on. */
static void begin(struct cairn_qpc *q, u32 n, enum cairn_gap_kind kind)
{
	struct cairn_requester *r = &q->req;
	struct cairn_gap *g = &r->gap;
	const struct cairn_swr *s;

	if (!r->gap_kind) {
		g->rec = r->send_rec;
		g->pkt = r->pkt;
		g->high = cairn_req_cursor(r);
	}
	/* Which one would be answered? After a probe the first is assumed, else
	 * the round trip of a peer that became slow would never be learnt.
	 */
	if (kind != CAIRN_GAP_PROBE)
		r->rtt_start = 0;
	g->nak = false;
	go_back(q);
	s = cairn_req_swr(r, r->send_rec);
	if (cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_READS)
		n = max(n, cairn_req_read_count(q, s));
	if ((s32)n >= cairn_psn_diff(g->high, r->una))
		return;
	r->gap_kind = kind;
	r->gap_sent = false;
	g->run = n;
	g->end = cairn_psn_add(r->una, n);
}

u32 cairn_gap_limit(struct cairn_requester *r, u32 n)
{
	struct cairn_gap *g = &r->gap;
	s32 left;

	if (!r->gap_kind)
		return n;
	if (r->gap_sent)
		return 0;
	left = cairn_psn_diff(g->end, cairn_req_cursor(r));
	if (left > 0)
		return min(n, (u32)left);
	r->gap_sent = true;
	put_back(r);
	return 0;
}

bool cairn_gap_ends(const struct cairn_requester *r, u32 psn)
{
	return r->gap_kind && !r->gap_sent && r->gap.end == psn;
}

void cairn_gap_left(struct cairn_requester *r, u32 psn, u32 n, bool asks,
		    u64 now)
{
	u32 k;

	for (k = 1; k < n; k++)
		*word_of(r->gap.starts, psn + k) &= ~bit_of(psn + k);
	*word_of(r->gap.starts, psn) |= bit_of(psn);
	if (asks && !r->rtt_start) {
		r->rtt_start = now;
		r->rtt_psn = cairn_psn_add(psn, n - 1);
	}
}

void cairn_gap_nak(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;
	struct cairn_gap *g = &r->gap;
	bool longer = r->gap_kind && r->una == g->end;
	u32 n = train_at_una(r);

	if (longer) {
		g->plain = 0;
		n = max_t(u32, n, min(2 * g->run, (u32)CAIRN_TRAIN_MAX));
	}
	if (!g->plain) {
		begin(q, n, CAIRN_GAP_NAK);
		return;
	}
	g->plain--;
	r->rtt_start = 0;
	go_back(q);
}

void cairn_gap_later_nak(struct cairn_requester *r, u32 psn)
{
	r->gap.nak = true;
	r->gap.nak_psn = psn;
}

bool cairn_gap_read(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;

	return r->gap_kind == CAIRN_GAP_READ &&
	       cairn_psn_diff(r->una, r->gap.end) < 0;
}

void cairn_gap_repeat_read(struct cairn_qpc *q)
{
	begin(q, 1, CAIRN_GAP_READ);
}

/* All of the gap is answered, what does that say of the rest? */
static void answered(struct cairn_qpc *q, bool right_behind)
{
	struct cairn_requester *r = &q->req;
	struct cairn_gap *g = &r->gap;
	u32 n = train_at_una(r);

	switch (r->gap_kind) {
	case CAIRN_GAP_NAK:
		if (right_behind) {
			g->plain = CAIRN_PLAIN;
			go_back(q);
		} else {
			begin(q, n, CAIRN_GAP_NAK);
		}
		break;
	case CAIRN_GAP_PROBE:
		if (right_behind)
			begin(q, max(n, 2 * g->run), CAIRN_GAP_PROBE);
		else
			finish(r);
		break;
	case CAIRN_GAP_READ:
		if (g->nak && r->una == g->nak_psn)
			begin(q, n, CAIRN_GAP_NAK);
		else
			finish(r);
		break;
	}
}

void cairn_gap_answer(struct cairn_qpc *q, bool ack, u64 now)
{
	struct cairn_requester *r = &q->req;
	struct cairn_gap *g = &r->gap;
	s32 past = cairn_psn_diff(r->una, g->end);

	if (!r->gap_kind || past < 0)
		return;
	if (cairn_psn_diff(r->una, g->high) >= 0)
		finish(r);
	else if (cairn_psn_diff(r->acked, r->una) > 0)
		begin(q, 1, CAIRN_GAP_READ);
	else
		answered(q, ack && !past);
	cairn_req_rearm(q, now);
}

/*
 * Time.
 */

void cairn_gap_progress(struct cairn_requester *r, u64 now)
{
	u32 rtt, delta;

	r->probes = 0;
	if (!r->rtt_start || cairn_psn_diff(r->una, r->rtt_psn) <= 0)
		return;
	rtt = min_t(u64, now - r->rtt_start, CAIRN_RTT_MAX);
	r->rtt_start = 0;
	if (!r->srtt) {
		r->srtt = max(rtt, 1U);
		r->rttvar = rtt / 2;
		return;
	}
	delta = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
	r->rttvar = r->rttvar - r->rttvar / 4 + delta / 4;
	r->srtt = max(r->srtt - r->srtt / 8 + rtt / 8, 1U);
}

void cairn_gap_arm(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;
	u64 after;

	r->probe_deadline = 0;
	if (!r->srtt || !q->attrs.timeout || r->probes >= CAIRN_PROBES)
		return;
	after = max_t(u64, 2ULL * r->srtt + 4ULL * r->rttvar,
		      CAIRN_PROBE_MIN) << r->probes;
	/* A peer that slow is left to the ACK timer. */
	if (after < 2048ULL << q->attrs.timeout)
		r->probe_deadline = now + after;
}

void cairn_gap_probe(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;

	r->probe_deadline = 0;
	if (!cairn_req_outstanding(r))
		return;
	r->probes++;
	cairn_port_count(q, CAIRN_CTR_TAIL_PROBES, 1);
	begin(q, 1, CAIRN_GAP_PROBE);
}

void cairn_gap_timeout(struct cairn_qpc *q)
{
	q->req.probes = 0;
	q->req.rtt_start = 0;
	begin(q, 1, CAIRN_GAP_PROBE);
}
