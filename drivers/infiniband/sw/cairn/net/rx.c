// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving. A netfilter hook at LOCAL_IN, in each namespace with a device,
 * takes RoCE packets from the stack. Trains arrive whole there, and the
 * administrator's filter rules have been applied.
 *
 * A train is an skb that was never segmented, or that GRO merged. Each of its
 * packets is checked with the headers that it has on the wire: its own length
 * and, for IPv4, its own id. The id rises by one per packet (segmentation does
 * that) or stays the same (some senders do that). GRO merges no other packets.
 * Consecutive packets of one QP side are delivered together.
 *
 * The UDP checksum is not checked, as the ICRC covers everything that it
 * covers. The ICRC is not checked for packets that never left this host's
 * memory (rx_never_left()).
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/busy_poll.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/xfrm.h>
#include "device/clock.h"
#include "device/cpu.h"
#include "device/mcast.h"
#include "device/mrcache.h"
#include "device/vector.h"
#include "engine/requester.h"
#include "fault/rules.h"
#include "lane/exec.h"
#include "net/faulty.h"
#include "net/net.h"
#include "net/netdev.h"
#include "net/rx.h"
#include "net/tx.h"
#include "wire/icrc.h"

/* After all filters, but before connection tracking confirms, which is last. */
#define CAIRN_HOOK_PRIORITY	(NF_IP_PRI_LAST - 1)

/*
 * The stages that a packet of a train passes before it is handled. Each fetches what
 * the next one reads, and is this many packets ahead of the packet that is handled.
 */
#define RX_NUMBER_AHEAD		8	/* QP number; fetches its entry in the table */
#define RX_QP_AHEAD		6	/* the QP; fetches its head */
#define RX_CONTEXT_AHEAD	4	/* fetches locks and context */
#define RX_RECORD_AHEAD		2	/* fetches the record that an answer completes */
/* Group members that are served in the soft interrupt; the others get clones.
 */
#define RX_GROUP_NOW		4
/* Clones of one skb, in all its batches together. */
#define RX_GROUP_COPIES		CAIRN_MAX_MCAST_QPS
#define RX_CLONE_GFP		(GFP_ATOMIC | __GFP_NOWARN)
/* The shortest packet: BTH and ICRC. */
#define CAIRN_MIN_PACKET	(sizeof(struct cairn_bth) + CAIRN_ICRC_LEN)

/* A packet in the stages. */
struct rx_ahead {
	struct cairn_exec *exec;	/* NULL: none, or not known yet */
	u32 qpn;			/* RX_NO_QPN: there is no such packet */
	u8 side;			/* enum cairn_side_id */
	bool repeats;			/* same side as the packet before it */
};

#define RX_NO_QPN		0xffffffffu

/* An skb, and the state of checking its packets. */
struct rx_arrival {
	struct cairn_nic *nic;
	struct sk_buff *skb;
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
		u8 bytes[sizeof(struct ipv6hdr)];
	} ip;
	struct udphdr udp;
	u32 offset;		/* of the first BTH */
	u32 len;		/* to the end of the last ICRC */
	u32 stride;		/* bytes of each packet but the last */
	u16 id;			/* IPv4, of the first packet */
	u16 vlan;
	/* base is the ICRC of the headers before the BTH, for packets of
	 * base_len bytes. 0: not computed yet.
	 */
	u32 base_len;
	u32 base;
	int ifindex;
	bool ipv6;
	bool ce;		/* of the skb's header, hence of all packets */
	bool train;		/* several packets: headers are made for each */
	bool fixed_id;		/* all packets have the same IPv4 id */
	bool group;		/* to a multicast address */
	bool local;		/* handed over by a device of this host */
	bool sure;		/* never left memory: ICRC is not checked */
	bool again;		/* a copy that the fault rules have been applied to */
	u8 refuse;		/* by such a rule, as cairn_pkt.refuse */
	u32 sender;		/* QP that handed it over; 0: unknown */
	u32 copies;		/* made for members of a group */
	/* A ring: the current packet and those behind it. */
	struct rx_ahead ahead[RX_NUMBER_AHEAD];
};

/* Packets in sequence for one QP side, or for a group. */
struct rx_batch {
	struct cairn_exec *exec;	/* NULL: empty, or for @members */
	const struct cairn_mcast_members *members;
	enum cairn_side_id side;
	u32 offset;
	u32 len;
	struct cairn_pkt *first;	/* as parsed; NULL: not parsed */
};

