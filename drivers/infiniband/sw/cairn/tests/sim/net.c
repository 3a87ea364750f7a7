// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The network: real bytes with IPv4 and UDP headers and ICRC. A train arrives as one
 * batch; faults of single packets and random cuts split it. A packet is lost three times
 * at most, and a request and its answer together less often than a requester tries. So a
 * requester that runs out of retries is an error of the engine.
 */
#include <errno.h>
#include <stdlib.h>
#include <asm/byteorder.h>
#include "engine/responder.h"
#include "engine/train.h"
#include "wire/icrc.h"
#include "icrc_headers.h"
#include "sim/sim.h"

#define MAX_LOSSES	3

struct sim_packet {
	u8 src, dst;		/* host numbers */
	u32 sender;		/* QP number, if it is on the receiver's host; or 0 */
	u32 len;		/* IP header to ICRC */
	u8 *bytes;		/* an allocation of exactly len */
};

struct batch {
	struct sim *s;
	u32 n;
	struct sim_packet *pkt[CAIRN_TRAIN_MAX];
};

static void packet_free(struct sim_packet *p)
{
	free(p->bytes);
	free(p);
}

static void put16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = (u8)v;
}

static void l3_headers(struct sim_packet *p)
{
	u8 *ip = p->bytes, *udp = ip + 20;

	memset(ip, 0, SIM_L3_LEN);
	ip[0] = 0x45;
	put16(ip + 2, p->len);
	ip[6] = 0x40;		/* don't fragment */
	ip[8] = 64;		/* TTL */
	ip[9] = 17;		/* UDP */
	ip[12] = 10;
	ip[15] = p->src + 1;
	ip[16] = 10;
	ip[19] = p->dst + 1;
	put16(udp, SIM_SPORT);
	put16(udp + 2, CAIRN_UDP_PORT);
	put16(udp + 4, p->len - 20);
}

/* A packet shorter than a BTH has no ICRC. Any value will do, so that the parser sees the
 * packet.
 */
static __le32 icrc_of(const struct sim_packet *p)
{
	u32 len = p->len - SIM_L3_LEN - CAIRN_ICRC_LEN;

	if (len < sizeof(struct cairn_bth))
		return 0;
	return cairn_icrc_finish(icrc_headers4(p->bytes, p->bytes + 20,
					       p->bytes + SIM_L3_LEN, len));
}

static void set_icrc(struct sim_packet *p)
{
	__le32 crc = icrc_of(p);

	memcpy(p->bytes + p->len - CAIRN_ICRC_LEN, &crc, sizeof(crc));
}

static void set_sport(struct sim_packet *p, u16 sport)
{
	put16(p->bytes + 20, sport);
	set_icrc(p);
}

struct sim_packet *sim_packet(u32 src, u32 dst, const void *bth, u32 len)
{
	struct sim_packet *p = malloc(sizeof(*p));

	p->src = src;
	p->dst = dst;
	p->len = SIM_L3_LEN + len + CAIRN_ICRC_LEN;
	p->bytes = malloc(p->len);
	l3_headers(p);
	memcpy(p->bytes + SIM_L3_LEN, bth, len);
	set_icrc(p);
	return p;
}

static struct sim_packet *packet_copy(const struct sim_packet *p)
{
	struct sim_packet *c = malloc(sizeof(*c));

	*c = *p;
	c->bytes = malloc(p->len);
	memcpy(c->bytes, p->bytes, p->len);
	return c;
}

/*
 * Arrival.
 */

const u8 *sim_pkt_ip(const struct cairn_pkt *pkt)
{
	const struct sim_packet *p = pkt->cookie;

	return p->bytes;
}

const u8 *sim_pkt_payload(const struct cairn_pkt *pkt)
{
	return sim_pkt_ip(pkt) + pkt->base + pkt->payload_off;
}

static struct sim_qp *find_qp(struct sim *s, u32 host, u32 qpn)
{
	u32 i;

	for (i = 0; i < s->qps; i++)
		if (s->qp[i]->host == host && s->qp[i]->c.qpn == qpn)
			return s->qp[i];
	return NULL;
}

/* Parse the bytes into a packet for a QP. Return: the QP; NULL: dropped and counted. */
static struct sim_qp *accept(struct sim *s, const struct sim_packet *p,
			     struct cairn_pkt *pkt)
{
	struct sim_qp *qp;
	__le32 crc = icrc_of(p);

