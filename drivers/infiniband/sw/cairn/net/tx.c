// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending trains.
 *
 * The IP header is complete before the ICRC is computed, because the ICRC
 * covers it. What the stack writes again afterwards (total length, IPv4 header
 * checksum) it writes with the same value or is not covered.
 *
 * The IPv4 id is the packet's PSN: packets are never fragmented (DF), so the id
 * need not be unique (RFC 6864), but it rises by one within a train, as
 * segmentation in the stack would have it. The UDP checksum is zero, for IPv6
 * too (RFC 6935, 6936): the ICRC protects more than it would, and that is what
 * hardware and rdma_rxe send and accept.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "net/internal.h"
#include "wire/icrc.h"
#include "wire/psn.h"

/* The payload of a train and how far it is consumed. */
struct source {
	const u8 *bytes;	/* or NULL: */
	const struct bio_vec *bv;
	u32 off;		/* in *bv */
};

/* One packet in the making. */
struct frame {
	struct sk_buff *skb;
	u8 *ip;
	struct udphdr *udp;
	u8 *bth;
	u32 ip_len;
	u32 hdr_len;		/* from BTH */
	u32 payload_len;
	u32 udp_len;		/* with the UDP header */
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

/*
 * Copy @len bytes of payload to @to. The ICRC runs over the copy, a piece at a
 * time while it is in the cache: the original may change meanwhile.
 */
static u32 copy_payload(struct source *s, u8 *to, u32 len, u32 crc)
{
	u32 pos, n;

	if (s->bytes) {
		memcpy(to, s->bytes, len);
		s->bytes += len;
		return cairn_icrc_update(crc, to, len);
	}
	for (; len; len -= n, to += n) {
		if (s->off == s->bv->bv_len) {
			s->bv++;
			s->off = 0;
		}
		pos = s->bv->bv_offset + s->off;
		n = min3(len, s->bv->bv_len - s->off,
			 (u32)PAGE_SIZE - offset_in_page(pos));
		memcpy_from_page(to, s->bv->bv_page + (pos >> PAGE_SHIFT),
				 offset_in_page(pos), n);
		crc = cairn_icrc_update(crc, to, n);
		s->off += n;
	}
	return crc;
}

static void fill_ip4(struct frame *f, const struct cairn_path *path, u32 psn)
{
	struct iphdr *ip = (struct iphdr *)f->ip;

	*ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tos = path->tos,
		.tot_len = htons(sizeof(*ip) + f->udp_len),
		.id = htons((u16)psn),
		.frag_off = htons(IP_DF),
		.ttl = path->ttl,
		.protocol = IPPROTO_UDP,
		.saddr = path->saddr.s6_addr32[3],
		.daddr = path->daddr.s6_addr32[3],
	};
}

static void fill_ip6(struct frame *f, const struct cairn_path *path)
{
	struct ipv6hdr *ip = (struct ipv6hdr *)f->ip;

	ip6_flow_hdr(ip, path->tos, path->flow_label);
	ip->payload_len = htons(f->udp_len);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = path->ttl;
	ip->saddr = path->saddr;
	ip->daddr = path->daddr;
}

/* Lengths; false when the stack would have to fragment the packet. */
static bool frame_measure(struct frame *f, const struct cairn_path *path,
			  const struct dst_entry *dst,
			  const struct cairn_pkt *pkt)
{
	f->ip_len = path->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	f->hdr_len = cairn_opcodes[pkt->opcode].hdr_len;
	f->payload_len = pkt->payload_len;
	f->udp_len = sizeof(*f->udp) + f->hdr_len + f->payload_len +
		     cairn_pad(f->payload_len) + CAIRN_ICRC_LEN;
	return f->ip_len + f->udp_len <= dst_mtu(dst);
}