static void rx_wire_lengths(struct rx_arrival *arrival, u32 len)
{
	arrival->udp.len = htons(sizeof(arrival->udp) + len);
	if (arrival->ipv6)
		arrival->ip.v6.payload_len = arrival->udp.len;
	else
		arrival->ip.v4.tot_len = htons(sizeof(arrival->ip.v4) +
					       sizeof(arrival->udp) + len);
}

/* Compute the ICRC of the headers, without the id, for the next packets. They
 * have @len bytes from BTH to ICRC.
 */
static __always_inline void rx_set_base(struct rx_arrival *arrival, u32 len)
{
	const u8 *udp = (const u8 *)&arrival->udp;

	if (arrival->base_len == len)
		return;
	if (arrival->train)
		rx_wire_lengths(arrival, len);
	arrival->base_len = len;
	arrival->base = arrival->ipv6 ?
			cairn_icrc_ip6(arrival->ip.bytes, udp) :
			cairn_icrc_ip4(arrival->ip.bytes, udp);
}

/* The IPv4 id that packet @k had. */
static u16 rx_id(const struct rx_arrival *arrival, u32 k)
{
	if (arrival->ipv6)
		return 0;
	return arrival->id + (arrival->fixed_id ? 0 : k);
}

/* Continue an ICRC over bytes of an skb, linear or in fragments. */
static u32 rx_icrc_bytes(struct sk_buff *skb, u32 offset, u32 len, u32 crc)
{
	struct skb_seq_state st;
	const u8 *data;
	u32 done, n;

	skb_prepare_seq_read(skb, offset, offset + len, &st);
	for (done = 0; done < len; done += n) {
		n = skb_seq_read(done, &data, &st);
		if (!n)
			break;
		n = min(n, len - done);
		crc = cairn_icrc_update(crc, data, n);
	}
	skb_abort_seq_read(&st);
	return crc;
}

/* Check the ICRC of a packet of @len contiguous bytes. */
static bool rx_icrc_fits_linear(u32 base, u16 id, const u8 *bth, u32 len)
{
	u32 covered = len - CAIRN_ICRC_LEN;
	__le32 icrc;

	memcpy(&icrc, bth + covered, sizeof(icrc));
	return cairn_icrc_finish(cairn_icrc_bth(base, id, bth, covered)) ==
	       icrc;
}

static bool rx_icrc_fits(struct rx_arrival *arrival, u16 id, u32 offset,
			 u32 len)
{
	struct sk_buff *skb = arrival->skb;
	u32 covered = len - CAIRN_ICRC_LEN;
	u32 head = min_t(u32, covered, CAIRN_MAX_HDR);
	u8 buf[CAIRN_MAX_HDR];
	const u8 *bth;
	__le32 icrc;
	u32 crc;

	if (offset + len <= skb_headlen(skb))
		return rx_icrc_fits_linear(arrival->base, id,
					   skb->data + offset, len);
	bth = skb_header_pointer(skb, offset, head, buf);
	if (!bth ||
	    skb_copy_bits(skb, offset + covered, &icrc, sizeof(icrc)))
		return false;
	crc = cairn_icrc_bth(arrival->base, id, bth, head);
	crc = rx_icrc_bytes(skb, offset + head, covered - head, crc);
	return cairn_icrc_finish(crc) == icrc;
}

static __always_inline bool rx_verify(struct rx_arrival *arrival, u32 k,
				      u32 offset, u32 len)
{
	rx_set_base(arrival, len);
	if (rx_icrc_fits(arrival, rx_id(arrival, k), offset, len))
		return true;
	if (!arrival->train || arrival->ipv6 || !k || arrival->fixed_id)
		return false;
	arrival->fixed_id = true;
	if (rx_icrc_fits(arrival, rx_id(arrival, k), offset, len))
		return true;
	arrival->fixed_id = false;
	return false;
}

/* Give clones to member @i and all after it. */
static void rx_copy_to_group(struct rx_arrival *arrival,
			     const struct cairn_mcast_members *members, u32 i)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(arrival->skb);
	struct cairn_exec *exec;

	for (; i < members->num; i++) {
		exec = READ_ONCE(members->member[i].exec);
		if (!exec)
			continue;
		if (arrival->copies == RX_GROUP_COPIES)
			break;
		arrival->copies++;
		cairn_exec_rx_copy(exec, CAIRN_RESP, arrival->skb);
	}
	/* Only a train with bad packets between good ones gets here, because
	 * it has several batches. No regular sender makes one.
	 */
	if (i < members->num)
		cairn_nic_count(arrival->nic, CAIRN_CTR_RX_OVERFLOW,
				DIV_ROUND_UP(cb->len, cb->stride) *
				(members->num - i));
}