	if (memcmp(p->bytes + p->len - CAIRN_ICRC_LEN, &crc, sizeof(crc))) {
		s->count[CAIRN_CTR_RX_ICRC_ERRORS]++;
		return NULL;
	}
	memset(pkt, 0, sizeof(*pkt));
	pkt->cookie = p;
	pkt->base = SIM_L3_LEN;
	pkt->sender = p->sender;
	memcpy(&pkt->flow, p->bytes + 20, sizeof(pkt->flow));
	if (cairn_pkt_parse(pkt, p->bytes + SIM_L3_LEN, p->len - SIM_L3_LEN)) {
		s->count[CAIRN_CTR_RX_MALFORMED]++;
		return NULL;
	}
	qp = find_qp(s, p->dst, pkt->qpn);
	if (!qp || (qp->c.transport != CAIRN_TRANSPORT_UD &&
		    qp->peer != p->src)) {
		s->count[CAIRN_CTR_RX_NO_QP]++;
		return NULL;
	}
	return qp;
}

/*
 * Packets kept ahead of a gap.
 */

struct sim_held {
	struct sim_held *next;
	u32 psn;
	struct sim_packet *p;
};

static void held_free(struct sim_qp *qp, struct sim_held *h)
{
	if (!h)
		return;
	packet_free(h->p);
	free(h);
	qp->hold_room++;
}

/* Are the requests equal, except for AckReq and ICRC? */
static bool held_same(const struct sim_packet *kept,
		      const struct sim_packet *came)
{
	u32 bth = SIM_L3_LEN, end = came->len - CAIRN_ICRC_LEN;

	return kept->len == came->len &&
	       !memcmp(kept->bytes + bth, came->bytes + bth, 8) &&
	       !((kept->bytes[bth + 8] ^ came->bytes[bth + 8]) & 0x7f) &&
	       !memcmp(kept->bytes + bth + 9, came->bytes + bth + 9,
		       end - bth - 9);
}

int sim_hold(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct sim_held **at = &qp->held, *h;

	if (qp->plain || pkt->handed)
		return -ENOMEM;
	while (*at && cairn_psn_diff((*at)->psn, pkt->psn) < 0)
		at = &(*at)->next;
	if (*at && (*at)->psn == pkt->psn)
		return held_same((*at)->p, pkt->cookie) ? 0 : -EEXIST;
	if (!qp->hold_room || sim_alloc_fails(qp->s))
		return -ENOMEM;
	qp->hold_room--;
	h = malloc(sizeof(*h));
	*h = (struct sim_held){
		.next = *at,
		.psn = pkt->psn,
		.p = packet_copy(pkt->cookie),
	};
	*at = h;
	return 0;
}

int sim_held(struct sim_qp *qp, u32 psn, struct cairn_pkt *pkt)
{
	struct sim_held *h;

	held_free(qp, qp->in_hand);
	qp->in_hand = NULL;
	while ((h = qp->held)) {
		s32 off = cairn_psn_diff(h->psn, psn);

		if (off > 0)
			return 0;
		qp->held = h->next;
		if (!off) {
			qp->in_hand = h;
			accept(qp->s, h->p, pkt);
			return 1;
		}
		held_free(qp, h);
	}
	return -ENOENT;
}

void sim_drop_held(struct sim_qp *qp)
{
	struct sim_held *h;

	held_free(qp, qp->in_hand);
	qp->in_hand = NULL;
	while ((h = qp->held)) {
		qp->held = h->next;
		held_free(qp, h);
	}
}

/* Return: the QP if its side *@side now needs a turn. */
static struct sim_qp *receive(struct sim *s, const struct sim_packet *p,
			      enum cairn_side_id *side)
{
	struct cairn_pkt pkt;
	struct sim_qp *qp = accept(s, p, &pkt);

	if (!qp)
		return NULL;
	pkt.ce = (p->bytes[1] & 3) == 3;
	sim_trace_pkt(qp, "receives", &pkt);
	if (qp->hooks.rx)
		qp->hooks.rx(qp, &pkt);
	*side = pkt.op->flags & CAIRN_OP_RESPONSE ? CAIRN_REQ : CAIRN_RESP;
	sim_enter(qp, *side);
	if (*side == CAIRN_REQ)
		cairn_comp_rx(&qp->c, &pkt, s->now);
	else
		cairn_resp_rx(&qp->c, &pkt, s->now);
	sim_leave(qp);
	return qp;
}

static void batch_free(void *arg)
{
	struct batch *b = arg;

	while (b->n)
		packet_free(b->pkt[--b->n]);
	free(b);
}

