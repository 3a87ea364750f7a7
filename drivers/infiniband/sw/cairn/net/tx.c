// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending trains.
 *
 * The IP header is complete before the ICRC is computed, because the ICRC
 * covers it. What the stack writes again afterwards (total length, IPv4 header
 * checksum) it writes with the same value or is not covered.
 *
 * A train of several packets is one skb with UDP segmentation offload
 * (SKB_GSO_UDP_L4): one trip through the stack. Each packet in its body has the
 * ICRC for the headers that segmentation will give it.
 *
 * The IPv4 id is the packet's PSN: packets are never fragmented (DF), so the id
 * need not be unique (RFC 6864), but it rises by one within a train, as
 * segmentation in the stack would have it. The ICRC protects more than a UDP
 * checksum, so single packets have one only if the device computes it; else it
 * is zero, for IPv6 too (RFC 6935, 6936), as hardware and rdma_rxe send it. With
 * it they keep their place among the trains where the receiver has GRO, which
 * lets packets without a checksum pass at once.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/jhash.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>
#include "net/net.h"
#include "net/routing.h"
#include "wire/icrc.h"
#include "wire/psn.h"

/* The payload of a train and how far it is consumed. */
struct tx_source {
	const u8 *bytes;	/* or NULL: */
	const struct bio_vec *bv;
	u32 off;		/* in *bv */
};

/* A train in the making: one skb, whose body (all that follows the UDP header)
 * is written from front to back.
 */
struct tx_frame {
	struct sk_buff *skb;
	u32 ip_len;
	u32 body_len;
	u32 stride;		/* body bytes of each packet but the last */
	/* Where the body goes on. */
	u8 *to;
	u32 room;
	int frag;
	/* The headers of the packet being written, as on the wire. */
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
		u8 bytes[sizeof(struct ipv6hdr)];
	} ip;
	struct udphdr udp;
};

/* Description of packet @k of train @train. */
static void tx_describe(struct cairn_pkt *pkt, const struct cairn_train *train,
			u32 k)
{
	bool last = k + 1 == train->count;

	*pkt = train->first;
	if (k)
		pkt->opcode = last ? train->last_opcode : train->mid_opcode;
	pkt->psn = cairn_psn_add(train->first.psn, k);
	pkt->solicited &= last;
	pkt->ack_req &= last;
	pkt->payload_len = last ? train->length - k * train->seg : train->seg;
}

/* Bytes of a packet from BTH to ICRC. */
static u32 tx_packet_len(u8 opcode, u32 payload_len)
{
	return cairn_opcodes[opcode].hdr_len + payload_len +
	       cairn_pad(payload_len) + CAIRN_ICRC_LEN;
}

/* Lengths; false when the stack would have to fragment a packet. */
static bool tx_frame_measure(struct tx_frame *frame,
			     const struct cairn_path *path,
			     const struct dst_entry *dst,
			     const struct cairn_train *train)
{
	frame->ip_len = path->ipv6 ? sizeof(struct ipv6hdr) :
				     sizeof(struct iphdr);
	frame->stride =
		tx_packet_len(train->first.opcode,
			      train->count > 1 ? train->seg : train->length);
	frame->body_len =
		(train->count - 1) * frame->stride +
		tx_packet_len(train->count > 1 ? train->last_opcode :
						 train->first.opcode,
			      train->length - (train->count - 1) * train->seg);
	return frame->ip_len + sizeof(frame->udp) + frame->stride <=
	       dst_mtu(dst);
}

/*
 * A single packet is linear; the body of a longer train lies in page fragments,
 * which are to be had when large contiguous memory is not.
 */