/* Give the packets of @batch to all members of a group. Only the first few run
 * here, the lanes serve the others. A train to a large group would take too
 * long here.
 */
static void rx_deliver_group(struct rx_arrival *arrival,
			     const struct rx_batch *batch)
{
	const struct cairn_mcast_members *members = batch->members;
	u32 i, now = RX_GROUP_NOW;

	for (i = 0; i < members->num && now; i++) {
		struct cairn_exec *exec = READ_ONCE(members->member[i].exec);

		if (!exec)
			continue;
		cairn_exec_rx_part(exec, CAIRN_RESP, arrival->skb);
		now--;
	}
	if (i == members->num)
		return;
	cairn_exec_disown(arrival->skb);
	cairn_rx_cb(arrival->skb)->first = NULL;
	rx_copy_to_group(arrival, members, i);
}

/* Give the packets of @batch to their QP or group. Consumes the skb if they are
 * the @last packets in it.
 */
static void rx_deliver(struct rx_arrival *arrival,
		       const struct rx_batch *batch, bool last)
{
	struct sk_buff *skb = arrival->skb;

	*cairn_rx_cb(skb) = (struct cairn_rx_cb){
		.offset = batch->offset,
		.len = batch->len,
		.stride = min(arrival->stride, batch->len),
		.vlan = arrival->vlan,
		.ifindex = arrival->ifindex,
		.ipv6 = arrival->ipv6,
		.ce = arrival->ce,
		.flow = (__force u16)arrival->udp.source,
		.sender = arrival->sender,
		.first = arrival->local ? NULL : batch->first,
	};
	if (cairn_fault_possible())
		cairn_rx_cb(skb)->refuse = arrival->refuse;
	if (batch->first)
		cairn_exec_locate_pkt(batch->first, skb, batch->offset);
	if (batch->members) {
		rx_deliver_group(arrival, batch);
		if (last)
			consume_skb(skb);
	} else if (arrival->local) {
		cairn_exec_hand_copy(batch->exec, batch->side,
				     last ? skb : skb_clone(skb, RX_CLONE_GFP));
	} else if (last) {
		cairn_exec_rx(batch->exec, batch->side, skb);
	} else {
		cairn_exec_rx_part(batch->exec, batch->side, skb);
	}
}

/* Packets to a multicast address are UD, and to the multicast QP number only.
 */
static const struct cairn_mcast_members *
rx_find_group(const struct rx_arrival *arrival, const struct cairn_pkt *pkt)
{
	struct in6_addr addr;

	if (pkt->qpn != CAIRN_QPN_MULTICAST ||
	    pkt->op->transport != CAIRN_TRANSPORT_UD)
		return NULL;
	if (arrival->ipv6)
		addr = arrival->ip.v6.daddr;
	else
		ipv6_addr_set_v4mapped(arrival->ip.v4.daddr, &addr);
	return cairn_mcast_find(&arrival->nic->mcast, &addr);
}

/* Prefetch the packet's memory region while the packets behind it are checked.
 * The caller has found its QP: packets without one must not displace cached
 * data.
 */
static void rx_fetch_region(struct cairn_nic *nic, const struct cairn_pkt *pkt)
{
	struct cairn_mrcaches *caches = READ_ONCE(nic->mrcaches);

	if (caches && pkt->op->hdrs & (CAIRN_HDR_RETH | CAIRN_HDR_ATOMICETH))
		cairn_mrcaches_ahead(caches, pkt->rkey);
}

/* The QP of packet @k. A QP looked up ahead is still valid, because the whole
 * receive is one RCU read section.
 */
static struct cairn_exec *rx_find_qp(const struct rx_arrival *arrival, u32 k,
				     u32 qpn)
{
	const struct rx_ahead *ahead = &arrival->ahead[k % RX_NUMBER_AHEAD];

	if (ahead->exec && ahead->qpn == qpn)
		return ahead->exec;
	return cairn_table_find(&arrival->nic->qp_table, qpn);
}

/* Only connected QPs get responses. A UD requester must not run here: the
 * sender of this packet may hold the lock of the same address handle on this
 * CPU.
 */
static bool rx_may_run(const struct cairn_exec *exec, enum cairn_side_id side)
{
	return side == CAIRN_RESP || exec->path;
}

/* Parse the packet of @len bytes at @offset. It is read once, because a sender
 * on this host may still write to it. Return: false when it is malformed.
 */
static bool rx_read_packet(struct sk_buff *skb, u32 offset, u32 len,
			   struct cairn_pkt *pkt)
{
	u32 n = min_t(u32, len, CAIRN_MAX_HDR);
	u8 hdr[CAIRN_MAX_HDR];