static void arrive(struct sim *s, void *arg)
{
	struct sim_qp *qp = NULL, *hit;
	struct batch *b = arg;
	enum cairn_side_id side;
	u32 i;

	s->flying -= b->n;
	for (i = 0; i < b->n; i++) {
		if (s->dead[b->pkt[i]->dst])
			continue;
		hit = receive(s, b->pkt[i], &side);
		qp = hit ?: qp;
	}
	batch_free(b);
	if (qp)
		sim_turn(qp, side);
}

/*
 * Departure.
 */

static u8 *losses_of(struct sim_qp *qp, enum cairn_side_id side, u32 psn)
{
	u32 h = (psn * 2 + side + qp->c.qpn * 977) % sizeof(qp->s->lost);

	return &qp->s->lost[h];
}

/* Flip one covered bit. Only the receiver's ICRC check can detect it. */
static void corrupt(struct sim *s, struct sim_packet *p)
{
	u32 bit = sim_below(&s->rand, (p->len - SIM_L3_LEN - 12) * 8);

	p->bytes[SIM_L3_LEN + 12 + bit / 8] ^= 1 << bit % 8;
}

static bool hurt(struct sim_qp *qp, enum cairn_side_id side,
		 const struct cairn_pkt *pkt, u32 rate)
{
	u8 *losses = losses_of(qp, side, pkt->psn);

	if (!sim_chance(&qp->s->rand, rate))
		return false;
	return *losses < MAX_LOSSES && ++*losses;
}

struct departure {
	struct sim *s;
	struct batch *open;	/* packets that arrive together */
	u64 when;		/* arrival of the current packet */
};

static void flush_batch(struct departure *d)
{
	if (d->open) {
		d->s->flying += d->open->n;
		sim_at_drop(d->s, d->when, arrive, batch_free, d->open);
	}
	d->open = NULL;
}

static struct batch *new_batch(struct sim *s)
{
	struct batch *b = calloc(1, sizeof(*b));

	b->s = s;
	return b;
}

static void arrive_alone(struct sim *s, struct sim_packet *p, u64 when)
{
	struct batch *b = new_batch(s);

	b->pkt[b->n++] = p;
	s->flying++;
	sim_at_drop(s, when, arrive, batch_free, b);
}

static void arrive_next(struct departure *d, struct sim_packet *p)
{
	if (!d->open)
		d->open = new_batch(d->s);
	d->open->pkt[d->open->n++] = p;
}

/* Send one packet with the faults that chance and the test choose. */
static void send_packet(struct departure *d, struct sim_qp *qp,
			enum cairn_side_id side, const struct cairn_pkt *pkt,
			struct sim_packet *p, enum sim_fate fate)
{
	struct sim *s = d->s;
	const struct sim_faults *f = &s->faults;
	bool faults = fate == SIM_PASS && !s->calm;
	u64 late = 1 + sim_below(&s->rand, f->late_ns);

	if (fate == SIM_DROP || (faults && hurt(qp, side, pkt, f->loss))) {
		sim_trace(qp, "loses that");
		s->drops++;
		packet_free(p);
		return;
	}
	if (faults && hurt(qp, side, pkt, f->corrupt))
		corrupt(s, p);
	/* a congested queue marks only ECN-capable packets */
	if (p->bytes[1] && faults && sim_chance(&s->rand, f->mark))
		p->bytes[1] = 3;
	if (fate == SIM_DUP || (faults && sim_chance(&s->rand, f->dup)))
		arrive_alone(s, packet_copy(p), d->when + late / 2);
	if (fate == SIM_LATE || (faults && sim_chance(&s->rand, f->late))) {
		arrive_alone(s, p, d->when +
			     (fate == SIM_LATE ? f->late_ns : late));
		return;
	}
	if (faults && sim_chance(&s->rand, f->split))
		flush_batch(d);
	arrive_next(d, p);
}