static bool tx_frame_alloc(struct tx_frame *frame, const struct dst_entry *dst,
			   bool several)
{
	u32 head = LL_RESERVED_SPACE(dst->dev) + dst->header_len +
		   frame->ip_len + sizeof(frame->udp);
	int err;

	if (several)
		frame->skb = alloc_skb_with_frags(head, frame->body_len,
						  PAGE_ALLOC_COSTLY_ORDER, &err,
						  GFP_ATOMIC | __GFP_NOWARN);
	else
		frame->skb = alloc_skb(head + frame->body_len,
				       GFP_ATOMIC | __GFP_NOWARN);
	if (!frame->skb)
		return false;
	skb_reserve(frame->skb, head - frame->ip_len - sizeof(frame->udp));
	skb_reset_network_header(frame->skb);
	skb_put(frame->skb, frame->ip_len);
	skb_set_transport_header(frame->skb, frame->ip_len);
	skb_put(frame->skb, sizeof(frame->udp));
	frame->frag = -1;
	frame->room = 0;
	if (several) {
		frame->skb->data_len = frame->body_len;
		frame->skb->len += frame->body_len;
	} else {
		frame->to = skb_put(frame->skb, frame->body_len);
		frame->room = frame->body_len;
	}
	return true;
}

/* Up to @len bytes of contiguous room for the body. */
static u8 *tx_frame_room(struct tx_frame *frame, u32 *len)
{
	u8 *to;

	if (!frame->room) {
		skb_frag_t *frag =
			&skb_shinfo(frame->skb)->frags[++frame->frag];

		frame->to = skb_frag_address(frag);
		frame->room = skb_frag_size(frag);
	}
	*len = min(*len, frame->room);
	to = frame->to;
	frame->to += *len;
	frame->room -= *len;
	return to;
}

static void tx_put_bytes(struct tx_frame *frame, const void *from, u32 len)
{
	u32 n;

	for (; len; len -= n, from += n) {
		u8 *to;

		n = len;
		to = tx_frame_room(frame, &n);
		memcpy(to, from, n);
	}
}

/* Up to @len bytes of contiguous payload. */
static const u8 *tx_source_bytes(struct tx_source *source, u32 *len)
{
	const u8 *from = source->bytes;

	if (from) {
		source->bytes += *len;
		return from;
	}
	while (source->off == source->bv->bv_len) {
		source->bv++;
		source->off = 0;
	}
	*len = min(*len, source->bv->bv_len - source->off);
	from = page_address(source->bv->bv_page) + source->bv->bv_offset +
	       source->off;
	source->off += *len;
	return from;
}

/*
 * Copy @len bytes of payload. The ICRC runs over the copy, a piece at a time
 * while it is in the cache: the original may change meanwhile.
 */
static u32 tx_put_payload(struct tx_frame *frame, struct tx_source *source,
			  u32 len, u32 crc)
{
	u32 n;

	for (; len; len -= n) {
		const u8 *from;
		u8 *to;

		n = len;
		to = tx_frame_room(frame, &n);
		for (u32 piece, done = 0; done < n; done += piece) {
			piece = min_t(u32, n - done, PAGE_SIZE);
			from = tx_source_bytes(source, &piece);
			memcpy(to + done, from, piece);
			crc = cairn_icrc_update(crc, to + done, piece);
		}
	}
	return crc;
}

static void tx_ip4_template(struct tx_frame *frame,
			    const struct cairn_path *path, u8 ecn)
{
	frame->ip.v4 = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tos = path->tos | ecn,
		.frag_off = htons(IP_DF),
		.ttl = path->ttl,
		.protocol = IPPROTO_UDP,
		.saddr = path->saddr.s6_addr32[3],
		.daddr = path->daddr.s6_addr32[3],
	};
}

static void tx_ip6_template(struct tx_frame *frame,
			    const struct cairn_path *path, u8 ecn)
{
	ip6_flow_hdr(&frame->ip.v6, path->tos | ecn, path->flow_label);
	frame->ip.v6.nexthdr = IPPROTO_UDP;
	frame->ip.v6.hop_limit = path->ttl;
	frame->ip.v6.saddr = path->saddr;
	frame->ip.v6.daddr = path->daddr;
}

static void tx_template(struct tx_frame *frame, const struct cairn_path *path,
			bool ect)
{
	u8 ecn = ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT;

	frame->udp = (struct udphdr){
		.source = path->sport,
		.dest = htons(CAIRN_UDP_PORT),
	};
	if (path->ipv6)
		tx_ip6_template(frame, path, ecn);
	else
		tx_ip4_template(frame, path, ecn);
}