	if (offset + CAIRN_MAX_HDR <= skb_headlen(skb))
		memcpy(hdr, skb->data + offset, sizeof(hdr));
	else if (skb_copy_bits(skb, offset, hdr, n))
		return false;
	return !cairn_pkt_parse(pkt, hdr, len);
}

/* Parse packet @k, which has @len bytes at @offset, into @pkt, and check its ICRC. Return:
 * false when it must be dropped.
 */
static __always_inline bool rx_accept_packet(struct rx_arrival *arrival, u32 k,
					     u32 offset, u32 len,
					     struct cairn_pkt *pkt)
{
	struct cairn_nic *nic = arrival->nic;

	if (!rx_read_packet(arrival->skb, offset, len, pkt)) {
		cairn_nic_count(nic, CAIRN_CTR_RX_MALFORMED, 1);
		return false;
	}
	if (!arrival->sure && !rx_verify(arrival, k, offset, len)) {
		cairn_nic_count(nic, CAIRN_CTR_RX_ICRC_ERRORS, 1);
		return false;
	}
	if (!arrival->local) {
		cairn_nic_count(nic, CAIRN_CTR_RX_PACKETS, 1);
		cairn_nic_count(nic, CAIRN_CTR_RX_BYTES, pkt->payload_len);
	}
	return true;
}

/*
 * Accept packet @k, the only one of @batch, as its @first, and find its QP or group.
 * Return: false when it must be dropped.
 */
static bool rx_check_packet(struct rx_arrival *arrival, u32 k,
			    struct rx_batch *batch)
{
	struct cairn_nic *nic = arrival->nic;
	struct cairn_pkt *pkt = batch->first;

	if (!rx_accept_packet(arrival, k, batch->offset, batch->len, pkt))
		return false;
	batch->side = cairn_exec_side_of(pkt->opcode);
	if (arrival->group)
		batch->members = rx_find_group(arrival, pkt);
	else
		batch->exec = rx_find_qp(arrival, k, pkt->qpn);
	if (!batch->exec && !batch->members) {
		cairn_nic_count(nic, CAIRN_CTR_RX_NO_QP, 1);
		return false;
	}
	if (batch->exec && !rx_may_run(batch->exec, batch->side)) {
		cairn_nic_count(nic, CAIRN_CTR_RX_WRONG_QP, 1);
		return false;
	}
	if (batch->exec)
		rx_fetch_region(nic, pkt);
	return true;
}

/* The stages of packet @k, in this order. It may be beyond the end of the train. */

static void rx_stage_number(struct rx_arrival *arrival, u32 k)
{
	struct rx_ahead *ahead = &arrival->ahead[k % RX_NUMBER_AHEAD];
	const struct rx_ahead *prev =
		&arrival->ahead[(k - 1) % RX_NUMBER_AHEAD];
	u32 at = k * arrival->stride;
	const struct cairn_bth *bth = NULL;
	struct cairn_bth buf;

	ahead->exec = NULL;
	ahead->qpn = RX_NO_QPN;
	if (at + sizeof(buf) <= arrival->len)
		bth = skb_header_pointer(arrival->skb, arrival->offset + at,
					 sizeof(buf), &buf);
	if (!bth)
		return;
	ahead->qpn = be32_to_cpu(bth->qpn) & CAIRN_24BIT_MASK;
	ahead->side = cairn_exec_side_of(bth->opcode);
	ahead->repeats = k && prev->qpn == ahead->qpn &&
			 prev->side == ahead->side;
	if (!ahead->repeats)
		cairn_table_prefetch(&arrival->nic->qp_table, ahead->qpn);
}

static void rx_stage_qp(struct rx_arrival *arrival, u32 k)
{
	struct rx_ahead *ahead = &arrival->ahead[k % RX_NUMBER_AHEAD];

	if (ahead->qpn == RX_NO_QPN)
		return;
	if (ahead->repeats) {
		ahead->exec = arrival->ahead[(k - 1) % RX_NUMBER_AHEAD].exec;
		return;
	}
	ahead->exec = cairn_table_find(&arrival->nic->qp_table, ahead->qpn);
	if (ahead->exec)
		cairn_exec_prefetch_head(ahead->exec);
}

static void rx_stage_context(const struct rx_arrival *arrival, u32 k)
{
	const struct rx_ahead *ahead = &arrival->ahead[k % RX_NUMBER_AHEAD];

	if (ahead->exec && !ahead->repeats)
		cairn_exec_prefetch(ahead->exec, ahead->side);
}

