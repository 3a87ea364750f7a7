// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending trains.
 *
 * The IP header is complete before the ICRC is computed, because the ICRC
 * covers it. The stack later writes the total length again, with the same
 * value, and the IPv4 header checksum, which the ICRC does not cover.
 *
 * A train of several packets is one skb with UDP segmentation offload
 * (SKB_GSO_UDP_L4): one trip through the stack. Each packet in its body has the
 * ICRC for the headers that segmentation will give it.
 *
 * Between cairn_net_plug() and cairn_net_unplug(), short trains of one flow
 * stay open and are joined to one train, also from different queue pairs. Small
 * packets are written to memory of the CPU. They are copied into an skb when
 * they leave, because its size is known only then. Larger packets are written
 * into page fragments of an skb that grows, and are not copied again.
 *
 * The IPv4 id of a train's first packet is its PSN. Packets are never
 * fragmented (DF), so the id need not be unique (RFC 6864). It rises by one
 * within a train, as segmentation in the stack does it.
 *
 * The ICRC protects more than a UDP checksum. So a single packet has a UDP
 * checksum only if the device computes it. Otherwise it is zero, for IPv6 too
 * (RFC 6935, 6936), as hardware and rdma_rxe send it. A receiver with GRO
 * delivers packets without a checksum at once, so they may overtake trains.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>
#include "engine/train.h"
#include "engine/window.h"
#include "net/local.h"
#include "net/net.h"
#include "net/routing.h"
#include "net/rx.h"
#include "net/tx.h"
#include "wire/icrc.h"
#include "wire/join.h"

/* Open trains of a CPU, each of a different flow. */
#define TX_FLOWS	4
/* Memory of the CPU for each, and the size of packets that are written to it.
 */
#define TX_OPEN_BYTES	16384
#define TX_SMALL	(TX_OPEN_BYTES / CAIRN_JOIN_MAX)
/* Longer trains do not gain from being joined. */
#define TX_JOIN_BYTES	(CAIRN_TRAIN_BYTES / 2)
/* Bodies up to this size are linear: kmalloc has caches of that size. */
#define TX_LINEAR_BYTES	7168

/* The payload of a train and how far it is consumed. */
struct tx_source {
	const u8 *bytes;	/* or NULL: */
	const struct bio_vec *bv;
	u32 off;		/* in *bv */
};

/* A train that is being written: one skb, whose body (everything behind the UDP
 * header) is written from front to back.
 */