/* Lengths and id for @body bytes after the UDP header. */
static void tx_set_lengths(struct tx_frame *frame, u32 body, u32 psn)
{
	u32 udp_len = sizeof(frame->udp) + body;

	frame->udp.len = htons(udp_len);
	if (frame->ip_len == sizeof(frame->ip.v6)) {
		frame->ip.v6.payload_len = frame->udp.len;
	} else {
		frame->ip.v4.tot_len = htons(frame->ip_len + udp_len);
		frame->ip.v4.id = htons((u16)psn);
	}
}

/* One packet of the body: headers, payload, pad, ICRC. */
static void tx_put_packet(struct tx_frame *frame, const struct cairn_pkt *pkt,
			  struct tx_source *source)
{
	static const u8 zeros[4];
	u32 pad = cairn_pad(pkt->payload_len);
	u8 hdr[CAIRN_MAX_HDR];
	__le32 icrc;
	u32 len, crc;

	tx_set_lengths(frame, tx_packet_len(pkt->opcode, pkt->payload_len),
		       pkt->psn);
	len = cairn_pkt_build(hdr, pkt);
	if (frame->ip_len == sizeof(frame->ip.v6))
		crc = cairn_icrc_headers6(frame->ip.bytes, (u8 *)&frame->udp,
					  hdr, len);
	else
		crc = cairn_icrc_headers4(frame->ip.bytes, (u8 *)&frame->udp,
					  hdr, len);
	tx_put_bytes(frame, hdr, len);
	crc = tx_put_payload(frame, source, pkt->payload_len, crc);
	if (pad) {
		tx_put_bytes(frame, zeros, pad);
		crc = cairn_icrc_update(crc, zeros, pad);
	}
	icrc = cairn_icrc_finish(crc);
	tx_put_bytes(frame, &icrc, sizeof(icrc));
}

/* The device, or the stack in its place, writes the UDP checksum. */
static void tx_leave_checksum(struct tx_frame *frame)
{
	u32 len = sizeof(frame->udp) + frame->body_len;
	struct sk_buff *skb = frame->skb;

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (frame->ip_len == sizeof(frame->ip.v6))
		frame->udp.check = ~udp_v6_check(len, &frame->ip.v6.saddr,
						 &frame->ip.v6.daddr, 0);
	else
		frame->udp.check = ~udp_v4_check(len, frame->ip.v4.saddr,
						 frame->ip.v4.daddr, 0);
}

/*
 * Segmentation, in the device or just above it, cuts the body at the stride and
 * fixes lengths, ids and checksums. It insists on a UDP checksum.
 */
static void tx_make_train(struct tx_frame *frame,
			  const struct cairn_train *train)
{
	struct skb_shared_info *info = skb_shinfo(frame->skb);

	info->gso_type = SKB_GSO_UDP_L4;
	info->gso_size = frame->stride;
	info->gso_segs = train->count;
}

static bool tx_device_checksums(const struct tx_frame *frame,
				const struct dst_entry *dst)
{
	return can_checksum_protocol(dst->dev->features,
				     frame->ip_len == sizeof(frame->ip.v6) ?
				     htons(ETH_P_IPV6) : htons(ETH_P_IP));
}

static void tx_frame_fill(struct tx_frame *frame,
			  const struct cairn_train *train,
			  struct tx_source *source)
{
	struct cairn_pkt pkt;
	u32 k;

	for (k = 0; k < train->count; k++) {
		tx_describe(&pkt, train, k);
		tx_put_packet(frame, &pkt, source);
	}
}

/* The body is complete: the headers before it. */
static void tx_frame_finish(struct tx_frame *frame,
			    const struct cairn_train *train,
			    const struct dst_entry *dst)
{
	tx_set_lengths(frame, frame->body_len, train->first.psn);
	if (train->count > 1)
		tx_make_train(frame, train);
	if (train->count > 1 || tx_device_checksums(frame, dst))
		tx_leave_checksum(frame);
	memcpy(skb_network_header(frame->skb), frame->ip.bytes, frame->ip_len);
	memcpy(skb_transport_header(frame->skb), &frame->udp,
	       sizeof(frame->udp));
}