static void rx_stage_record(const struct rx_arrival *arrival, u32 k)
{
	const struct rx_ahead *ahead = &arrival->ahead[k % RX_NUMBER_AHEAD];

	if (ahead->exec && ahead->side == CAIRN_REQ)
		cairn_req_prefetch_ack(ahead->exec->qpc);
}

/* The stages of the first packets of a train. */
static void rx_fill_stages(struct rx_arrival *arrival)
{
	u32 k;

	for (k = 0; k < RX_NUMBER_AHEAD; k++)
		rx_stage_number(arrival, k);
	for (k = 0; k < RX_QP_AHEAD; k++)
		rx_stage_qp(arrival, k);
	for (k = 0; k < RX_CONTEXT_AHEAD; k++)
		rx_stage_context(arrival, k);
	for (k = 0; k < RX_RECORD_AHEAD; k++)
		rx_stage_record(arrival, k);
}

/* One step of the packets behind packet @k, which has been checked. */
static void rx_step_stages(struct rx_arrival *arrival, u32 k)
{
	if (!(k % CAIRN_VECTOR))
		cairn_clock_begin_vector(CAIRN_VECTOR);
	rx_stage_number(arrival, k + RX_NUMBER_AHEAD);
	rx_stage_qp(arrival, k + RX_QP_AHEAD);
	rx_stage_context(arrival, k + RX_CONTEXT_AHEAD);
	rx_stage_record(arrival, k + RX_RECORD_AHEAD);
}

/* Do the packets of @next directly follow those of @batch, for the same target?
 */
static bool rx_continues(const struct rx_batch *batch,
			 const struct rx_batch *next)
{
	return next->exec == batch->exec && next->members == batch->members &&
	       next->side == batch->side &&
	       next->offset == batch->offset + batch->len;
}

static void rx_walk(struct rx_arrival *arrival);

/* Receive a packet that rx_copy_packet() made. Consumes it. Below cairn_cpu_lock(), RCU
 * read section.
 */
static void rx_again(struct cairn_nic *nic, struct sk_buff *skb)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(skb);
	struct rx_arrival arrival = {
		.nic = nic,
		.skb = skb,
		.offset = cb->offset,
		.len = cb->len,
		.stride = cb->stride,
		.vlan = cb->vlan,
		.ifindex = cb->ifindex,
		.ipv6 = cb->ipv6,
		.ce = cb->ce,
		.local = true,	/* it was counted */
		.sure = true,
		.again = true,
		.refuse = cb->refuse,
		.sender = cb->sender,
	};

	memcpy(arrival.ip.bytes, skb_network_header(skb),
	       cb->ipv6 ? sizeof(arrival.ip.v6) : sizeof(arrival.ip.v4));
	arrival.group = cb->ipv6 ? ipv6_addr_is_multicast(&arrival.ip.v6.daddr) :
				   ipv4_is_multicast(arrival.ip.v4.daddr);
	arrival.udp = *udp_hdr(skb);
	rx_walk(&arrival);
}

/* Copy the packet of @len bytes at @offset, which has been checked, with the headers that
 * it has on the wire. Return: NULL without memory.
 */
static struct sk_buff *rx_copy_packet(const struct rx_arrival *arrival,
				      u32 offset, u32 len)
{
	u32 ip_len = arrival->ipv6 ? sizeof(struct ipv6hdr) :
				     sizeof(struct iphdr);
	u32 head = ip_len + sizeof(struct udphdr);
	struct sk_buff *skb = alloc_skb(head + len, RX_CLONE_GFP);
	struct udphdr udp = arrival->udp;

	if (!skb)
		return NULL;
	udp.len = htons(sizeof(udp) + len);
	skb_reset_network_header(skb);
	skb_copy_bits(arrival->skb, skb_network_offset(arrival->skb),
		      skb_put(skb, ip_len), ip_len);
	skb_set_transport_header(skb, ip_len);
	skb_put_data(skb, &udp, sizeof(udp));
	if (arrival->ipv6) {
		ipv6_hdr(skb)->payload_len = udp.len;
	} else {
		ip_hdr(skb)->tot_len = htons(head + len);
		ip_send_check(ip_hdr(skb));
	}
	skb_copy_bits(arrival->skb, offset, skb_put(skb, len), len);
	*cairn_rx_cb(skb) = (struct cairn_rx_cb){
		.offset = head,
		.len = len,
		.stride = len,
		.vlan = arrival->vlan,
		.ifindex = arrival->ifindex,
		.ipv6 = arrival->ipv6,
		.ce = arrival->ce,
		.sender = arrival->sender,
	};
	return skb;
}