struct tx_frame {
	struct sk_buff *skb;
	u32 ip_len;
	u32 body_len;
	u32 stride;		/* body bytes of each packet but the last */
	u16 id;			/* IPv4, of the next packet */
	bool local;		/* stays on this host: needs no ICRC */
	/* base is the ICRC of the headers before the BTH, for packets of
	 * base_len bytes. 0: not computed yet.
	 */
	u32 base_len;
	u32 base;
	/* The next byte of the body, the room there, and its fragment. */
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

/* A train that others may join. While its frame has no skb, its body is in
 * memory of the CPU.
 */
struct tx_open {
	struct tx_frame frame;
	struct cairn_join join;
	struct cairn_nic *nic;
	struct cairn_path path;	/* of the first train; holds no reference */
	struct dst_entry *dst;
	u32 bytes;		/* payload of all */
	bool ect;
	u8 *body;		/* TX_OPEN_BYTES */
};

/* Each CPU has one, and uses it below cairn_cpu_lock(): it needs no other lock.
 */
struct tx_plug {
	struct tx_open open[TX_FLOWS];
	unsigned int victim;
	u8 *memory;
	struct page_frag pages;		/* for the skbs of open trains */
};

static DEFINE_PER_CPU(struct tx_plug, tx_plugs);
static u32 tx_flow_seed __read_mostly;	/* random, set at module start */
DEFINE_PER_CPU(struct cairn_plug_state, cairn_plug_state);

/* Bytes of a packet from BTH to ICRC. */
static u32 tx_packet_len(u8 opcode, u32 payload_len)
{
	return cairn_opcodes[opcode].hdr_len + payload_len +
	       cairn_pkt_pad(payload_len) + CAIRN_ICRC_LEN;
}

static void tx_frame_measure(struct tx_frame *frame,
			     const struct cairn_path *path,
			     const struct cairn_train *train)
{
	frame->ip_len = path->ipv6 ? sizeof(struct ipv6hdr) :
				     sizeof(struct iphdr);
	frame->local = false;
	frame->stride =
		tx_packet_len(train->first.opcode,
			      train->count > 1 ? train->seg : train->length);
	frame->body_len =
		(train->count - 1) * frame->stride +
		tx_packet_len(train->count > 1 ? train->last_opcode :
						 train->first.opcode,
			      train->length - (train->count - 1) * train->seg);
}

/* False when the stack would have to fragment a packet. */
static bool tx_frame_fits(const struct tx_frame *frame,
			  const struct dst_entry *dst)
{
	return frame->ip_len + sizeof(frame->udp) + frame->stride <=
	       dst_mtu(dst);
}

/* Bytes before the body. */
static u32 tx_frame_head(const struct tx_frame *frame,
			 const struct dst_entry *dst)
{
	return LL_RESERVED_SPACE(dst->dev) + dst->header_len + frame->ip_len +
	       sizeof(frame->udp);
}

/* Reserve the headers in an empty skb that has @head bytes of room for them. */
static void tx_frame_put_head(struct tx_frame *frame, u32 head)
{
	skb_reserve(frame->skb, head - frame->ip_len - sizeof(frame->udp));
	skb_reset_network_header(frame->skb);
	skb_put(frame->skb, frame->ip_len);
	skb_set_transport_header(frame->skb, frame->ip_len);
	skb_put(frame->skb, sizeof(frame->udp));
	frame->frag = -1;
	frame->room = 0;
}

/*
 * A short body is linear. A longer one is in page fragments, which are
 * available when large contiguous memory is not.
 */
static bool tx_frame_alloc(struct tx_frame *frame, const struct dst_entry *dst)
{
	bool several = frame->body_len > TX_LINEAR_BYTES;
	u32 head = tx_frame_head(frame, dst);
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
	tx_frame_put_head(frame, head);
	if (several) {
		frame->skb->data_len = frame->body_len;
		frame->skb->len += frame->body_len;
	} else {
		frame->to = skb_put(frame->skb, frame->body_len);
		frame->room = frame->body_len;
	}
	return true;
}

/* Add @len bytes of room to a body whose bytes so far are written. Return:
 * false without memory or with too many fragments; some room may have been
 * added.
 */
static bool tx_frame_grow(struct tx_frame *frame, struct page_frag *pages,
			  u32 len)
{
	struct sk_buff *skb = frame->skb;
	u32 n;

	for (; len; len -= n) {
		int i = skb_shinfo(skb)->nr_frags;

		if (!skb_page_frag_refill(1, pages, GFP_ATOMIC | __GFP_NOWARN))
			return false;
		n = min(len, pages->size - pages->offset);
		if (skb_can_coalesce(skb, i, pages->page, pages->offset)) {
			skb_frag_size_add(&skb_shinfo(skb)->frags[--i], n);
			frame->room += i == frame->frag ? n : 0;
		} else if (i < MAX_SKB_FRAGS) {
			get_page(pages->page);
			skb_fill_page_desc(skb, i, pages->page, pages->offset,
					   n);
		} else {
			return false;
		}
		pages->offset += n;
		skb->len += n;
		skb->data_len += n;
		skb->truesize += n;
	}
	return true;
}

/* Undo tx_frame_grow(): only @len bytes of the body stay. */
static void tx_frame_cut(struct tx_frame *frame, u32 len)
{
	const skb_frag_t *last;

	pskb_trim_unique(frame->skb,
			 frame->ip_len + sizeof(frame->udp) + len);
	frame->frag = skb_shinfo(frame->skb)->nr_frags - 1;
	frame->room = 0;
	/* Trimming moves the rest to the head if it fits there. */
	if (frame->frag < 0)
		return;
	last = &skb_shinfo(frame->skb)->frags[frame->frag];
	frame->to = skb_frag_address(last) + skb_frag_size(last);
}

/* Take up to @len bytes of contiguous room of the body. */
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

/* Take up to @len bytes of contiguous payload. */
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

/* Registered memory may have an error that is not detected yet. Then the copy
 * fails instead of crashing the kernel.
 */
static int tx_copy(const struct tx_source *source, u8 *to, const u8 *from,
		   u32 len)
{
	if (!source->bytes)
		return copy_mc_to_kernel(to, from, len) ? -EFAULT : 0;
	memcpy(to, from, len);
	return 0;
}

/*
 * Copy @len bytes of payload. The ICRC is computed over the copy, because the
 * original may change meanwhile. This goes in pieces that are still in the
 * cache.
 */
static int tx_put_payload(struct tx_frame *frame, struct tx_source *source,
			  u32 len, u32 *crc)
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
			if (tx_copy(source, to + done, from, piece))
				return -EFAULT;
			if (!frame->local)
				*crc = cairn_icrc_update(*crc, to + done,
							 piece);
		}
	}
	return 0;
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

	frame->base_len = 0;
	frame->udp = (struct udphdr){
		.source = path->sport,
		.dest = htons(CAIRN_UDP_PORT),
	};
	if (path->ipv6)
		tx_ip6_template(frame, path, ecn);
	else
		tx_ip4_template(frame, path, ecn);
}