/*
 * One transmit queue of the netdev for the flow, whichever CPU runs it: from
 * two queues its packets would overtake each other.
 */
static void tx_pin_flow(struct sk_buff *skb, const struct cairn_path *path)
{
	u32 hash = jhash_3words((__force u32)path->daddr.s6_addr32[3],
				(__force u32)path->saddr.s6_addr32[3],
				(__force u32)path->sport, 0);

	__skb_set_sw_hash(skb, hash, true);
#ifdef CONFIG_XPS
	skb->sender_cpu = reciprocal_scale(hash, nr_cpu_ids) + 1;
#endif
}

/* Hand over. Returns false when the train was lost on the way. */
static bool tx_frame_send(struct cairn_nic *nic, struct tx_frame *frame,
			  const struct cairn_path *path, struct dst_entry *dst)
{
	struct net *net = dev_net(nic->ndev);
	struct sk_buff *skb = frame->skb;
	int err;

	skb->protocol = path->ipv6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	skb_dst_set_noref(skb, dst);
	skb->dev = dst->dev;
	skb->priority = rt_tos2priority(path->tos);
	tx_pin_flow(skb, path);
#if IS_ENABLED(CONFIG_IPV6)
	if (path->ipv6)
		err = ip6_local_out(net, NULL, skb);
	else
#endif
		err = ip_local_out(net, NULL, skb);
	return !net_xmit_eval(err);
}

/*
 * Make room for a train. Returns its route, or NULL: it is lost, @why says which
 * counter is its.
 */
static struct dst_entry *tx_frame_begin(struct cairn_nic *nic,
					struct tx_frame *frame,
					struct cairn_path *path,
					const struct cairn_train *train,
					enum cairn_counter *why)
{
	struct dst_entry *dst = cairn_net_route(nic, path);

	*why = CAIRN_CTR_TX_NOROUTE;
	if (!dst)
		return NULL;
	*why = CAIRN_CTR_TX_DROPPED;
	if (!tx_frame_measure(frame, path, dst, train) ||
	    !tx_frame_alloc(frame, dst, train->count > 1))
		return NULL;
	tx_template(frame, path, train->ect);
	return dst;
}

/* Count what became of a train. */
static void tx_count(struct cairn_nic *nic, const struct cairn_train *train,
		     bool left, enum cairn_counter why)
{
	cairn_nic_count(nic, CAIRN_CTR_TX_TRAINS, 1);
	if (!left) {
		cairn_nic_count(nic, why, train->count);
		return;
	}
	cairn_nic_count(nic, CAIRN_CTR_TX_PACKETS, train->count);
	cairn_nic_count(nic, CAIRN_CTR_TX_BYTES, train->length);
}

void cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		    const struct cairn_train *train, const struct bio_vec *bv)
{
	struct tx_source source = { .bytes = train->inline_data, .bv = bv };
	enum cairn_counter why;
	struct dst_entry *dst;
	bool left = false;
	struct tx_frame frame;

	dst = tx_frame_begin(nic, &frame, path, train, &why);
	if (dst) {
		tx_frame_fill(&frame, train, &source);
		tx_frame_finish(&frame, train, dst);
		left = tx_frame_send(nic, &frame, path, dst);
	}
	tx_count(nic, train, left, why);
}

u32 cairn_net_xmit_messages(struct cairn_nic *nic, struct cairn_path *path,
			    const struct cairn_train *train,
			    cairn_net_part_fn part, void *arg)
{
	enum cairn_counter why;
	struct dst_entry *dst;
	bool left = false;
	struct tx_frame frame;
	u32 k;

	dst = tx_frame_begin(nic, &frame, path, train, &why);
	for (k = 0; dst && k < train->count; k++) {
		struct cairn_net_part out = {};
		struct tx_source source = {};

		if (part(arg, k, &out)) {
			kfree_skb(frame.skb);
			return k;
		}
		source.bytes = out.bytes;
		source.bv = out.bv;
		tx_put_packet(&frame, out.pkt, &source);
	}
	if (dst) {
		tx_frame_finish(&frame, train, dst);
		left = tx_frame_send(nic, &frame, path, dst);
	}
	tx_count(nic, train, left, why);
	return train->count;
}
