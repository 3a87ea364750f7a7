// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All packets of a train are written first, each into an skb of its own, because a
 * message that fails lets its train not leave. The rules are applied afterwards.
 */
#include <linux/slab.h>
#include <linux/udp.h>
#include "device/parcel.h"
#include "engine/train.h"
#include "fault/rules.h"
#include "lane/room.h"
#include "net/faulty.h"
#include "net/routing.h"
#include "net/tx.h"
#include "wire/icrc.h"

#define FAULTY_GFP	(GFP_ATOMIC | __GFP_NOWARN)

/* skb->cb of a packet that is complete. */
struct faulty_cb {
	struct cairn_match_packet pkt;
	u32 base;	/* the ICRC of the headers before the BTH */
	u16 id;		/* for cairn_icrc_bth() */
};

/* A train on its way. */
struct faulty {
	struct cairn_nic *nic;
	struct cairn_path *path;
	struct dst_entry *dst;
	const struct cairn_packets *packets;
	u8 *payload;			/* of one packet */
	struct sk_buff_head skbs;
};

static struct faulty_cb *faulty_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct faulty_cb) > sizeof(skb->cb));
	return (struct faulty_cb *)skb->cb;
}

/* Describe packet @k by itself, a train of one. Return: 0 or a negative errno. */
static int faulty_single(struct faulty *faulty, u32 k, struct cairn_train *one)
{
	const struct cairn_train *train = faulty->packets->train;
	struct cairn_parcel parcel = {
		.bytes = train->inline_data,
		.bv = faulty->packets->bv,
		.at = faulty->packets->bv,
	};
	struct cairn_pkt pkt;

	cairn_train_packet(&pkt, train, k);
	pkt.cookie = &parcel;
	pkt.base = k * train->seg;
	one->first = pkt;
	one->inline_data = faulty->payload;
	return cairn_parcel_copy(&pkt, 0, faulty->payload, pkt.payload_len);
}

/* The same for a message. @bv: its payload, if it is not in @one. */
static int faulty_message(struct faulty *faulty, u32 k, struct cairn_train *one,
			  const struct bio_vec **bv)
{
	const struct cairn_packets *packets = faulty->packets;
	struct cairn_message_out out = {};
	int err = packets->next(packets->arg, k, &out);

	if (err)
		return err;
	one->first = *out.pkt;
	one->inline_data = out.bytes;
	*bv = out.bv;
	return 0;
}

/* Write a train of one. Return: false when its memory has an error. Without memory for
 * the skb the packet is lost.
 */
static bool faulty_write(struct faulty *faulty, const struct cairn_train *one,
			 const struct bio_vec *bv)
{
	struct cairn_packets packets = { .train = one, .bv = bv };
	struct cairn_nic *nic = faulty->nic;
	struct cairn_frame frame;
	struct faulty_cb *cb;

	cairn_frame_measure(&frame, faulty->path, one);
	if (!cairn_frame_fits(&frame, faulty->dst) ||
	    !cairn_frame_alloc(&frame, faulty->dst)) {
		cairn_net_tx_count(nic, 1, one->length, false,
				   CAIRN_CTR_TX_DROPPED);
		return true;
	}
	frame.id = one->first.psn;
	cairn_frame_template(&frame, faulty->path, one->ect);
	if (!cairn_frame_fill(nic, &frame, &packets)) {
		kfree_skb(frame.skb);
		return false;
	}
	cairn_frame_finish(&frame, 1, faulty->dst);
	cb = faulty_cb(frame.skb);
	cb->base = frame.base;
	cb->id = faulty->path->ipv6 ? 0 : frame.id - 1;
	cb->pkt = (struct cairn_match_packet){
		.qpn = faulty->path->qpn ?: one->first.src_qpn,
		.len = one->length,
		.key = cairn_pkt_has_key(&one->first) ? one->first.rkey : 0,
		.opcode = one->first.opcode,
		.direction = CAIRN_FAULT_SENT,
	};
	memcpy(cb->pkt.peer, &faulty->path->daddr, sizeof(cb->pkt.peer));
	__skb_queue_tail(&faulty->skbs, frame.skb);
	return true;
}

/* Return: false when packet @k fails. */
static bool faulty_make(struct faulty *faulty, u32 k)
{
	struct cairn_train one = *faulty->packets->train;
	const struct bio_vec *bv = NULL;
	int err;

	one.count = 1;
	err = faulty->packets->next ? faulty_message(faulty, k, &one, &bv) :
				      faulty_single(faulty, k, &one);
	if (err == -EFAULT && !faulty->packets->next)
		cairn_nic_count(faulty->nic, CAIRN_CTR_POISONED_PAGES, 1);
	if (err)
		return false;
	one.length = one.first.payload_len;
	return faulty_write(faulty, &one, bv);
}

void cairn_faulty_flip(struct sk_buff *skb, u32 len)
{
	skb_tail_pointer(skb)[-(int)(CAIRN_ICRC_LEN + cairn_pkt_pad(len) + 1)] ^= 0xff;
}