static void check_train(struct sim_qp *qp, const struct cairn_train *t)
{
	const struct cairn_opcode *op = &cairn_opcodes[t->first.opcode];
	struct sim *s = qp->s;
	u32 pmtu = qp->c.attrs.pmtu;

	if (!t->count || t->count > CAIRN_TRAIN_MAX)
		sim_fail(s, "train of %u packets", t->count);
	if (t->count > 1 &&
	    (cairn_opcodes[t->mid_opcode].hdr_len != op->hdr_len ||
	     cairn_opcodes[t->last_opcode].hdr_len != op->hdr_len))
		sim_fail(s, "train with headers of different length");
	if (t->first.payload_len != (t->count > 1 ? t->seg : t->length))
		sim_fail(s, "first of %u packets has %u bytes of %u", t->count,
			 t->first.payload_len, t->length);
	if (t->seg > pmtu)
		sim_fail(s, "segment of %u bytes, PMTU %u", t->seg, pmtu);
	if (t->count > 1 && (t->length <= t->seg * (t->count - 1u) ||
			     t->length > t->seg * t->count))
		sim_fail(s, "train of %u packets with %u bytes", t->count,
			 t->length);
	/* the whole train is one IP packet before it is segmented */
	if (SIM_L3_LEN + t->count * (op->hdr_len + ALIGN(t->seg, 4) +
				     CAIRN_ICRC_LEN) > 65535)
		sim_fail(s, "train of %u packets of %u bytes", t->count,
			 t->seg);
	if (t->count == 1 && t->length > pmtu)
		sim_fail(s, "packet of %u bytes, PMTU %u", t->length, pmtu);
	if (t->length && !(op->flags & CAIRN_OP_PAYLOAD))
		sim_fail(s, "payload in a %s", op->name);
	if ((op->flags & CAIRN_OP_RESPONSE) !=
	    (qp->s->run_side == CAIRN_RESP ? CAIRN_OP_RESPONSE : 0))
		sim_fail(s, "%s from the wrong side", op->name);
}

/* The headers of packet @k of the train, as sent. */
static struct cairn_pkt header_of(const struct cairn_train *t, u32 k)
{
	struct cairn_pkt pkt;

	cairn_train_packet(&pkt, t, k);
	pkt.op = &cairn_opcodes[pkt.opcode];
	return pkt;
}

static void record(struct sim_qp *qp, enum cairn_side_id side,
		   const struct cairn_train *t, const struct cairn_pkt *pkt)
{
	struct sim *s = qp->s;

	if (!s->record)
		return;
	if (s->n_sent == s->sent_room) {
		s->sent_room = s->sent_room ? 2 * s->sent_room : 256;
		s->sent = realloc(s->sent, s->sent_room * sizeof(*s->sent));
	}
	s->sent[s->n_sent++] = (struct sim_sent){
		.qp = qp,
		.side = side,
		.pkt = *pkt,
		.when = s->now,
		.retransmit = t->retransmit,
		.train = s->trains,
		.ect = t->ect,
	};
}

static struct sim_packet *build(u32 src, u32 dst, const struct cairn_pkt *pkt,
				const u8 *payload)
{
	u8 buf[CAIRN_MAX_HDR + 4096 + 4];
	struct sim_packet *p;
	u32 len;

	BUG_ON(pkt->payload_len > 4096);
	len = cairn_pkt_build(buf, pkt);
	if (pkt->payload_len)
		memcpy(buf + len, payload, pkt->payload_len);
	len += pkt->payload_len;
	memset(buf + len, 0, cairn_pkt_pad(pkt->payload_len));
	len += cairn_pkt_pad(pkt->payload_len);
	p = sim_packet(src, dst, buf, len);
	p->sender = pkt->sender;
	return p;
}

/* The time at which the link of @host has sent the last bit of @bytes. */
static u64 transmit(struct sim *s, u32 host, u32 bytes)
{
	struct sim_host *h = &s->host[host];

	h->link_free = max(h->link_free, s->now) +
		       ((u64)bytes * s->byte_ps + 999) / 1000;
	return h->link_free;
}

/* Send packet @k of @t. */
static void depart(struct departure *d, struct sim_qp *qp,
		   enum cairn_side_id side, const struct cairn_train *t, u32 k,
		   const u8 *payload, u32 dst)
{
	struct cairn_pkt pkt = header_of(t, k);
	struct sim_packet *p = build(qp->host, dst, &pkt, payload);
	bool known = d->s->handed && qp->c.transport != CAIRN_TRANSPORT_UD;
	enum sim_fate fate = SIM_PASS;

	if (known)
		p->sender = qp->c.qpn;
	if (t->ect)
		p->bytes[1] = 2;
	if (qp->sport)
		set_sport(p, qp->sport);
	record(qp, side, t, &pkt);
	sim_trace_pkt(qp, t->retransmit ? "repeats" : "sends", &pkt);
	if (qp->hooks.emit)
		fate = qp->hooks.emit(qp, side, &pkt);
	d->when = transmit(d->s, qp->host, p->len) + d->s->latency_ns;
	send_packet(d, qp, side, &pkt, p, fate);
}