/* An skb with room for the whole packet, and the headers from UDP on. */
static bool frame_alloc(struct frame *f, const struct cairn_path *path,
			const struct dst_entry *dst,
			const struct cairn_pkt *pkt)
{
	u32 room = LL_RESERVED_SPACE(dst->dev) + dst->header_len;

	f->skb = alloc_skb(room + f->ip_len + f->udp_len,
			   GFP_ATOMIC | __GFP_NOWARN);
	if (!f->skb)
		return false;
	skb_reserve(f->skb, room);
	skb_reset_network_header(f->skb);
	f->ip = skb_put(f->skb, f->ip_len);
	skb_set_transport_header(f->skb, f->ip_len);
	f->udp = skb_put(f->skb, f->udp_len);
	f->bth = (u8 *)(f->udp + 1);
	f->udp->source = path->sport;
	f->udp->dest = htons(CAIRN_UDP_PORT);
	f->udp->len = htons(f->udp_len);
	f->udp->check = 0;
	cairn_pkt_build(f->bth, pkt);
	return true;
}

/* IP header, payload, pad and ICRC. */
static void frame_fill(struct frame *f, const struct cairn_path *path, u32 psn,
		       struct source *src)
{
	u8 *payload = f->bth + f->hdr_len;
	u32 pad = cairn_pad(f->payload_len);
	__le32 icrc;
	u32 crc;

	if (path->ipv6) {
		fill_ip6(f, path);
		crc = cairn_icrc_headers6(f->ip, (u8 *)f->udp, f->bth,
					  f->hdr_len);
	} else {
		fill_ip4(f, path, psn);
		crc = cairn_icrc_headers4(f->ip, (u8 *)f->udp, f->bth,
					  f->hdr_len);
	}
	crc = copy_payload(src, payload, f->payload_len, crc);
	memset(payload + f->payload_len, 0, pad);
	crc = cairn_icrc_update(crc, payload + f->payload_len, pad);
	icrc = cairn_icrc_finish(crc);
	memcpy(payload + f->payload_len + pad, &icrc, sizeof(icrc));
}

/* Hand over. Returns false when the packet was lost on the way. */
static bool frame_send(struct cairn_nic *nic, struct frame *f,
		       const struct cairn_path *path, struct dst_entry *dst)
{
	struct net *net = dev_net(nic->ndev);
	struct sk_buff *skb = f->skb;
	int err;

	skb_dst_set_noref(skb, dst);
	skb->dev = dst->dev;
	skb->priority = rt_tos2priority(path->tos);
#if IS_ENABLED(CONFIG_IPV6)
	if (path->ipv6)
		err = ip6_local_out(net, NULL, skb);
	else
#endif
		err = ip_local_out(net, NULL, skb);
	return !net_xmit_eval(err);
}

/* Returns how many packets were dealt with; for the others there was no room,
 * and @why says which counter is theirs.
 */
static u32 send_packets(struct cairn_nic *nic, const struct cairn_path *path,
			struct dst_entry *dst, const struct cairn_train *t,
			struct source *src, enum cairn_counter *why)
{
	struct cairn_pkt pkt;
	struct frame f;
	u32 k;

	for (k = 0; k < t->count; k++) {
		describe(&pkt, t, k);
		*why = CAIRN_CTR_TX_DROPPED;
		if (!frame_measure(&f, path, dst, &pkt))
			break;
		*why = CAIRN_CTR_TX_NOROUTE;
		if (!frame_alloc(&f, path, dst, &pkt))
			break;
		frame_fill(&f, path, pkt.psn, src);
		/* Go on after a loss: what follows tells the peer of the gap. */
		if (!frame_send(nic, &f, path, dst)) {
			cairn_nic_count(nic, CAIRN_CTR_TX_DROPPED, 1);
			continue;
		}
		cairn_nic_count(nic, CAIRN_CTR_TX_PACKETS, 1);
		cairn_nic_count(nic, CAIRN_CTR_TX_BYTES, pkt.payload_len);
	}
	return k;
}

void cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		    const struct cairn_train *t, const struct bio_vec *bv,
		    unsigned int nbv)
{
	enum cairn_counter why = CAIRN_CTR_TX_NOROUTE;
	struct source src = { .bytes = t->inline_data, .bv = bv };
	struct dst_entry *dst = cairn_net_route(nic, path);
	u32 done = 0;

	cairn_nic_count(nic, CAIRN_CTR_TX_TRAINS, 1);
	if (dst)
		done = send_packets(nic, path, dst, t, &src, &why);
	if (done < t->count)
		cairn_nic_count(nic, why, t->count - done);
}