/* The copy of @met goes on: at once, or when its delay is over. Behind it go those that
 * waited for it, if it has met no rule. Consumes @skb.
 */
static void rx_pass_copy(struct cairn_nic *nic, struct sk_buff *skb,
			 const struct cairn_match_packet *met,
			 const struct cairn_fault_hit *hit)
{
	struct cairn_delays *delays = cairn_fault_delays(nic);

	cairn_rx_cb(skb)->refuse = hit->refuse;
	if (hit->act == CAIRN_FAULT_CORRUPT_PAST_ICRC)
		cairn_faulty_flip(skb, met->len);
	if ((hit->act == CAIRN_FAULT_DELAY || hit->act == CAIRN_FAULT_REORDER) &&
	    cairn_delay_hold(delays, skb, met, hit->delay_us, rx_again))
		return;
	rx_again(nic, skb);
	if (!hit->act)
		cairn_delay_passed(delays, met);
}

/* The sender's address, IPv4-mapped. */
static void rx_peer(const struct rx_arrival *arrival, struct in6_addr *peer)
{
	if (arrival->ipv6)
		*peer = arrival->ip.v6.saddr;
	else
		ipv6_addr_set_v4mapped(arrival->ip.v4.saddr, peer);
}

/* Apply the device's fault rules to @pkt, which has been checked and has @len bytes at
 * @offset. A CRC finds each change of one byte, so the packet is dropped instead of
 * changed.
 */
static void rx_meet_faults(const struct rx_arrival *arrival,
			   const struct cairn_pkt *pkt, u32 offset, u32 len)
{
	struct cairn_match_packet met = {
		.qpn = pkt->qpn,
		.len = pkt->payload_len,
		.key = cairn_pkt_has_key(pkt) ? pkt->rkey : 0,
		.opcode = pkt->opcode,
		.direction = CAIRN_FAULT_RECEIVED,
	};
	struct cairn_fault_hit hit;
	struct in6_addr peer;
	struct sk_buff *skb;
	u32 copies;

	rx_peer(arrival, &peer);
	memcpy(met.peer, &peer, sizeof(met.peer));
	hit = cairn_fault_meet(arrival->nic, &met);
	copies = hit.act == CAIRN_FAULT_DUPLICATE ? 2 : 1;
	if (hit.act == CAIRN_FAULT_DROP)
		return;
	if (hit.act == CAIRN_FAULT_CORRUPT) {
		cairn_nic_count(arrival->nic, CAIRN_CTR_RX_ICRC_ERRORS, 1);
		return;
	}
	for (; copies; copies--) {
		skb = rx_copy_packet(arrival, offset, len);
		if (skb)
			rx_pass_copy(arrival->nic, skb, &met, &hit);
	}
}

/* rx_walk() for a device with fault rules: each packet is received as a copy. */
static noinline void rx_walk_faulty(struct rx_arrival *arrival)
{
	u32 k, done, len, offset;
	struct cairn_pkt pkt;

	for (k = 0, done = 0; done < arrival->len; k++, done += len) {
		len = min(arrival->stride, arrival->len - done);
		offset = arrival->offset + done;
		if (rx_accept_packet(arrival, k, offset, len, &pkt))
			rx_meet_faults(arrival, &pkt, offset, len);
	}
	consume_skb(arrival->skb);
}

/* Check and deliver all packets of an skb. Consumes the skb. */
static void rx_walk(struct rx_arrival *arrival)
{
	/* The first packet of the batch, and the current one. */
	struct cairn_pkt pkts[2], *pkt = pkts;
	struct rx_batch batch = {};
	u32 k, done, len;
	bool train;

	if (cairn_fault_on(arrival->nic) && !arrival->again) {
		rx_walk_faulty(arrival);
		return;
	}
	train = arrival->len > arrival->stride;
	if (train)
		rx_fill_stages(arrival);
	for (k = 0, done = 0; done < arrival->len; k++, done += len) {
		struct rx_batch next = {
			.offset = arrival->offset + done,
			.len = len = min(arrival->stride, arrival->len - done),
			.first = pkt,
		};
		bool good = rx_check_packet(arrival, k, &next);

		if (train)
			rx_step_stages(arrival, k);
		if (!good)
			continue;
		if (rx_continues(&batch, &next)) {
			batch.len += len;
			continue;
		}
		if (batch.len)
			rx_deliver(arrival, &batch, false);
		batch = next;
		pkt = pkts + (pkt == pkts);
	}
	if (batch.len)
		rx_deliver(arrival, &batch, true);
	else
		kfree_skb(arrival->skb);
	if (train)
		cairn_clock_begin_vector(0);
}