/* The receiver has to look at the ICRC, even if it is on this host. */
static void faulty_corrupt(struct sk_buff *skb)
{
	cairn_faulty_flip(skb, faulty_cb(skb)->pkt.len);
	skb->ip_summed = CHECKSUM_NONE;
	udp_hdr(skb)->check = 0;
}

static void faulty_corrupt_past_icrc(struct sk_buff *skb)
{
	const struct faulty_cb *cb = faulty_cb(skb);
	u8 *bth = skb_transport_header(skb) + sizeof(struct udphdr);
	u32 covered = skb_tail_pointer(skb) - bth - CAIRN_ICRC_LEN;
	__le32 icrc;

	cairn_faulty_flip(skb, cb->pkt.len);
	icrc = cairn_icrc_finish(cairn_icrc_bth(cb->base, cb->id, bth, covered));
	memcpy(bth + covered, &icrc, sizeof(icrc));
}

/* Send a packet that cairn_net_tx_keep() has prepared. It is the IP stack's then. */
static void faulty_go_on(struct cairn_nic *nic, struct sk_buff *skb)
{
	u32 len = faulty_cb(skb)->pkt.len;

	memset(skb->cb, 0, sizeof(skb->cb));
	cairn_net_tx_count(nic, 1, len, cairn_net_tx_kept(nic, skb),
			   CAIRN_CTR_TX_DROPPED);
}

/* The packet is counted only from now on, as one that a rule delays is in the network. */
static void faulty_go_now(struct faulty *faulty, struct sk_buff *skb)
{
	if (faulty->packets->room && !cairn_room_take(faulty->packets->room, skb)) {
		cairn_net_tx_count(faulty->nic, 1, faulty_cb(skb)->pkt.len, false,
				   CAIRN_CTR_TX_DROPPED);
		kfree_skb(skb);
		return;
	}
	faulty_go_on(faulty->nic, skb);
}

/* Apply the rules to a packet. If it leaves, packets that waited for it leave behind it. */
static void faulty_send(struct faulty *faulty, struct sk_buff *skb)
{
	struct cairn_delays *delays = cairn_fault_delays(faulty->nic);
	const struct cairn_match_packet pkt = faulty_cb(skb)->pkt;
	struct cairn_fault_hit hit = cairn_fault_meet(faulty->nic, &pkt);
	struct sk_buff *twin;

	cairn_net_tx_keep(skb, faulty->path, faulty->dst);
	switch (hit.act) {
	case CAIRN_FAULT_DROP:
		kfree_skb(skb);
		return;
	case CAIRN_FAULT_DUPLICATE:
		twin = skb_copy(skb, FAULTY_GFP);
		if (twin)
			faulty_go_now(faulty, twin);
		break;
	case CAIRN_FAULT_CORRUPT:
		faulty_corrupt(skb);
		break;
	case CAIRN_FAULT_CORRUPT_PAST_ICRC:
		faulty_corrupt_past_icrc(skb);
		break;
	case CAIRN_FAULT_DELAY:
	case CAIRN_FAULT_REORDER:
		/* without room it leaves at once */
		if (!cairn_delay_hold(delays, skb, &pkt, hit.delay_us, faulty_go_on))
			faulty_go_now(faulty, skb);
		return;
	}
	faulty_go_now(faulty, skb);
	cairn_delay_passed(delays, &pkt);
}

/* Write all packets. Return: the number of those before the first that fails. */
static u32 faulty_fill(struct faulty *faulty)
{
	const struct cairn_train *train = faulty->packets->train;
	u32 k = 0;

	while (k < train->count && faulty_make(faulty, k))
		k++;
	return k;
}

/* Return: as cairn_net_xmit(). */
static u32 faulty_go(struct faulty *faulty)
{
	const struct cairn_packets *packets = faulty->packets;
	u32 n = faulty_fill(faulty);
	struct sk_buff *skb;

	if (n < packets->train->count) {
		__skb_queue_purge(&faulty->skbs);
		return packets->next ? n : 0;
	}
	while ((skb = __skb_dequeue(&faulty->skbs)))
		faulty_send(faulty, skb);
	return n;
}

u32 cairn_faulty_xmit(struct cairn_nic *nic, struct cairn_path *path,
		      const struct cairn_packets *packets)
{
	const struct cairn_train *train = packets->train;
	struct faulty faulty = {
		.nic = nic, .path = path, .packets = packets,
	};
	enum cairn_counter why = CAIRN_CTR_TX_NOROUTE;
	u32 n = train->count;

	__skb_queue_head_init(&faulty.skbs);
	faulty.dst = cairn_net_route(nic, path);
	if (faulty.dst) {
		why = CAIRN_CTR_TX_DROPPED;
		faulty.payload = kmalloc(1 + (n > 1 ? train->seg : train->length),
					 FAULTY_GFP);
	}
	if (faulty.payload)
		n = faulty_go(&faulty);
	else
		cairn_net_tx_count(nic, train->count, train->length, false, why);
	kfree(faulty.payload);
	return n;
}
