// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The packets of a train, written into one skb.
 *
 * The IP header is complete before the ICRC is computed, because the ICRC
 * covers it. The stack later writes the total length again, with the same
 * value, and the IPv4 header checksum, which the ICRC does not cover.
 *
 * A train of several packets is one skb with UDP segmentation offload
 * (SKB_GSO_UDP_L4): one trip through the stack. Each packet in its body has the
 * ICRC for the headers that segmentation will give it.
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
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include "engine/train.h"
#include "net/frame.h"
#include "wire/icrc.h"

/* Bodies up to this size are linear: kmalloc has caches of that size. */
#define FRAME_LINEAR_BYTES	7168

/* The payload of a train and how far it is consumed. */
struct frame_source {
	const u8 *bytes;	/* or NULL: */
	const struct bio_vec *bv;
	u32 off;		/* in *bv */
};

/* Bytes of a packet from BTH to ICRC. */
static u32 frame_packet_len(u8 opcode, u32 payload_len)
{
	return cairn_opcodes[opcode].hdr_len + payload_len +
	       cairn_pkt_pad(payload_len) + CAIRN_ICRC_LEN;
}

void cairn_frame_measure(struct cairn_frame *frame,
			 const struct cairn_path *path,
			 const struct cairn_train *train)
{
	u32 before = train->count - 1;	/* packets before the last */

	frame->ip_len = path->ipv6 ? sizeof(struct ipv6hdr) :
				     sizeof(struct iphdr);
	frame->local = false;
	frame->ignores_icmp = false;
	frame->counted = NULL;
	frame->stride = frame_packet_len(train->first.opcode,
					 train->first.payload_len);
	frame->body_len = frame->stride;
	if (train->count > 1)
		frame->body_len = before * frame->stride +
				  frame_packet_len(train->last_opcode,
						   train->length - before * train->seg);
}

/*
 * A short body is linear. A longer one is in page fragments, which are
 * available when large contiguous memory is not.
 */
bool cairn_frame_alloc(struct cairn_frame *frame, const struct dst_entry *dst)
{
	bool several = frame->body_len > FRAME_LINEAR_BYTES;
	u32 head = cairn_frame_head(frame, dst);
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
	cairn_frame_put_head(frame, head);
	if (several) {
		frame->skb->data_len = frame->body_len;
		frame->skb->len += frame->body_len;
	} else {
		frame->to = skb_put(frame->skb, frame->body_len);
		frame->room = frame->body_len;
	}
	return true;
}