/* Plugged for a train, so that its answers leave as a train too. */
static void rx_receive(struct rx_arrival *arrival)
{
	if (!arrival->train) {
		rx_walk(arrival);
		return;
	}
	cairn_nic_count(arrival->nic, CAIRN_CTR_RX_TRAINS, 1);
	cairn_net_plug();
	rx_walk(arrival);
	cairn_net_unplug();
}

void cairn_net_rx_local(const struct cairn_local *to, struct sk_buff *skb,
			u32 stride, u32 sender)
{
	struct rx_arrival arrival = {
		.nic = to->nic,
		.skb = skb,
		.offset = skb_transport_offset(skb) + sizeof(struct udphdr),
		.stride = stride,
		.vlan = to->vlan,
		.ifindex = to->ifindex,
		.ipv6 = skb->protocol == htons(ETH_P_IPV6),
		.local = true,
		.sure = true,
		.sender = sender,
	};

	arrival.udp = *udp_hdr(skb);
	arrival.len = skb->len - arrival.offset;
	rx_walk(&arrival);
}

/* Local senders and GRO do not put more packets into an skb, but a guest may.
 */
#define RX_TRAIN_MAX		128

static bool rx_is_train(const struct rx_arrival *arrival)
{
	const struct skb_shared_info *info = skb_shinfo(arrival->skb);

	return info->gso_type & SKB_GSO_UDP_L4 &&
	       info->gso_size >= CAIRN_MIN_PACKET &&
	       arrival->len <= RX_TRAIN_MAX * info->gso_size;
}

/*
 * Has the skb stayed in this host's memory since a cairn device made it? Then
 * its checksum is not written yet (CHECKSUM_PARTIAL), and TCP trusts that state
 * too. A qdisc that damages packets on purpose (netem) writes the checksum
 * first.
 *
 * GRO leaves the same state behind. So sender_cpu must say that a CPU of this
 * host sent the skb, not that a driver's NAPI received it: both share that
 * word. Forwarding overwrites sender_cpu, so the hash is checked too. Its seed
 * is secret.
 */
static bool rx_never_left(const struct rx_arrival *arrival)
{
#if defined(CONFIG_XPS) && defined(CONFIG_NET_RX_BUSY_POLL)
	const struct sk_buff *skb = arrival->skb;
	__be32 saddr = arrival->ipv6 ? arrival->ip.v6.saddr.s6_addr32[3] :
				       arrival->ip.v4.saddr;
	__be32 daddr = arrival->ipv6 ? arrival->ip.v6.daddr.s6_addr32[3] :
				       arrival->ip.v4.daddr;

	return skb->ip_summed == CHECKSUM_PARTIAL && skb->sender_cpu &&
	       skb->sender_cpu < MIN_NAPI_ID && skb->sw_hash &&
	       skb->hash == cairn_net_flow_hash(saddr, daddr,
						arrival->udp.source);
#else
	return false;
#endif
}

/* Find the packets in the skb. Return: false when it is malformed. */
static bool rx_find_packets(struct rx_arrival *arrival)
{
	u32 udp_len = ntohs(arrival->udp.len);

	if (arrival->skb->len < arrival->offset + CAIRN_MIN_PACKET)
		return false;
	arrival->sure = rx_never_left(arrival);
	arrival->train = skb_is_gso(arrival->skb);
	if (arrival->train) {
		arrival->len = arrival->skb->len - arrival->offset;
		arrival->stride = skb_shinfo(arrival->skb)->gso_size;
		return rx_is_train(arrival);
	}
	/* The skb may have bytes behind the datagram: they are ignored. */
	if (udp_len < sizeof(arrival->udp) + CAIRN_MIN_PACKET)
		return false;
	arrival->len = udp_len - sizeof(arrival->udp);
	arrival->stride = arrival->len;
	return arrival->len <= arrival->skb->len - arrival->offset;
}

/* Take over the skb. @ip_len: IP header with options. @plain: without options,
 * not a fragment.
 */
static unsigned int rx_take(struct rx_arrival *arrival, u32 ip_len, bool plain)
{
	arrival->offset = skb_network_offset(arrival->skb) + ip_len +
			  sizeof(arrival->udp);
	if (plain && rx_find_packets(arrival)) {
		cairn_cpu_lock();	/* nfqueue may reinject with BH on */
		rx_receive(arrival);
		cairn_cpu_unlock();
	} else {
		cairn_nic_count(arrival->nic, CAIRN_CTR_RX_MALFORMED, 1);
		kfree_skb(arrival->skb);
	}
	return NF_STOLEN;
}

