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
/* Longer answers are not joined to others (net/plug.c). */
#define SIM_JOINED	2000

struct sim_packet {
	u8 src, dst;		/* host numbers */
	u32 sender;		/* QP number, if it is on the receiver's host; or 0 */
	u32 len;		/* IP header to ICRC */
	u8 refuse;		/* as cairn_pkt.refuse, of a kept one */
	u8 *bytes;		/* an allocation of exactly len */
};

struct batch {
	struct sim *s;
	u32 n;
	struct sim_packet *pkt[CAIRN_TRAIN_MAX];
};

static void packet_free(struct sim_packet *packet)
{
	free(packet->bytes);
	free(packet);
}

static void net_put16(u8 *bytes, u16 v)
{
	bytes[0] = v >> 8;
	bytes[1] = (u8)v;
}

static void l3_headers(struct sim_packet *packet)
{
	u8 *ip = packet->bytes, *udp = ip + 20;

	memset(ip, 0, SIM_L3_LEN);
	ip[0] = 0x45;
	net_put16(ip + 2, packet->len);
	ip[6] = 0x40;		/* don't fragment */
	ip[8] = 64;		/* TTL */
	ip[9] = 17;		/* UDP */
	ip[12] = 10;
	ip[15] = packet->src + 1;
	ip[16] = 10;
	ip[19] = packet->dst + 1;
	net_put16(udp, SIM_SPORT);
	net_put16(udp + 2, CAIRN_UDP_PORT);
	net_put16(udp + 4, packet->len - 20);
}

/* A packet shorter than a BTH has no ICRC. Any value will do, so that the parser sees the
 * packet.
 */
static __le32 icrc_of(const struct sim_packet *packet)
{
	u32 len = packet->len - SIM_L3_LEN - CAIRN_ICRC_LEN;

	if (len < sizeof(struct cairn_bth))
		return 0;
	return cairn_icrc_finish(icrc_headers4(packet->bytes, packet->bytes + 20,
					       packet->bytes + SIM_L3_LEN, len));
}

static void set_icrc(struct sim_packet *packet)
{
	__le32 crc = icrc_of(packet);

	memcpy(packet->bytes + packet->len - CAIRN_ICRC_LEN, &crc, sizeof(crc));
}

static void set_sport(struct sim_packet *packet, u16 sport)
{
	net_put16(packet->bytes + 20, sport);
	set_icrc(packet);
}

struct sim_packet *sim_packet(u32 src, u32 dst, const void *bth, u32 len)
{
	struct sim_packet *packet = malloc(sizeof(*packet));

	packet->src = src;
	packet->dst = dst;
	packet->len = SIM_L3_LEN + len + CAIRN_ICRC_LEN;
	packet->bytes = malloc(packet->len);
	l3_headers(packet);
	memcpy(packet->bytes + SIM_L3_LEN, bth, len);
	set_icrc(packet);
	return packet;
}

static struct sim_packet *packet_copy(const struct sim_packet *packet)
{
	struct sim_packet *copy = malloc(sizeof(*copy));

	*copy = *packet;
	copy->bytes = malloc(packet->len);
	memcpy(copy->bytes, packet->bytes, packet->len);
	return copy;
}

/*
 * Arrival.
 */

const u8 *sim_pkt_ip(const struct cairn_pkt *pkt)
{
	const struct sim_packet *packet = pkt->cookie;

	return packet->bytes;
}

const u8 *sim_pkt_payload(const struct cairn_pkt *pkt)
{
	return sim_pkt_ip(pkt) + pkt->base + pkt->payload_off;
}

static struct sim_qp *find_qp(struct sim *sim, u32 host, u32 qpn)
{
	u32 i;

	for (i = 0; i < sim->qps; i++)
		if (sim->qp[i]->host == host && sim->qp[i]->c.qpn == qpn)
			return sim->qp[i];
	return NULL;
}

/* Parse the bytes into a packet for a QP. Return: the QP; NULL: dropped and counted. */
static struct sim_qp *net_accept(struct sim *sim, const struct sim_packet *packet,
				 struct cairn_pkt *pkt)
{
	struct sim_qp *qp;
	__le32 crc = icrc_of(packet);