/* Set lengths and id for @body bytes after the UDP header. */
static void tx_set_lengths(struct tx_frame *frame, u32 body, u16 id)
{
	u32 udp_len = sizeof(frame->udp) + body;

	frame->udp.len = htons(udp_len);
	if (frame->ip_len == sizeof(frame->ip.v6)) {
		frame->ip.v6.payload_len = frame->udp.len;
	} else {
		frame->ip.v4.tot_len = htons(frame->ip_len + udp_len);
		frame->ip.v4.id = htons(id);
	}
}

/* Compute the ICRC of the headers for packets of @body bytes from BTH to ICRC.
 */
static void tx_set_base(struct tx_frame *frame, u32 body)
{
	const u8 *udp = (const u8 *)&frame->udp;

	if (frame->local || frame->base_len == body)
		return;
	tx_set_lengths(frame, body, 0);
	frame->base_len = body;
	frame->base = frame->ip_len == sizeof(frame->ip.v6) ?
		      cairn_icrc_ip6(frame->ip.bytes, udp) :
		      cairn_icrc_ip4(frame->ip.bytes, udp);
}

/* The ICRC of the next packet up to the end of its headers. */
static u32 tx_begin_icrc(struct tx_frame *frame, const u8 *hdr, u32 len)
{
	u16 id = frame->id++;

	if (frame->local)
		return 0;
	if (frame->ip_len == sizeof(frame->ip.v6))
		id = 0;
	return cairn_icrc_bth(frame->base, id, hdr, len);
}

/* Write one packet of the body: headers, payload, pad, ICRC. Return: 0, or
 * -EFAULT when the memory has an error.
 */
static int tx_put_packet(struct tx_frame *frame, const struct cairn_pkt *pkt,
			 struct tx_source *source)
{
	static const u8 zeros[4];
	u32 pad = cairn_pkt_pad(pkt->payload_len);
	u8 hdr[CAIRN_MAX_HDR];
	__le32 icrc;
	u32 len, crc;

	tx_set_base(frame, tx_packet_len(pkt->opcode, pkt->payload_len));
	len = cairn_pkt_build(hdr, pkt);
	crc = tx_begin_icrc(frame, hdr, len);
	tx_put_bytes(frame, hdr, len);
	if (tx_put_payload(frame, source, pkt->payload_len, &crc))
		return -EFAULT;
	if (pad) {
		tx_put_bytes(frame, zeros, pad);
		crc = cairn_icrc_update(crc, zeros, pad);
	}
	icrc = cairn_icrc_finish(crc);
	tx_put_bytes(frame, &icrc, sizeof(icrc));
	return 0;
}