static void send_train(struct sim_qp *qp, enum cairn_side_id side,
		       const struct cairn_train *t, const u8 *payload, u32 dst)
{
	struct departure d = { .s = qp->s };
	u32 k;

	for (k = 0; k < t->count; k++)
		depart(&d, qp, side, t, k, payload + k * t->seg, dst);
	flush_batch(&d);
	d.s->trains++;
}

/*
 * Loopback between two ends of one host, as in net/local.c and lane/exec.c: the receiver
 * reads the packets in the sender's run, in the sender's memory. Packets that it cannot
 * take go through the network; later ones must not overtake them.
 */

struct hand {
	struct sim_qp *to;
	enum cairn_side_id side;
};

static void handed_turn(struct sim *s, void *arg)
{
	struct hand hand = *(struct hand *)arg;

	free(arg);
	sim_turn(hand.to, hand.side);
}

static bool hand_fits(struct sim_qp *qp, const struct cairn_train *t,
		      struct hand *hand)
{
	struct sim *s = qp->s;
	u8 last = t->count > 1 ? t->last_opcode : t->first.opcode;

	if (s->flying || !sim_chance(&s->rand, s->handed) ||
	    cairn_opcodes[last].hdrs & (CAIRN_HDR_IETH | CAIRN_HDR_FETH |
					CAIRN_HDR_DETH))
		return false;
	hand->to = find_qp(s, qp->peer, t->first.qpn);
	hand->side = cairn_opcodes[last].flags & CAIRN_OP_RESPONSE ?
		     CAIRN_REQ : CAIRN_RESP;
	return hand->to && hand->to->peer == qp->host &&
	       !s->dead[hand->to->host] &&
	       (hand->side == CAIRN_REQ ||
		cairn_resp_in_step(&hand->to->c, t->first.psn));
}

static void hand_packets(const struct hand *hand, u32 sender,
			 const struct cairn_train *t, const u8 *payload)
{
	struct sim *s = hand->to->s;
	u8 *bytes = malloc(CAIRN_MAX_HDR + t->length);
	struct sim_packet p = { .bytes = bytes };
	struct cairn_pkt pkt;
	u32 k;

	memcpy(bytes + CAIRN_MAX_HDR, payload, t->length);
	for (k = 0; k < t->count; k++) {
		memset(&pkt, 0, sizeof(pkt));
		if (cairn_train_read(&pkt, t, k)) {
			sim_fail(s, "a packet that cannot be read is handed over");
			break;
		}
		pkt.handed = true;
		pkt.sender = sender;
		pkt.cookie = &p;
		pkt.base = CAIRN_MAX_HDR + k * t->seg - pkt.payload_off;
		put16((u8 *)&pkt.flow, SIM_SPORT);
		sim_trace_pkt(hand->to, "is given", &pkt);
		if (hand->to->hooks.rx)
			hand->to->hooks.rx(hand->to, &pkt);
		if (hand->side == CAIRN_REQ)
			cairn_comp_rx(&hand->to->c, &pkt, s->now);
		else
			cairn_resp_rx(&hand->to->c, &pkt, s->now);
	}
	if (hand->side == CAIRN_RESP)
		cairn_resp_settle(&hand->to->c);
	free(bytes);
}

/* Call the watchers for a train that is handed over. */
static void hand_record(struct sim_qp *qp, enum cairn_side_id side,
			const struct cairn_train *t)
{
	struct cairn_pkt pkt;
	u32 k;

	for (k = 0; k < t->count; k++) {
		pkt = header_of(t, k);
		record(qp, side, t, &pkt);
		if (qp->hooks.emit)
			qp->hooks.emit(qp, side, &pkt);
	}
	qp->s->trains++;
}

/* Return: false: the train goes through the network. */
static bool hand_over(struct sim_qp *qp, enum cairn_side_id side,
		      const struct cairn_train *t, const u8 *payload)
{
	struct hand *hand = malloc(sizeof(*hand));
	struct sim *s = qp->s;
	struct cairn_qpc before = s->before;
	u32 cqes = s->run_cqes;

	if (!hand_fits(qp, t, hand)) {
		free(hand);
		return false;
	}
	hand_record(qp, side, t);
	sim_enter(hand->to, hand->side);
	hand_packets(hand, qp->c.qpn, t, payload);
	sim_leave(hand->to);
	s->run_qp = qp;
	s->run_side = side;
	s->run_cqes = cqes;
	s->before = before;
	s->handed_trains++;
	sim_at_drop(s, s->now, handed_turn, free, hand);
	return true;
}

