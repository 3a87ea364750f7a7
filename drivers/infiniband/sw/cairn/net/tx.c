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
#include "net/internal.h"
#include "wire/icrc.h"
#include "wire/psn.h"

/* The payload of a train and how far it is consumed. */
struct source {
	const u8 *bytes;	/* or NULL: */
	const struct bio_vec *bv;
	u32 off;		/* in *bv */
};

/* A train in the making: one skb, whose body (all that follows the UDP header)
 * is written from front to back.
 */
struct frame {
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

/* Description of packet @k of train @t. */
static void describe(struct cairn_pkt *pkt, const struct cairn_train *t, u32 k)
{
	bool last = k + 1 == t->count;

	*pkt = t->first;
	if (k)
		pkt->opcode = last ? t->last_opcode : t->mid_opcode;
	pkt->psn = cairn_psn_add(t->first.psn, k);
	pkt->solicited &= last;
	pkt->ack_req &= last;
	pkt->payload_len = last ? t->length - k * t->seg : t->seg;
}

/* Bytes of a packet from BTH to ICRC. */
static u32 packet_len(u8 opcode, u32 payload_len)
{
	return cairn_opcodes[opcode].hdr_len + payload_len +
	       cairn_pad(payload_len) + CAIRN_ICRC_LEN;
}

/* Lengths; false when the stack would have to fragment a packet. */
static bool frame_measure(struct frame *f, const struct cairn_path *path,
			  const struct dst_entry *dst,
			  const struct cairn_train *t)
{
	f->ip_len = path->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	f->stride = packet_len(t->first.opcode,
			       t->count > 1 ? t->seg : t->length);
	f->body_len = (t->count - 1) * f->stride +
		      packet_len(t->count > 1 ? t->last_opcode :
						t->first.opcode,
				 t->length - (t->count - 1) * t->seg);
	return f->ip_len + sizeof(f->udp) + f->stride <= dst_mtu(dst);
}

/*
 * A single packet is linear; the body of a longer train lies in page fragments,
 * which are to be had when large contiguous memory is not.
 */
static bool frame_alloc(struct frame *f, const struct dst_entry *dst,
			bool train)
{
	u32 head = LL_RESERVED_SPACE(dst->dev) + dst->header_len + f->ip_len +
		   sizeof(f->udp);
	int err;

	if (train)
		f->skb = alloc_skb_with_frags(head, f->body_len,
					      PAGE_ALLOC_COSTLY_ORDER, &err,
					      GFP_ATOMIC | __GFP_NOWARN);
	else
		f->skb = alloc_skb(head + f->body_len,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!f->skb)
		return false;
	skb_reserve(f->skb, head - f->ip_len - sizeof(f->udp));
	skb_reset_network_header(f->skb);
	skb_put(f->skb, f->ip_len);
	skb_set_transport_header(f->skb, f->ip_len);
	skb_put(f->skb, sizeof(f->udp));
	f->frag = -1;
	f->room = 0;
	if (train) {
		f->skb->data_len = f->body_len;
		f->skb->len += f->body_len;
	} else {
		f->to = skb_put(f->skb, f->body_len);
		f->room = f->body_len;
	}
	return true;
}

/* Up to @len bytes of contiguous room for the body. */
static u8 *frame_room(struct frame *f, u32 *len)
{
	u8 *to;

	if (!f->room) {
		skb_frag_t *frag = &skb_shinfo(f->skb)->frags[++f->frag];

		f->to = skb_frag_address(frag);
		f->room = skb_frag_size(frag);
	}
	*len = min(*len, f->room);
	to = f->to;
	f->to += *len;
	f->room -= *len;
	return to;
}

static void put_bytes(struct frame *f, const void *from, u32 len)
{
	u32 n;

	for (; len; len -= n, from += n) {
		u8 *to;

		n = len;
		to = frame_room(f, &n);
		memcpy(to, from, n);
	}
}

/* Up to @len bytes of contiguous payload. */
static const u8 *source_bytes(struct source *s, u32 *len)
{
	const u8 *from = s->bytes;

	if (from) {
		s->bytes += *len;
		return from;
	}
	while (s->off == s->bv->bv_len) {
		s->bv++;
		s->off = 0;
	}
	*len = min(*len, s->bv->bv_len - s->off);
	from = page_address(s->bv->bv_page) + s->bv->bv_offset + s->off;
	s->off += *len;
	return from;
}

/*
 * Copy @len bytes of payload. The ICRC runs over the copy, a piece at a time
 * while it is in the cache: the original may change meanwhile.
 */
static u32 put_payload(struct frame *f, struct source *s, u32 len, u32 crc)
{
	u32 n;

	for (; len; len -= n) {
		const u8 *from;
		u8 *to;

		n = len;
		to = frame_room(f, &n);
		for (u32 m, done = 0; done < n; done += m) {
			m = min_t(u32, n - done, PAGE_SIZE);
			from = source_bytes(s, &m);
			memcpy(to + done, from, m);
			crc = cairn_icrc_update(crc, to + done, m);
		}
	}
	return crc;
}

static void ip4_template(struct frame *f, const struct cairn_path *path, u8 ecn)
{
	f->ip.v4 = (struct iphdr){
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

static void ip6_template(struct frame *f, const struct cairn_path *path, u8 ecn)
{
	ip6_flow_hdr(&f->ip.v6, path->tos | ecn, path->flow_label);
	f->ip.v6.nexthdr = IPPROTO_UDP;
	f->ip.v6.hop_limit = path->ttl;
	f->ip.v6.saddr = path->saddr;
	f->ip.v6.daddr = path->daddr;
}

static void template(struct frame *f, const struct cairn_path *path, bool ect)
{
	u8 ecn = ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT;

	f->udp = (struct udphdr){
		.source = path->sport,
		.dest = htons(CAIRN_UDP_PORT),
	};
	if (path->ipv6)
		ip6_template(f, path, ecn);
	else
		ip4_template(f, path, ecn);
}

/* Lengths and id for @body bytes after the UDP header. */
static void set_lengths(struct frame *f, u32 body, u32 psn)
{
	u32 udp_len = sizeof(f->udp) + body;

	f->udp.len = htons(udp_len);
	if (f->ip_len == sizeof(f->ip.v6)) {
		f->ip.v6.payload_len = f->udp.len;
	} else {
		f->ip.v4.tot_len = htons(f->ip_len + udp_len);
		f->ip.v4.id = htons((u16)psn);
	}
}

/* One packet of the body: headers, payload, pad, ICRC. */
static void put_packet(struct frame *f, const struct cairn_pkt *pkt,
		       struct source *src)
{
	static const u8 zeros[4];
	u32 pad = cairn_pad(pkt->payload_len);
	u8 hdr[CAIRN_MAX_HDR];
	__le32 icrc;
	u32 len, crc;

	set_lengths(f, packet_len(pkt->opcode, pkt->payload_len), pkt->psn);
	len = cairn_pkt_build(hdr, pkt);
	if (f->ip_len == sizeof(f->ip.v6))
		crc = cairn_icrc_headers6(f->ip.bytes, (u8 *)&f->udp, hdr, len);
	else
		crc = cairn_icrc_headers4(f->ip.bytes, (u8 *)&f->udp, hdr, len);
	put_bytes(f, hdr, len);
	crc = put_payload(f, src, pkt->payload_len, crc);
	if (pad) {
		put_bytes(f, zeros, pad);
		crc = cairn_icrc_update(crc, zeros, pad);
	}
	icrc = cairn_icrc_finish(crc);
	put_bytes(f, &icrc, sizeof(icrc));
}

/* The device, or the stack in its place, writes the UDP checksum. */
static void leave_checksum(struct frame *f)
{
	u32 len = sizeof(f->udp) + f->body_len;
	struct sk_buff *skb = f->skb;

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (f->ip_len == sizeof(f->ip.v6))
		f->udp.check = ~udp_v6_check(len, &f->ip.v6.saddr,
					     &f->ip.v6.daddr, 0);
	else
		f->udp.check = ~udp_v4_check(len, f->ip.v4.saddr,
					     f->ip.v4.daddr, 0);
}

/*
 * Segmentation, in the device or just above it, cuts the body at the stride and
 * fixes lengths, ids and checksums. It insists on a UDP checksum.
 */
static void make_train(struct frame *f, const struct cairn_train *t)
{
	struct skb_shared_info *info = skb_shinfo(f->skb);

	info->gso_type = SKB_GSO_UDP_L4;
	info->gso_size = f->stride;
	info->gso_segs = t->count;
}

static bool device_checksums(const struct frame *f,
			     const struct dst_entry *dst)
{
	return can_checksum_protocol(dst->dev->features,
				     f->ip_len == sizeof(f->ip.v6) ?
				     htons(ETH_P_IPV6) : htons(ETH_P_IP));
}

static void frame_fill(struct frame *f, const struct cairn_train *t,
		       struct source *src)
{
	struct cairn_pkt pkt;
	u32 k;

	for (k = 0; k < t->count; k++) {
		describe(&pkt, t, k);
		put_packet(f, &pkt, src);
	}
}

/* The body is complete: the headers before it. */
static void frame_finish(struct frame *f, const struct cairn_train *t,
			 const struct dst_entry *dst)
{
	set_lengths(f, f->body_len, t->first.psn);
	if (t->count > 1)
		make_train(f, t);
	if (t->count > 1 || device_checksums(f, dst))
		leave_checksum(f);
	memcpy(skb_network_header(f->skb), f->ip.bytes, f->ip_len);
	memcpy(skb_transport_header(f->skb), &f->udp, sizeof(f->udp));
}

/*
 * One transmit queue of the netdev for the flow, whichever CPU runs it: from
 * two queues its packets would overtake each other.
 */
static void pin_flow(struct sk_buff *skb, const struct cairn_path *path)
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
static bool frame_send(struct cairn_nic *nic, struct frame *f,
		       const struct cairn_path *path, struct dst_entry *dst)
{
	struct net *net = dev_net(nic->ndev);
	struct sk_buff *skb = f->skb;
	int err;

	skb->protocol = path->ipv6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	skb_dst_set_noref(skb, dst);
	skb->dev = dst->dev;
	skb->priority = rt_tos2priority(path->tos);
	pin_flow(skb, path);
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
static struct dst_entry *frame_begin(struct cairn_nic *nic, struct frame *f,
				     struct cairn_path *path,
				     const struct cairn_train *t,
				     enum cairn_counter *why)
{
	struct dst_entry *dst = cairn_net_route(nic, path);

	*why = CAIRN_CTR_TX_NOROUTE;
	if (!dst)
		return NULL;
	*why = CAIRN_CTR_TX_DROPPED;
	if (!frame_measure(f, path, dst, t))
		return NULL;
	*why = CAIRN_CTR_TX_NOROUTE;
	if (!frame_alloc(f, dst, t->count > 1))
		return NULL;
	*why = CAIRN_CTR_TX_DROPPED;
	template(f, path, t->ect);
	return dst;
}

/* Count what became of a train. */
static void sent(struct cairn_nic *nic, const struct cairn_train *t, bool left,
		 enum cairn_counter why)
{
	cairn_nic_count(nic, CAIRN_CTR_TX_TRAINS, 1);
	if (!left) {
		cairn_nic_count(nic, why, t->count);
		return;
	}
	cairn_nic_count(nic, CAIRN_CTR_TX_PACKETS, t->count);
	cairn_nic_count(nic, CAIRN_CTR_TX_BYTES, t->length);
}

void cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		    const struct cairn_train *t, const struct bio_vec *bv,
		    unsigned int nbv)
{
	struct source src = { .bytes = t->inline_data, .bv = bv };
	enum cairn_counter why;
	struct dst_entry *dst;
	bool left = false;
	struct frame f;

	dst = frame_begin(nic, &f, path, t, &why);
	if (dst) {
		frame_fill(&f, t, &src);
		frame_finish(&f, t, dst);
		left = frame_send(nic, &f, path, dst);
	}
	sent(nic, t, left, why);
}

u32 cairn_net_xmit_messages(struct cairn_nic *nic, struct cairn_path *path,
			    const struct cairn_train *t, cairn_net_part_fn part,
			    void *arg)
{
	enum cairn_counter why;
	struct dst_entry *dst;
	bool left = false;
	struct frame f;
	u32 k;

	dst = frame_begin(nic, &f, path, t, &why);
	for (k = 0; dst && k < t->count; k++) {
		struct cairn_net_part p = {};
		struct source src = {};

		if (part(arg, k, &p)) {
			kfree_skb(f.skb);
			return k;
		}
		src.bytes = p.bytes;
		src.bv = p.bv;
		put_packet(&f, p.pkt, &src);
	}
	if (dst) {
		frame_finish(&f, t, dst);
		left = frame_send(nic, &f, path, dst);
	}
	sent(nic, t, left, why);
	return t->count;
}