/* Drop a packet that the IPsec policy of this host does not accept. */
static unsigned int rx_refuse(const struct rx_arrival *arrival)
{
	cairn_nic_count(arrival->nic, CAIRN_CTR_RX_POLICY_DROPS, 1);
	return NF_DROP;
}

/* Find the device of @owner, the netdev that received the packets or that has
 * their destination address. If @owner is a VRF, @slave is the ifindex of its port
 * that received them, which has the device; else 0. Return: false when there is no
 * device.
 */
static bool rx_find_nic(struct rx_arrival *arrival, struct net *net,
			struct net_device *owner, int slave)
{
	if (slave)
		owner = dev_get_by_index_rcu(net, slave);
	arrival->nic = owner ? cairn_net_nic(net, owner) : NULL;
	if (!arrival->nic)
		return false;
	arrival->ifindex = owner->ifindex;
	arrival->vlan = is_vlan_dev(owner) ? vlan_dev_vlan_id(owner) :
					     CAIRN_NO_VLAN;
	return true;
}

static bool rx_is_roce(struct rx_arrival *arrival, u32 ip_len)
{
	return !skb_copy_bits(arrival->skb,
			      skb_network_offset(arrival->skb) + ip_len,
			      &arrival->udp, sizeof(arrival->udp)) &&
	       arrival->udp.dest == htons(CAIRN_UDP_PORT);
}

static unsigned int rx_hook4(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct net_device *owner = skb->dev;
	struct rx_arrival arrival = { .skb = skb };

	if (ip->protocol != IPPROTO_UDP || !rx_is_roce(&arrival, ip->ihl * 4))
		return NF_ACCEPT;
	/* From this host: it is for the netdev that has the destination. */
	if (owner->flags & IFF_LOOPBACK)
		owner = __ip_dev_find(state->net, ip->daddr, false);
	if (!rx_find_nic(&arrival, state->net, owner, inet_sdif(skb)))
		return NF_ACCEPT;
	if (!xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb))
		return rx_refuse(&arrival);
	ip = ip_hdr(skb);	/* the policy check may have moved it */
	arrival.ip.v4 = *ip;
	arrival.id = ntohs(ip->id);
	arrival.ce = INET_ECN_is_ce(ip->tos);
	arrival.group = ipv4_is_multicast(ip->daddr);
	return rx_take(&arrival, ip->ihl * 4,
		       ip->ihl == 5 && !ip_is_fragment(ip));
}

#if IS_ENABLED(CONFIG_IPV6)
/* Does a packet from outside have a source address of this host? The IPv4 stack has
 * dropped such packets. Packets to a group are looped back by the netdev that sent them.
 */
static bool rx_claims_own6(struct net *net, const struct sk_buff *skb)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);

	return !(skb->dev->flags & IFF_LOOPBACK) &&
	       !ipv6_addr_is_multicast(&ip->daddr) &&
	       ipv6_chk_addr(net, &ip->saddr, skb->dev, 0);
}

static unsigned int rx_hook6(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	struct net_device *owner = skb->dev;
	struct rx_arrival arrival = { .skb = skb, .ipv6 = true };

	/* RoCEv2 has no extension headers. */
	if (ip->nexthdr != IPPROTO_UDP || !rx_is_roce(&arrival, sizeof(*ip)))
		return NF_ACCEPT;
	/* From this host: IP6CB has the netdev of the route to the destination. */
	if (owner->flags & IFF_LOOPBACK)
		owner = cairn_net_owner6(state->net, &ip->daddr,
					 dev_get_by_index_rcu(state->net,
							      IP6CB(skb)->iif));
	if (!rx_find_nic(&arrival, state->net, owner, inet6_sdif(skb)))
		return NF_ACCEPT;
	if (rx_claims_own6(state->net, skb)) {
		cairn_nic_count(arrival.nic, CAIRN_CTR_RX_WRONG_QP, 1);
		return NF_DROP;
	}
	if (!xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb))
		return rx_refuse(&arrival);
	ip = ipv6_hdr(skb);	/* the policy check may have moved it */
	arrival.ip.v6 = *ip;
	arrival.ce = INET_ECN_is_ce(ipv6_get_dsfield(ip));
	arrival.group = ipv6_addr_is_multicast(&ip->daddr);
	return rx_take(&arrival, sizeof(*ip), true);
}
#endif

const struct nf_hook_ops cairn_net_hooks[CAIRN_NET_HOOKS] = {
	{
		.hook = rx_hook4,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = CAIRN_HOOK_PRIORITY,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = rx_hook6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = CAIRN_HOOK_PRIORITY,
	},
#endif
};