	if (memcmp(packet->bytes + packet->len - CAIRN_ICRC_LEN, &crc, sizeof(crc))) {
		sim->count[CAIRN_CTR_RX_ICRC_ERRORS]++;
		return NULL;
	}
	memset(pkt, 0, sizeof(*pkt));
	pkt->cookie = packet;
	pkt->base = SIM_L3_LEN;
	pkt->sender = packet->sender;
	memcpy(&pkt->flow, packet->bytes + 20, sizeof(pkt->flow));
	if (cairn_pkt_parse(pkt, packet->bytes + SIM_L3_LEN, packet->len - SIM_L3_LEN)) {
		sim->count[CAIRN_CTR_RX_MALFORMED]++;
		return NULL;
	}
	qp = find_qp(sim, packet->dst, pkt->qpn);
	if (!qp || (qp->c.transport != CAIRN_TRANSPORT_UD &&
		    qp->peer != packet->src)) {
		sim->count[CAIRN_CTR_RX_NO_QP]++;
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

static void held_free(struct sim_qp *qp, struct sim_held *held)
{
	if (!held)
		return;
	packet_free(held->p);
	free(held);
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
	struct sim_held **at = &qp->held, *held;

	if (qp->plain || pkt->handed)
		return -ENOMEM;
	while (*at && cairn_psn_diff((*at)->psn, pkt->psn) < 0)
		at = &(*at)->next;
	if (*at && (*at)->psn == pkt->psn)
		return held_same((*at)->p, pkt->cookie) ? 0 : -EEXIST;
	if (!qp->hold_room || sim_alloc_fails(qp->s))
		return -ENOMEM;
	qp->hold_room--;
	held = malloc(sizeof(*held));
	*held = (struct sim_held){
		.next = *at,
		.psn = pkt->psn,
		.p = packet_copy(pkt->cookie),
	};
	held->p->refuse = pkt->refuse;
	*at = held;
	return 0;
}

int sim_held(struct sim_qp *qp, u32 psn, struct cairn_pkt *pkt)
{
	struct sim_held *held;

	held_free(qp, qp->in_hand);
	qp->in_hand = NULL;
	while ((held = qp->held)) {
		s32 off = cairn_psn_diff(held->psn, psn);

		if (off > 0)
			return 0;
		qp->held = held->next;
		if (!off) {
			qp->in_hand = held;
			net_accept(qp->s, held->p, pkt);
			pkt->refuse = held->p->refuse;
			return 1;
		}
		held_free(qp, held);
	}
	return -ENOENT;
}

void sim_drop_held(struct sim_qp *qp)
{
	struct sim_held *held;

	held_free(qp, qp->in_hand);
	qp->in_hand = NULL;
	while ((held = qp->held)) {
		qp->held = held->next;
		held_free(qp, held);
	}
}

/* Return: the QP if its side *@side now needs a turn. */
static struct sim_qp *net_receive(struct sim *sim, const struct sim_packet *packet,
				  enum cairn_side_id *side)
{
	struct cairn_pkt pkt;
	struct sim_qp *qp = net_accept(sim, packet, &pkt);

	if (!qp)
		return NULL;
	pkt.ce = (packet->bytes[1] & 3) == 3;
	sim_trace_pkt(qp, "receives", &pkt);
	if (qp->hooks.rx)
		qp->hooks.rx(qp, &pkt);
	*side = pkt.op->flags & CAIRN_OP_RESPONSE ? CAIRN_REQ : CAIRN_RESP;
	if (*side == CAIRN_RESP && qp->hooks.refuse)
		pkt.refuse = qp->hooks.refuse(qp, &pkt);
	sim_enter(qp, *side);
	if (*side == CAIRN_REQ)
		cairn_comp_rx(&qp->c, &pkt, sim->now);
	else if (pkt.refuse)
		cairn_resp_rx_refused(&qp->c, &pkt, sim->now);
	else
		cairn_resp_rx(&qp->c, &pkt, sim->now);
	sim_leave(qp);
	return qp;
}

static void batch_free(void *arg)
{
	struct batch *batch = arg;

	while (batch->n)
		packet_free(batch->pkt[--batch->n]);
	free(batch);
}

static void net_arrive(struct sim *sim, void *arg)
{
	struct sim_qp *qp = NULL, *hit;
	struct batch *batch = arg;
	enum cairn_side_id side;
	u32 i;

	sim->flying -= batch->n;
	for (i = 0; i < batch->n; i++) {
		if (sim->dead[batch->pkt[i]->dst])
			continue;
		hit = net_receive(sim, batch->pkt[i], &side);
		qp = hit ?: qp;
	}
	batch_free(batch);
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
static void net_corrupt(struct sim *sim, struct sim_packet *packet)
{
	u32 bit = sim_below(&sim->rand, (packet->len - SIM_L3_LEN - 12) * 8);

	packet->bytes[SIM_L3_LEN + 12 + bit / 8] ^= 1 << bit % 8;
}

static bool net_hurt(struct sim_qp *qp, enum cairn_side_id side,
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

/* Answers that wait for sim_unplug(). */
struct sim_waiting {
	struct sim_qp *qp;
	enum cairn_side_id side;
	struct cairn_train train;
	u8 *payload;
	u32 dst;
	struct sim_waiting *next;
};

static void flush_batch(struct departure *departure)
{
	if (departure->open) {
		departure->s->flying += departure->open->n;
		sim_at_drop(departure->s, departure->when, net_arrive, batch_free, departure->open);
	}
	departure->open = NULL;
}

static struct batch *new_batch(struct sim *sim)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	batch->s = sim;
	return batch;
}

static void arrive_alone(struct sim *sim, struct sim_packet *packet, u64 when)
{
	struct batch *batch = new_batch(sim);

	batch->pkt[batch->n++] = packet;
	sim->flying++;
	sim_at_drop(sim, when, net_arrive, batch_free, batch);
}

static void arrive_next(struct departure *departure, struct sim_packet *packet)
{
	if (!departure->open)
		departure->open = new_batch(departure->s);
	departure->open->pkt[departure->open->n++] = packet;
}

/* Send one packet with the faults that chance and the test choose. */
static void send_packet(struct departure *departure, struct sim_qp *qp,
			enum cairn_side_id side, const struct cairn_pkt *pkt,
			struct sim_packet *packet, enum sim_fate fate)
{
	struct sim *sim = departure->s;
	const struct sim_faults *fault = &sim->faults;
	bool faults = fate == SIM_PASS && !sim->calm;
	u64 late = 1 + sim_below(&sim->rand, fault->late_ns);

	if (fate == SIM_DROP || (faults && net_hurt(qp, side, pkt, fault->loss))) {
		sim_trace(qp, "loses that");
		sim->drops++;
		packet_free(packet);
		return;
	}
	if (faults && net_hurt(qp, side, pkt, fault->corrupt))
		net_corrupt(sim, packet);
	/* a congested queue marks only ECN-capable packets */
	if (packet->bytes[1] && faults && sim_chance(&sim->rand, fault->mark))
		packet->bytes[1] = 3;
	if (fate == SIM_DUP || (faults && sim_chance(&sim->rand, fault->dup)))
		arrive_alone(sim, packet_copy(packet), departure->when + late / 2);
	if (fate == SIM_LATE || (faults && sim_chance(&sim->rand, fault->late))) {
		arrive_alone(sim, packet, departure->when +
			     (fate == SIM_LATE ? fault->late_ns : late));
		return;
	}
	if (faults && sim_chance(&sim->rand, fault->split))
		flush_batch(departure);
	arrive_next(departure, packet);
}

static void check_train(struct sim_qp *qp, const struct cairn_train *train)
{
	const struct cairn_opcode *op = &cairn_opcodes[train->first.opcode];
	struct sim *sim = qp->s;
	u32 pmtu = qp->c.attrs.pmtu;

	if (!train->count || train->count > CAIRN_TRAIN_MAX)
		sim_fail(sim, "train of %u packets", train->count);
	if (train->count > 1 &&
	    (cairn_opcodes[train->mid_opcode].hdr_len != op->hdr_len ||
	     cairn_opcodes[train->last_opcode].hdr_len != op->hdr_len))
		sim_fail(sim, "train with headers of different length");
	if (train->first.payload_len != (train->count > 1 ? train->seg : train->length))
		sim_fail(sim, "first of %u packets has %u bytes of %u", train->count,
			 train->first.payload_len, train->length);
	if (train->seg > pmtu)
		sim_fail(sim, "segment of %u bytes, PMTU %u", train->seg, pmtu);
	if (train->count > 1 && (train->length <= train->seg * (train->count - 1u) ||
				 train->length > train->seg * train->count))
		sim_fail(sim, "train of %u packets with %u bytes", train->count,
			 train->length);
	/* the whole train is one IP packet before it is segmented */
	if (SIM_L3_LEN + train->count * (op->hdr_len + ALIGN(train->seg, 4) +
					 CAIRN_ICRC_LEN) > 65535)
		sim_fail(sim, "train of %u packets of %u bytes", train->count,
			 train->seg);
	if (train->count == 1 && train->length > pmtu)
		sim_fail(sim, "packet of %u bytes, PMTU %u", train->length, pmtu);
	if (train->length && !(op->flags & CAIRN_OP_PAYLOAD))
		sim_fail(sim, "payload in a %s", op->name);
	if ((op->flags & CAIRN_OP_RESPONSE) !=
	    (qp->s->run_side == CAIRN_RESP ? CAIRN_OP_RESPONSE : 0))
		sim_fail(sim, "%s from the wrong side", op->name);
}

/* The headers of packet @k of the train, as sent. */
static struct cairn_pkt header_of(const struct cairn_train *train, u32 k)
{
	struct cairn_pkt pkt;

	cairn_train_packet(&pkt, train, k);
	pkt.op = &cairn_opcodes[pkt.opcode];
	return pkt;
}

static void net_record(struct sim_qp *qp, enum cairn_side_id side,
		       const struct cairn_train *train, const struct cairn_pkt *pkt)
{
	struct sim *sim = qp->s;

	if (!sim->record)
		return;
	if (sim->n_sent == sim->sent_room) {
		sim->sent_room = sim->sent_room ? 2 * sim->sent_room : 256;
		sim->sent = realloc(sim->sent, sim->sent_room * sizeof(*sim->sent));
	}
	sim->sent[sim->n_sent++] = (struct sim_sent){
		.qp = qp,
		.side = side,
		.pkt = *pkt,
		.when = sim->now,
		.retransmit = train->retransmit,
		.train = sim->trains,
		.ect = train->ect,
	};
}

static struct sim_packet *net_build(u32 src, u32 dst, const struct cairn_pkt *pkt,
				    const u8 *payload)
{
	u8 buf[CAIRN_MAX_HDR + 4096 + 4];
	struct sim_packet *packet;
	u32 len;

	BUG_ON(pkt->payload_len > 4096);
	len = cairn_pkt_build(buf, pkt);
	if (pkt->payload_len)
		memcpy(buf + len, payload, pkt->payload_len);
	len += pkt->payload_len;
	memset(buf + len, 0, cairn_pkt_pad(pkt->payload_len));
	len += cairn_pkt_pad(pkt->payload_len);
	packet = sim_packet(src, dst, buf, len);
	packet->sender = pkt->sender;
	return packet;
}

/* The time at which the link of @host has sent the last bit of @bytes. */
static u64 net_transmit(struct sim *sim, u32 host, u32 bytes)
{
	struct sim_host *owner = &sim->host[host];

	owner->link_free = max(owner->link_free, sim->now) +
		       ((u64)bytes * sim->byte_ps + 999) / 1000;
	return owner->link_free;
}

/* Send packet @k of @train. */
static void net_depart(struct departure *departure, struct sim_qp *qp,
		       enum cairn_side_id side, const struct cairn_train *train, u32 k,
		       const u8 *payload, u32 dst)
{
	struct cairn_pkt pkt = header_of(train, k);
	struct sim_packet *packet = net_build(qp->host, dst, &pkt, payload);
	bool known = departure->s->handed && qp->c.transport != CAIRN_TRANSPORT_UD;
	enum sim_fate fate = SIM_PASS;

	if (qp->s->host[qp->host].unfenced)
		sim_fail(qp->s, "QP %u: a packet leaves before the fence", qp->c.qpn);
	if (known)
		packet->sender = qp->c.qpn;
	if (train->ect)
		packet->bytes[1] = 2;
	if (qp->sport)
		set_sport(packet, qp->sport);
	net_record(qp, side, train, &pkt);
	sim_trace_pkt(qp, train->retransmit ? "repeats" : "sends", &pkt);
	if (qp->hooks.emit)
		fate = qp->hooks.emit(qp, side, &pkt);
	departure->when = net_transmit(departure->s, qp->host, packet->len) +
			  departure->s->latency_ns;
	send_packet(departure, qp, side, &pkt, packet, fate);
}

static void send_train(struct sim_qp *qp, enum cairn_side_id side,
		       const struct cairn_train *train, const u8 *payload, u32 dst)
{
	struct departure departure = { .s = qp->s };
	u32 k;

	for (k = 0; k < train->count; k++)
		net_depart(&departure, qp, side, train, k, payload + k * train->seg, dst);
	flush_batch(&departure);
	departure.s->trains++;
}

/*
 * Answers that leave together, as in net/plug.c, after one fence.
 */

static void net_leave(struct sim *sim)
{
	struct sim_waiting *waiting;

	while ((waiting = sim->waiting)) {
		sim->waiting = waiting->next;
		sim_settle(sim, waiting->qp->host);
		send_train(waiting->qp, waiting->side, &waiting->train,
			   waiting->payload, waiting->dst);
		free(waiting->payload);
		free(waiting);
	}
}

void sim_plug(struct sim *sim)
{
	sim->plugged = true;
}

void sim_unplug(struct sim *sim)
{
	u32 host;

	net_leave(sim);
	for (host = 0; host < SIM_HOSTS; host++)
		sim_settle(sim, host);
	sim->plugged = false;
}

void sim_drop_waiting(struct sim *sim)
{
	struct sim_waiting *waiting;

	while ((waiting = sim->waiting)) {
		sim->waiting = waiting->next;
		free(waiting->payload);
		free(waiting);
	}
}

static bool net_waits(const struct sim_qp *qp, enum cairn_side_id side)
{
	const struct sim_waiting *waiting = qp->s->waiting;

	while (waiting && (waiting->qp != qp || waiting->side != side))
		waiting = waiting->next;
	return waiting;
}

/* A side whose packets wait stays with this CPU. Others may run anywhere. */
void sim_turn_over(struct sim_qp *qp, enum cairn_side_id side)
{
	if (side == CAIRN_RESP && !net_waits(qp, side))
		sim_settle(qp->s, qp->host);
}

/* Short answers wait. The others leave at once, behind those that wait. */
static void net_send(struct sim_qp *qp, enum cairn_side_id side,
		     const struct cairn_train *train, const u8 *payload, u32 dst)
{
	struct sim_waiting *waiting, **end = &qp->s->waiting;

	if (!qp->s->plugged || side == CAIRN_REQ || train->length > SIM_JOINED) {
		if (side == CAIRN_RESP)
			net_leave(qp->s);
		sim_settle(qp->s, qp->host);
		send_train(qp, side, train, payload, dst);
		return;
	}
	waiting = malloc(sizeof(*waiting));
	*waiting = (struct sim_waiting){
		.qp = qp,
		.side = side,
		.train = *train,
		.payload = malloc(train->length),
		.dst = dst,
	};
	memcpy(waiting->payload, payload, train->length);
	while (*end)
		end = &(*end)->next;
	*end = waiting;
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

static void handed_turn(struct sim *sim, void *arg)
{
	struct hand hand = *(struct hand *)arg;

	free(arg);
	sim_turn(hand.to, hand.side);
}

static bool hand_fits(struct sim_qp *qp, const struct cairn_train *train,
		      struct hand *hand)
{
	struct sim *sim = qp->s;
	u8 last = train->count > 1 ? train->last_opcode : train->first.opcode;

	if (sim->flying || sim->waiting || !sim_chance(&sim->rand, sim->handed) ||
	    cairn_opcodes[last].hdrs & (CAIRN_HDR_IETH | CAIRN_HDR_FETH |
					CAIRN_HDR_DETH))
		return false;
	hand->to = find_qp(sim, qp->peer, train->first.qpn);
	hand->side = cairn_opcodes[last].flags & CAIRN_OP_RESPONSE ?
		     CAIRN_REQ : CAIRN_RESP;
	return hand->to && hand->to->peer == qp->host &&
	       !sim->dead[hand->to->host] &&
	       (hand->side == CAIRN_REQ ||
		cairn_resp_in_step(&hand->to->c, train->first.psn));
}

static void hand_packets(const struct hand *hand, u32 sender,
			 const struct cairn_train *train, const u8 *payload)
{
	struct sim *sim = hand->to->s;
	u8 *bytes = malloc(CAIRN_MAX_HDR + train->length);
	struct sim_packet packet = { .bytes = bytes };
	struct cairn_pkt pkt;
	u32 k;

	memcpy(bytes + CAIRN_MAX_HDR, payload, train->length);
	for (k = 0; k < train->count; k++) {
		memset(&pkt, 0, sizeof(pkt));
		if (cairn_train_read(&pkt, train, k)) {
			sim_fail(sim, "a packet that cannot be read is handed over");
			break;
		}
		pkt.handed = true;
		pkt.sender = sender;
		pkt.cookie = &packet;
		pkt.base = CAIRN_MAX_HDR + k * train->seg - pkt.payload_off;
		net_put16((u8 *)&pkt.flow, SIM_SPORT);
		sim_trace_pkt(hand->to, "is given", &pkt);
		if (hand->to->hooks.rx)
			hand->to->hooks.rx(hand->to, &pkt);
		if (hand->side == CAIRN_REQ)
			cairn_comp_rx(&hand->to->c, &pkt, sim->now);
		else
			cairn_resp_rx(&hand->to->c, &pkt, sim->now);
	}
	if (hand->side == CAIRN_RESP)
		cairn_resp_settle(&hand->to->c);
	if (sim->host[hand->to->host].unfenced)
		sim_fail(sim, "QP %u: unlocked before the fence", hand->to->c.qpn);
	free(bytes);
}

/* Call the watchers for a train that is handed over. */
static void hand_record(struct sim_qp *qp, enum cairn_side_id side,
			const struct cairn_train *train)
{
	struct cairn_pkt pkt;
	u32 k;

	for (k = 0; k < train->count; k++) {
		pkt = header_of(train, k);
		net_record(qp, side, train, &pkt);
		if (qp->hooks.emit)
			qp->hooks.emit(qp, side, &pkt);
	}
	qp->s->trains++;
}

/* Return: false: the train goes through the network. */
static bool hand_over(struct sim_qp *qp, enum cairn_side_id side,
		      const struct cairn_train *train, const u8 *payload)
{
	struct hand *hand = malloc(sizeof(*hand));
	struct sim *sim = qp->s;
	struct cairn_qpc before = sim->before;
	u32 cqes = sim->run_cqes;

	if (!hand_fits(qp, train, hand)) {
		free(hand);
		return false;
	}
	sim_settle(sim, qp->host);
	hand_record(qp, side, train);
	sim_enter(hand->to, hand->side);
	hand_packets(hand, qp->c.qpn, train, payload);
	sim_leave(hand->to);
	sim->run_qp = qp;
	sim->run_side = side;
	sim->run_cqes = cqes;
	sim->before = before;
	sim->handed_trains++;
	sim_at_drop(sim, sim->now, handed_turn, free, hand);
	return true;
}

/* The destination of the datagrams of @train, or the peer. Return: false: no such address
 * handle.
 */
static bool find_destination(const struct sim_qp *qp,
			     const struct cairn_train *train, u32 *dst)
{
	const struct sim_host *host = &qp->s->host[qp->host];

	*dst = qp->peer;
	if (qp->c.transport != CAIRN_TRANSPORT_UD)
		return true;
	if (train->ah >= SIM_AHS || !host->ah[train->ah].valid)
		return false;
	*dst = host->ah[train->ah].host;
	return true;
}

/* Describe message @k. Return: false if it or its memory is refused. */
static bool take_part(struct sim_qp *qp, const struct cairn_train *train,
		      cairn_part_fn part, u32 k, struct cairn_train *one,
		      u8 *payload)
{
	if (part(&qp->c, train, k, one))
		return false;
	if (one->ah != train->ah)
		sim_fail(qp->s, "a train has two address handles");
	if (one->count != 1 || one->first.opcode != train->first.opcode ||
	    one->length != train->seg ||
	    one->first.psn != cairn_psn_add(train->first.psn, k))
		sim_fail(qp->s, "message %u of %u is not like the first", k,
			 train->count);
	if (one->inline_data)
		memcpy(payload, one->inline_data, one->length);
	else if (one->length &&
		 sim_gather(qp, &one->span, payload, one->length))
		return false;
	return true;
}

u32 sim_emit_messages(struct sim_qp *qp, const struct cairn_train *train,
		      cairn_part_fn part)
{
	struct cairn_train one[CAIRN_TRAIN_MAX];
	struct departure departure = { .s = qp->s };
	u8 *payload;
	u32 k, dst;

	if (!find_destination(qp, train, &dst))
		return 0;
	payload = malloc(train->length);
	if (!train->count || train->count > CAIRN_TRAIN_MAX ||
	    train->length != train->count * train->seg)
		sim_fail(qp->s, "train of %u messages, %u bytes", train->count,
			 train->length);
	for (k = 0; k < train->count; k++) {
		if (!take_part(qp, train, part, k, &one[k], payload + k * train->seg)) {
			free(payload);
			return k;
		}
		check_train(qp, &one[k]);
	}
	sim_settle(qp->s, qp->host);
	for (k = 0; k < train->count; k++)
		net_depart(&departure, qp, CAIRN_REQ, &one[k], 0, payload + k * train->seg,
			   dst);
	flush_batch(&departure);
	departure.s->trains++;
	free(payload);
	return train->count;
}

int sim_emit(struct sim_qp *qp, enum cairn_side_id side,
	     const struct cairn_train *train)
{
	u8 *payload;
	int err = 0;
	u32 dst;

	check_train(qp, train);
	qp->s->turn_acks += train->first.opcode == CAIRN_BTH_ACK;
	if (!find_destination(qp, train, &dst))
		return -EINVAL;
	payload = malloc(train->length);
	if (train->inline_data)
		memcpy(payload, train->inline_data, train->length);
	else if (train->length)
		err = sim_gather(qp, &train->span, payload, train->length);
	if (!err && !hand_over(qp, side, train, payload))
		net_send(qp, side, train, payload, dst);
	free(payload);
	return err;
}

/*
 * Injected packets, not built by the engine.
 */

void sim_inject_raw(struct sim *sim, u32 src, u32 dst, const void *bth, u32 len)
{
	struct batch *batch = new_batch(sim);

	batch->pkt[batch->n++] = sim_packet(src, dst, bth, len);
	sim->flying += batch->n;
	net_arrive(sim, batch);
}

void sim_inject(struct sim_qp *to, const struct cairn_pkt *hdr,
		const void *payload)
{
	struct batch *batch = new_batch(to->s);

	batch->pkt[batch->n++] = net_build(to->peer, to->host, hdr, payload);
	to->s->flying += batch->n;
	net_arrive(to->s, batch);
}

void sim_inject_from(struct sim_qp *to, u16 sport, const struct cairn_pkt *hdr,
		     const void *payload)
{
	struct sim_packet *packet = net_build(to->peer, to->host, hdr, payload);
	struct batch *batch = new_batch(to->s);

	set_sport(packet, sport);
	batch->pkt[batch->n++] = packet;
	to->s->flying += batch->n;
	net_arrive(to->s, batch);
}

void sim_inject_part(struct sim_qp *to, const struct cairn_pkt *hdr,
		     const void *payload)
{
	struct sim_packet *packet = net_build(to->peer, to->host, hdr, payload);
	enum cairn_side_id side;

	net_receive(to->s, packet, &side);
	packet_free(packet);
}