/* Leave the UDP checksum to the device, or to the stack in its place. */
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
 * sets lengths, ids and checksums. It requires a UDP checksum.
 */
static void tx_make_train(struct tx_frame *frame, u32 count)
{
	struct skb_shared_info *info = skb_shinfo(frame->skb);

	info->gso_type = SKB_GSO_UDP_L4;
	info->gso_size = frame->stride;
	info->gso_segs = count;
}

static bool tx_device_checksums(const struct tx_frame *frame,
				const struct dst_entry *dst)
{
	return can_checksum_protocol(dst->dev->features,
				     frame->ip_len == sizeof(frame->ip.v6) ?
				     htons(ETH_P_IPV6) : htons(ETH_P_IP));
}

static int tx_frame_fill(struct tx_frame *frame,
			 const struct cairn_train *train,
			 struct tx_source *source)
{
	struct cairn_pkt pkt;
	u32 k;

	for (k = 0; k < train->count; k++) {
		cairn_train_packet(&pkt, train, k);
		if (tx_put_packet(frame, &pkt, source))
			return -EFAULT;
	}
	return 0;
}

/* Write the headers when the body of @count packets is complete. */
static void tx_frame_finish(struct tx_frame *frame, u32 count,
			    const struct dst_entry *dst)
{
	tx_set_lengths(frame, frame->body_len, frame->id - count);
	if (count > 1)
		tx_make_train(frame, count);
	if (!frame->local && (count > 1 || tx_device_checksums(frame, dst)))
		tx_leave_checksum(frame);
	memcpy(skb_network_header(frame->skb), frame->ip.bytes, frame->ip_len);
	memcpy(skb_transport_header(frame->skb), &frame->udp,
	       sizeof(frame->udp));
}

u32 cairn_net_flow_hash(__be32 saddr, __be32 daddr, __be16 sport)
{
	return jhash_3words((__force u32)daddr, (__force u32)saddr,
			    (__force u32)sport, tx_flow_seed);
}

/*
 * Use one transmit queue of the netdev for the flow, on every CPU. From two
 * queues its packets could overtake each other. A receiver on this host
 * recognizes packets of a cairn device by the hash (rx_never_left()).
 */
static void tx_pin_flow(struct sk_buff *skb, const struct cairn_path *path)
{
	u32 hash = cairn_net_flow_hash(path->saddr.s6_addr32[3],
				       path->daddr.s6_addr32[3], path->sport);

	__skb_set_sw_hash(skb, hash, true);
#ifdef CONFIG_XPS
	skb->sender_cpu = reciprocal_scale(hash, nr_cpu_ids) + 1;
#endif
}