/* The destination of the datagrams of @t, or the peer. Return: false: no such address
 * handle.
 */
static bool find_destination(const struct sim_qp *qp,
			     const struct cairn_train *t, u32 *dst)
{
	const struct sim_host *h = &qp->s->host[qp->host];

	*dst = qp->peer;
	if (qp->c.transport != CAIRN_TRANSPORT_UD)
		return true;
	if (t->ah >= SIM_AHS || !h->ah[t->ah].valid)
		return false;
	*dst = h->ah[t->ah].host;
	return true;
}

/* Describe message @k. Return: false if it or its memory is refused. */
static bool take_part(struct sim_qp *qp, const struct cairn_train *t,
		      cairn_part_fn part, u32 k, struct cairn_train *one,
		      u8 *payload)
{
	if (part(&qp->c, t, k, one))
		return false;
	if (one->ah != t->ah)
		sim_fail(qp->s, "a train has two address handles");
	if (one->count != 1 || one->first.opcode != t->first.opcode ||
	    one->length != t->seg ||
	    one->first.psn != cairn_psn_add(t->first.psn, k))
		sim_fail(qp->s, "message %u of %u is not like the first", k,
			 t->count);
	if (one->inline_data)
		memcpy(payload, one->inline_data, one->length);
	else if (one->length &&
		 sim_gather(qp, &one->span, payload, one->length))
		return false;
	return true;
}

u32 sim_emit_messages(struct sim_qp *qp, const struct cairn_train *t,
		      cairn_part_fn part)
{
	struct cairn_train one[CAIRN_TRAIN_MAX];
	struct departure d = { .s = qp->s };
	u8 *payload;
	u32 k, dst;

	if (!find_destination(qp, t, &dst))
		return 0;
	payload = malloc(t->length);
	if (!t->count || t->count > CAIRN_TRAIN_MAX ||
	    t->length != t->count * t->seg)
		sim_fail(qp->s, "train of %u messages, %u bytes", t->count,
			 t->length);
	for (k = 0; k < t->count; k++) {
		if (!take_part(qp, t, part, k, &one[k], payload + k * t->seg)) {
			free(payload);
			return k;
		}
		check_train(qp, &one[k]);
	}
	for (k = 0; k < t->count; k++)
		depart(&d, qp, CAIRN_REQ, &one[k], 0, payload + k * t->seg,
		       dst);
	flush_batch(&d);
	d.s->trains++;
	free(payload);
	return t->count;
}

int sim_emit(struct sim_qp *qp, enum cairn_side_id side,
	     const struct cairn_train *t)
{
	u8 *payload;
	int err = 0;
	u32 dst;

	check_train(qp, t);
	qp->s->turn_acks += t->first.opcode == CAIRN_BTH_ACK;
	if (!find_destination(qp, t, &dst))
		return -EINVAL;
	payload = malloc(t->length);
	if (t->inline_data)
		memcpy(payload, t->inline_data, t->length);
	else if (t->length)
		err = sim_gather(qp, &t->span, payload, t->length);
	if (!err && !hand_over(qp, side, t, payload))
		send_train(qp, side, t, payload, dst);
	free(payload);
	return err;
}

/*
 * Injected packets, not built by the engine.
 */

void sim_inject_raw(struct sim *s, u32 src, u32 dst, const void *bth, u32 len)
{
	struct batch *b = new_batch(s);

	b->pkt[b->n++] = sim_packet(src, dst, bth, len);
	s->flying += b->n;
	arrive(s, b);
}

void sim_inject(struct sim_qp *to, const struct cairn_pkt *hdr,
		const void *payload)
{
	struct batch *b = new_batch(to->s);

	b->pkt[b->n++] = build(to->peer, to->host, hdr, payload);
	to->s->flying += b->n;
	arrive(to->s, b);
}

void sim_inject_from(struct sim_qp *to, u16 sport, const struct cairn_pkt *hdr,
		     const void *payload)
{
	struct sim_packet *p = build(to->peer, to->host, hdr, payload);
	struct batch *b = new_batch(to->s);

	set_sport(p, sport);
	b->pkt[b->n++] = p;
	to->s->flying += b->n;
	arrive(to->s, b);
}

void sim_inject_part(struct sim_qp *to, const struct cairn_pkt *hdr,
		     const void *payload)
{
	struct sim_packet *p = build(to->peer, to->host, hdr, payload);
	enum cairn_side_id side;

	receive(to->s, p, &side);
	packet_free(p);
}