bool cairn_frame_grow(struct cairn_frame *frame, struct page_frag *pages,
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

void cairn_frame_cut(struct cairn_frame *frame, u32 len)
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

static void frame_next_fragment(struct cairn_frame *frame)
{
	skb_frag_t *frag = &skb_shinfo(frame->skb)->frags[++frame->frag];

	frame->to = skb_frag_address(frag);
	frame->room = skb_frag_size(frag);
}

/* Take up to @len bytes of contiguous room of the body. */
static u8 *frame_room(struct cairn_frame *frame, u32 *len)
{
	u8 *to;

	if (!frame->room)
		frame_next_fragment(frame);
	*len = min(*len, frame->room);
	to = frame->to;
	frame->to += *len;
	frame->room -= *len;
	return to;
}

void cairn_frame_put_bytes(struct cairn_frame *frame, const void *from, u32 len)
{
	u32 n;

	for (; len; len -= n, from += n) {
		u8 *to;

		n = len;
		to = frame_room(frame, &n);
		memcpy(to, from, n);
	}
}

/* Take up to @len bytes of contiguous payload. */
static const u8 *frame_source_bytes(struct frame_source *source, u32 *len)
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
static int frame_copy(const struct frame_source *source, u8 *to, const u8 *from,
		      u32 len)
{
	if (!source->bytes)
		return copy_mc_to_kernel(to, from, len) ? -EFAULT : 0;
	memcpy(to, from, len);
	return 0;
}

/* The ICRC is computed over the copy, because the original may change meanwhile. */
static int frame_copy_payload(struct frame_source *source, u8 *to, u32 len)
{
	u32 n;

	for (; len; len -= n, to += n) {
		const u8 *from;

		n = len;
		from = frame_source_bytes(source, &n);
		if (frame_copy(source, to, from, n))
			return -EFAULT;
	}
	return 0;
}

/* Put @len bytes of payload into the room of the body, piece by piece. */
static int frame_put_payload(struct cairn_frame *frame,
			     struct frame_source *source, u32 len, u32 *crc)
{
	u32 n;

	for (; len; len -= n) {
		u8 *to;

		n = len;
		to = frame_room(frame, &n);
		if (frame_copy_payload(source, to, n))
			return -EFAULT;
		if (!frame->local)
			*crc = cairn_icrc_update(*crc, to, n);
	}
	return 0;
}

static void frame_ip4_template(struct cairn_frame *frame,
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

static void frame_ip6_template(struct cairn_frame *frame,
			       const struct cairn_path *path, u8 ecn)
{
	ip6_flow_hdr(&frame->ip.v6, path->tos | ecn, path->flow_label);
	frame->ip.v6.nexthdr = IPPROTO_UDP;
	frame->ip.v6.hop_limit = path->ttl;
	frame->ip.v6.saddr = path->saddr;
	frame->ip.v6.daddr = path->daddr;
}

void cairn_frame_template(struct cairn_frame *frame,
			  const struct cairn_path *path, bool ect)
{
	u8 ecn = ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT;

	frame->base_len = 0;
	frame->udp = (struct udphdr){
		.source = path->sport,
		.dest = htons(CAIRN_UDP_PORT),
	};
	if (path->ipv6)
		frame_ip6_template(frame, path, ecn);
	else
		frame_ip4_template(frame, path, ecn);
}

/* Set lengths and id for @body bytes after the UDP header. */
static void frame_set_lengths(struct cairn_frame *frame, u32 body, u16 id)
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
static void frame_set_base(struct cairn_frame *frame, u32 body)
{
	const u8 *udp = (const u8 *)&frame->udp;

	if (frame->local || frame->base_len == body)
		return;
	frame_set_lengths(frame, body, 0);
	frame->base_len = body;
	frame->base = frame->ip_len == sizeof(frame->ip.v6) ?
		      cairn_icrc_ip6(frame->ip.bytes, udp) :
		      cairn_icrc_ip4(frame->ip.bytes, udp);
}

/* The ICRC of the next packet over its headers and payload, @len bytes in all. */
static u32 frame_begin_icrc(struct cairn_frame *frame, const u8 *hdr, u32 len)
{
	u16 id = frame->id++;

	if (frame->local)
		return 0;
	if (frame->ip_len == sizeof(frame->ip.v6))
		id = 0;
	return cairn_icrc_bth(frame->base, id, hdr, len);
}

/* Write a packet of @len bytes at @to: headers, payload, pad, ICRC. Return: 0, or
 * -EFAULT when the memory has an error.
 */
static int frame_put_whole(struct cairn_frame *frame,
			   const struct cairn_pkt *pkt,
			   struct frame_source *source, u8 *to, u32 len)
{
	u32 covered = len - CAIRN_ICRC_LEN;
	u32 pad = cairn_pkt_pad(pkt->payload_len);
	u32 head = cairn_pkt_build(to, pkt);
	__le32 icrc;

	if (frame_copy_payload(source, to + head, pkt->payload_len))
		return -EFAULT;
	if (pad)
		memset(to + covered - pad, 0, pad);
	icrc = cairn_icrc_finish(frame_begin_icrc(frame, to, covered));
	memcpy(to + covered, &icrc, sizeof(icrc));
	return 0;
}

/* The same, for a body whose room for the packet is not contiguous. */
static int frame_put_pieces(struct cairn_frame *frame,
			    const struct cairn_pkt *pkt,
			    struct frame_source *source)
{
	static const u8 zeros[4];
	u32 pad = cairn_pkt_pad(pkt->payload_len);
	u8 hdr[CAIRN_MAX_HDR];
	__le32 icrc;
	u32 len, crc;

	len = cairn_pkt_build(hdr, pkt);
	crc = frame_begin_icrc(frame, hdr, len);
	cairn_frame_put_bytes(frame, hdr, len);
	if (frame_put_payload(frame, source, pkt->payload_len, &crc))
		return -EFAULT;
	if (pad) {
		cairn_frame_put_bytes(frame, zeros, pad);
		crc = cairn_icrc_update(crc, zeros, pad);
	}
	icrc = cairn_icrc_finish(crc);
	cairn_frame_put_bytes(frame, &icrc, sizeof(icrc));
	return 0;
}

/* Write one packet of the body. Return: as frame_put_whole(). */
static int frame_put_packet(struct cairn_frame *frame,
			    const struct cairn_pkt *pkt,
			    struct frame_source *source)
{
	u32 len = frame_packet_len(pkt->opcode, pkt->payload_len);
	u8 *to;

	frame_set_base(frame, len);
	if (!frame->room)
		frame_next_fragment(frame);
	if (frame->room < len)
		return frame_put_pieces(frame, pkt, source);
	to = frame_room(frame, &len);
	return frame_put_whole(frame, pkt, source, to, len);
}

/* Leave the UDP checksum to the device, or to the stack in its place. */
static void frame_leave_checksum(struct cairn_frame *frame)
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
static void frame_make_train(struct cairn_frame *frame, u32 count)
{
	struct skb_shared_info *info = skb_shinfo(frame->skb);

	info->gso_type = SKB_GSO_UDP_L4;
	info->gso_size = frame->stride;
	info->gso_segs = count;
}

static bool frame_device_checksums(const struct cairn_frame *frame,
				   const struct dst_entry *dst)
{
	return can_checksum_protocol(dst->dev->features,
				     frame->ip_len == sizeof(frame->ip.v6) ?
				     htons(ETH_P_IPV6) : htons(ETH_P_IP));
}

static int frame_put_packets(struct cairn_frame *frame,
			     const struct cairn_train *train,
			     struct frame_source *source)
{
	struct cairn_pkt pkt;
	int err = 0;
	u32 k;

	for (k = 0; k < train->count && !err; k++) {
		cairn_train_packet(&pkt, train, k);
		err = frame_put_packet(frame, &pkt, source);
	}
	return err;
}

/* Return: as cairn_frame_fill(). */
static u32 frame_fill_train(struct cairn_nic *nic, struct cairn_frame *frame,
			    const struct cairn_packets *packets)
{
	const struct cairn_train *train = packets->train;
	struct frame_source source = {
		.bytes = train->inline_data,
		.bv = packets->bv,
	};
	int err;

	if (train->count == 1)
		err = frame_put_packet(frame, &train->first, &source);
	else
		err = frame_put_packets(frame, train, &source);
	if (!err)
		return train->count;
	cairn_nic_count(nic, CAIRN_CTR_POISONED_PAGES, 1);
	return 0;
}

static u32 frame_fill_messages(struct cairn_nic *nic, struct cairn_frame *frame,
			       const struct cairn_packets *packets)
{
	u32 k;

	for (k = 0; k < packets->train->count; k++) {
		struct cairn_message_out out = {};
		struct frame_source source = {};

		if (packets->next(packets->arg, k, &out))
			break;
		source.bytes = out.bytes;
		source.bv = out.bv;
		if (frame_put_packet(frame, out.pkt, &source)) {
			cairn_nic_count(nic, CAIRN_CTR_POISONED_PAGES, 1);
			break;
		}
	}
	return k;
}

u32 cairn_frame_fill(struct cairn_nic *nic, struct cairn_frame *frame,
		     const struct cairn_packets *packets)
{
	return packets->next ? frame_fill_messages(nic, frame, packets) :
			       frame_fill_train(nic, frame, packets);
}

void cairn_frame_finish(struct cairn_frame *frame, u32 count,
			const struct dst_entry *dst)
{
	frame_set_lengths(frame, frame->body_len, frame->id - count);
	if (count > 1)
		frame_make_train(frame, count);
	if (!frame->local && (count > 1 || frame_device_checksums(frame, dst)))
		frame_leave_checksum(frame);
	memcpy(skb_network_header(frame->skb), frame->ip.bytes, frame->ip_len);
	memcpy(skb_transport_header(frame->skb), &frame->udp,
	       sizeof(frame->udp));
}