/* Give a train to the IP stack. Return: false when the stack dropped it. */
static bool tx_frame_send(struct cairn_nic *nic, struct tx_frame *frame,
			  const struct cairn_path *path, struct dst_entry *dst)
{
	struct net *net = nic->net;
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

/* Count a train as sent if it @left, or else as lost with counter @why. */
static void tx_count(struct cairn_nic *nic, u32 packets, u32 bytes, bool left,
		     enum cairn_counter why)
{
	cairn_nic_count(nic, CAIRN_CTR_TX_TRAINS, 1);
	if (!left) {
		cairn_nic_count(nic, why, packets);
		return;
	}
	cairn_nic_count(nic, CAIRN_CTR_TX_PACKETS, packets);
	cairn_nic_count(nic, CAIRN_CTR_TX_BYTES, bytes);
}

/* Copy the body from memory of the CPU into an skb. */
static bool tx_open_copy(struct tx_open *open)
{
	if (!tx_frame_alloc(&open->frame, open->dst))
		return false;
	tx_put_bytes(&open->frame, open->body, open->join.len);
	return true;
}

/* Send an open train. Its place is freed first: the stack may call back into
 * this file while it sends the skb.
 */
static void tx_open_leave(struct tx_open *open)
{
	struct tx_open out = *open;
	bool left;

	open->join = (struct cairn_join){};
	open->frame.skb = NULL;
	out.frame.body_len = out.join.len;
	left = out.frame.skb || tx_open_copy(&out);
	if (left) {
		tx_frame_finish(&out.frame, out.join.count, out.dst);
		left = tx_frame_send(out.nic, &out.frame, &out.path, out.dst);
	}
	tx_count(out.nic, out.join.count, out.bytes, left,
		 CAIRN_CTR_TX_DROPPED);
}

static bool tx_same_flow(const struct cairn_path *one,
			 const struct cairn_path *other)
{
	return one->sport == other->sport && one->ipv6 == other->ipv6 &&
	       one->tos == other->tos && one->ttl == other->ttl &&
	       one->flow_label == other->flow_label &&
	       one->ifindex == other->ifindex &&
	       uid_eq(one->uid, other->uid) &&
	       ipv6_addr_equal(&one->daddr, &other->daddr) &&
	       ipv6_addr_equal(&one->saddr, &other->saddr);
}

static struct tx_open *tx_open_find(struct tx_plug *plug,
				    const struct cairn_nic *nic,
				    const struct cairn_path *path, bool ect)
{
	struct tx_open *open;

	for (open = plug->open; open < plug->open + TX_FLOWS; open++)
		if (open->join.count && open->nic == nic && open->ect == ect &&
		    tx_same_flow(&open->path, path))
			return open;
	return NULL;
}

/* Find a place for another open train, or NULL. May have to send one first. */
static struct tx_open *tx_open_place(struct tx_plug *plug)
{
	struct tx_open *open;

	for (open = plug->open; open < plug->open + TX_FLOWS; open++)
		if (!open->join.count)
			return open;
	open = &plug->open[plug->victim++ % TX_FLOWS];
	tx_open_leave(open);
	/* The stack may have called back and taken the place again. */
	return open->join.count ? NULL : open;
}

/* Get the memory for the body of an open train. */
static bool tx_open_alloc(struct tx_open *open)
{
	struct tx_frame *frame = &open->frame;
	u32 head = tx_frame_head(frame, open->dst);

	frame->skb = NULL;
	frame->to = open->body;
	frame->room = TX_OPEN_BYTES;
	if (frame->stride <= TX_SMALL)
		return true;
	frame->skb = alloc_skb(head, GFP_ATOMIC | __GFP_NOWARN);
	if (frame->skb)
		tx_frame_put_head(frame, head);
	return frame->skb;
}

/* The largest body that the open train may have, in bytes. */
static u32 tx_open_room(const struct tx_open *open)
{
	return open->frame.skb ? CAIRN_TRAIN_BYTES : TX_OPEN_BYTES;
}

/* Cut the body behind the last complete train, when adding another one failed.
 */
static void tx_open_revert(struct tx_open *open)
{
	struct tx_frame *frame = &open->frame;

	if (!frame->skb) {
		frame->to = open->body + open->join.len;
		frame->room = TX_OPEN_BYTES - open->join.len;
	} else if (open->join.count) {
		tx_frame_cut(frame, open->join.len);
	} else {
		kfree_skb(frame->skb);
		frame->skb = NULL;
	}
}

/* Begin an open train for @train, measured by @frame. NULL: not possible. */
static struct tx_open *tx_open_begin(struct tx_plug *plug,
				     struct cairn_nic *nic,
				     struct cairn_path *path,
				     const struct cairn_train *train,
				     const struct tx_frame *frame)
{
	struct dst_entry *dst = cairn_net_route(nic, path);
	struct tx_open *open;

	if (!dst || !tx_frame_fits(frame, dst))
		return NULL;
	open = tx_open_place(plug);
	if (!open)
		return NULL;
	open->frame = *frame;
	open->frame.id = train->first.psn;
	open->dst = dst;
	if (!tx_open_alloc(open))
		return NULL;
	tx_template(&open->frame, path, train->ect);
	open->nic = nic;
	open->path = *path;
	open->bytes = 0;
	open->ect = train->ect;
	return open;
}

/* Find or begin the open train for @train, measured by @frame. NULL: the train
 * is sent alone. Then all trains before it in its flow have been sent.
 */
static struct tx_open *tx_open_join(struct cairn_nic *nic,
				    struct cairn_path *path,
				    const struct cairn_train *train,
				    const struct tx_frame *frame)
{
	struct tx_plug *plug = this_cpu_ptr(&tx_plugs);
	struct tx_open *open;

	if (!this_cpu_read(cairn_plug_state.depth))
		return NULL;
	open = tx_open_find(plug, nic, path, train->ect);
	if (open && !cairn_join_fits(&open->join, tx_open_room(open),
				     train->count, frame->stride,
				     frame->body_len)) {
		tx_open_leave(open);
		open = NULL;
	}
	if (!open && frame->body_len <= TX_JOIN_BYTES)
		open = tx_open_begin(plug, nic, path, train, frame);
	if (!open || !open->frame.skb ||
	    tx_frame_grow(&open->frame, &plug->pages, frame->body_len))
		return open;
	tx_open_revert(open);
	if (open->join.count)
		tx_open_leave(open);
	return NULL;
}

/* Account for @train, whose packets have been written to @open. */
static void tx_open_add(struct tx_open *open, const struct cairn_train *train,
			const struct tx_frame *frame)
{
	if (open->join.count)
		cairn_nic_count(open->nic, CAIRN_CTR_TX_JOINED, train->count);
	cairn_join_add(&open->join, train->count, frame->stride,
		       frame->body_len);
	open->bytes += train->length;
	this_cpu_inc(cairn_plug_state.added);
}

/* Discard bytes written behind the last complete train of @open. @id: the IPv4
 * id of the next packet.
 */
static void tx_open_undo(struct tx_open *open, u16 id)
{
	open->frame.id = id;
	tx_open_revert(open);
}

static int tx_open_fill(struct tx_open *open, const struct cairn_train *train,
			const struct tx_frame *frame, struct tx_source *source)
{
	u16 id = open->frame.id;

	if (tx_frame_fill(&open->frame, train, source)) {
		tx_open_undo(open, id);
		return -EFAULT;
	}
	tx_open_add(open, train, frame);
	return 0;
}

/* The first open train, or NULL. */
static struct tx_open *tx_open_any(struct tx_plug *plug)
{
	struct tx_open *open;

	for (open = plug->open; open < plug->open + TX_FLOWS; open++)
		if (open->join.count)
			return open;
	return NULL;
}

void cairn_net_plug(void)
	__acquires(RCU)
{
	cairn_cpu_assert_locked();
	rcu_read_lock();
	this_cpu_inc(cairn_plug_state.depth);
}

void cairn_net_unplug(void)
	__releases(RCU)
{
	struct tx_plug *plug = this_cpu_ptr(&tx_plugs);
	struct tx_open *open;

	/* The stack may call back and open others: search again after each. */
	while (this_cpu_read(cairn_plug_state.depth) == 1) {
		open = tx_open_any(plug);
		if (!open)
			break;
		tx_open_leave(open);
	}
	this_cpu_dec(cairn_plug_state.depth);
	rcu_read_unlock();
}

/* Allocate the skb for a train that @frame measures. Return: the route, or NULL
 * when the train is lost; then @why is the counter for it.
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
	if (!tx_frame_fits(frame, dst) || !tx_frame_alloc(frame, dst))
		return NULL;
	frame->id = train->first.psn;
	tx_template(frame, path, train->ect);
	return dst;
}

/* Send a train that is not joined to others. */
static int tx_send_alone(struct cairn_nic *nic, struct cairn_path *path,
			 const struct cairn_train *train,
			 struct tx_frame *frame, struct tx_source *source)
{
	enum cairn_counter why;
	struct dst_entry *dst;
	bool left = false;

	dst = tx_frame_begin(nic, frame, path, train, &why);
	if (dst) {
		if (tx_frame_fill(frame, train, source)) {
			kfree_skb(frame->skb);
			return -EFAULT;
		}
		tx_frame_finish(frame, train->count, dst);
		left = tx_frame_send(nic, frame, path, dst);
	}
	tx_count(nic, train->count, train->length, left, why);
	return 0;
}

/* Begin a copy for a receiver on this host. Return: false without memory. The
 * train is lost then.
 */
static bool tx_local_begin(struct cairn_nic *nic, struct tx_frame *frame,
			   struct cairn_path *path,
			   const struct cairn_train *train)
{
	tx_frame_measure(frame, path, train);
	frame->local = true;
	frame->id = train->first.psn;
	if (!tx_frame_alloc(frame, path->dst)) {
		cairn_nic_count(nic, CAIRN_CTR_TX_DROPPED, train->count);
		return false;
	}
	tx_template(frame, path, train->ect);
	return true;
}

/* The copy is complete: hand it over. */
static void tx_local_leave(struct cairn_nic *nic, struct tx_frame *frame,
			   const struct cairn_path *path, u32 count,
			   const struct cairn_local *to)
{
	tx_frame_finish(frame, count, path->dst);
	frame->skb->protocol = htons(path->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	/* The receiver of a datagram gets the header, too. */
	if (!path->ipv6)
		ip_send_check(ip_hdr(frame->skb));
	cairn_nic_count(nic, CAIRN_CTR_LOOPBACK_PACKETS, count);
	cairn_nic_count(nic, CAIRN_CTR_LOOPBACK_QUEUED, count);
	cairn_net_rx_local(to, frame->skb, frame->stride, path->qpn);
}

/* Send to a receiver on this host. The result is that of cairn_net_xmit(). */
static int tx_local_send(struct cairn_nic *nic, struct cairn_path *path,
			 const struct cairn_train *train,
			 const struct bio_vec *bv, const struct cairn_local *to)
{
	struct tx_source source = { .bytes = train->inline_data, .bv = bv };
	struct cairn_parcel parcel = {
		.train = train,
		.path = path,
		.ifindex = to->ifindex,
		.bytes = train->inline_data,
		.bv = bv,
		.at = bv,
	};
	struct tx_frame frame;

	if (cairn_local_hand(to, &parcel)) {
		cairn_nic_count(nic, CAIRN_CTR_LOOPBACK_PACKETS, train->count);
		return 0;
	}
	if (!tx_local_begin(nic, &frame, path, train))
		return 0;
	if (tx_frame_fill(&frame, train, &source)) {
		kfree_skb(frame.skb);
		cairn_nic_count(nic, CAIRN_CTR_POISONED_PAGES, 1);
		return -EFAULT;
	}
	tx_local_leave(nic, &frame, path, train->count, to);
	return 0;
}

int cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		   const struct cairn_train *train, const struct bio_vec *bv)
{
	struct tx_source source = { .bytes = train->inline_data, .bv = bv };
	struct cairn_local to;
	struct tx_frame frame;
	struct tx_open *open;
	int err;

	if (cairn_local_find(nic, path, &to))
		return tx_local_send(nic, path, train, bv, &to);
	if (!cairn_local_admits(nic, path, train))
		return 0;
	tx_frame_measure(&frame, path, train);
	open = tx_open_join(nic, path, train, &frame);
	err = open ? tx_open_fill(open, train, &frame, &source) :
		     tx_send_alone(nic, path, train, &frame, &source);
	if (err)
		cairn_nic_count(nic, CAIRN_CTR_POISONED_PAGES, 1);
	return err;
}

/* Write the messages of @train. Return: the number of messages before the first
 * that failed, by @part or an error of its memory.
 */
static u32 tx_fill_messages(struct cairn_nic *nic, struct tx_frame *frame,
			    const struct cairn_train *train,
			    cairn_net_part_fn part, void *arg)
{
	u32 k;

	for (k = 0; k < train->count; k++) {
		struct cairn_net_part out = {};
		struct tx_source source = {};

		if (part(arg, k, &out))
			break;
		source.bytes = out.bytes;
		source.bv = out.bv;
		if (tx_put_packet(frame, out.pkt, &source)) {
			cairn_nic_count(nic, CAIRN_CTR_POISONED_PAGES, 1);
			break;
		}
	}
	return k;
}

/* Add the messages to an open train. If one fails, the open train is unchanged.
 */
static u32 tx_open_messages(struct tx_open *open,
			    const struct cairn_train *train,
			    const struct tx_frame *frame,
			    cairn_net_part_fn part, void *arg)
{
	u16 id = open->frame.id;
	u32 k;

	k = tx_fill_messages(open->nic, &open->frame, train, part, arg);
	if (k == train->count)
		tx_open_add(open, train, frame);
	else
		tx_open_undo(open, id);
	return k;
}

/* Send messages to a receiver on this host. They are copied, because a later
 * one may fail after the first ones were received. They are short.
 */
static u32 tx_local_messages(struct cairn_nic *nic, struct cairn_path *path,
			     const struct cairn_train *train,
			     cairn_net_part_fn part, void *arg,
			     const struct cairn_local *to)
{
	struct tx_frame frame;
	u32 k;

	if (!tx_local_begin(nic, &frame, path, train))
		return train->count;
	k = tx_fill_messages(nic, &frame, train, part, arg);
	if (k < train->count)
		kfree_skb(frame.skb);
	else
		tx_local_leave(nic, &frame, path, k, to);
	return k;
}

u32 cairn_net_xmit_messages(struct cairn_nic *nic, struct cairn_path *path,
			    const struct cairn_train *train,
			    cairn_net_part_fn part, void *arg)
{
	enum cairn_counter why;
	struct cairn_local to;
	struct dst_entry *dst;
	struct tx_frame frame;
	struct tx_open *open;
	bool left = false;
	u32 k;

	if (cairn_local_find(nic, path, &to))
		return tx_local_messages(nic, path, train, part, arg, &to);
	if (!cairn_local_admits(nic, path, train))
		return train->count;
	tx_frame_measure(&frame, path, train);
	open = tx_open_join(nic, path, train, &frame);
	if (open)
		return tx_open_messages(open, train, &frame, part, arg);
	dst = tx_frame_begin(nic, &frame, path, train, &why);
	if (dst) {
		k = tx_fill_messages(nic, &frame, train, part, arg);
		if (k < train->count) {
			kfree_skb(frame.skb);
			return k;
		}
		tx_frame_finish(&frame, train->count, dst);
		left = tx_frame_send(nic, &frame, path, dst);
	}
	tx_count(nic, train->count, train->length, left, why);
	return train->count;
}

static void tx_plug_init(struct tx_plug *plug)
{
	u32 i;

	for (i = 0; i < TX_FLOWS; i++)
		plug->open[i].body = plug->memory + i * TX_OPEN_BYTES;
}

int cairn_net_tx_start(void)
{
	struct tx_plug *plug;
	int cpu;

	tx_flow_seed = get_random_u32();
	for_each_possible_cpu(cpu) {
		plug = per_cpu_ptr(&tx_plugs, cpu);
		plug->memory = kvmalloc_node(TX_FLOWS * TX_OPEN_BYTES,
					     GFP_KERNEL, cpu_to_node(cpu));
		if (!plug->memory) {
			cairn_net_tx_stop();
			return -ENOMEM;
		}
		tx_plug_init(plug);
	}
	return 0;
}

void cairn_net_tx_stop(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct tx_plug *plug = per_cpu_ptr(&tx_plugs, cpu);

		kvfree(plug->memory);
		plug->memory = NULL;
		if (plug->pages.page)
			put_page(plug->pages.page);
		plug->pages.page = NULL;
	}
}
