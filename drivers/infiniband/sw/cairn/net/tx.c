// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending trains: to a receiver on this host, joined to others (net/plug.c), or
 * alone. net/frame.c writes their packets.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "fault/rules.h"
#include "lane/room.h"
#include "net/faulty.h"
#include "net/frame.h"
#include "net/local.h"
#include "net/plug.h"
#include "net/routing.h"
#include "net/rx.h"
#include "net/tx.h"

static u32 tx_flow_seed __read_mostly;	/* random, set at module start */

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
static __always_inline void tx_pin_flow(struct sk_buff *skb,
					const struct cairn_path *path)
{
	u32 hash = cairn_net_flow_hash(path->saddr.s6_addr32[3],
				       path->daddr.s6_addr32[3], path->sport);

	__skb_set_sw_hash(skb, hash, true);
#ifdef CONFIG_XPS
	skb->sender_cpu = reciprocal_scale(hash, nr_cpu_ids) + 1;
#endif
}

static __always_inline void tx_direct(struct sk_buff *skb,
				      const struct cairn_path *path,
				      struct dst_entry *dst)
{
	skb->protocol = path->ipv6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	skb_dst_set_noref(skb, dst);
	skb->dev = dst->dev;
	skb->priority = rt_tos2priority(path->tos);
	tx_pin_flow(skb, path);
	cairn_net_settle();
}

/* Give the packet to the IP stack. @ignores_icmp: the route admits it but for an ICMP
 * message. Return: false when it was dropped.
 */
static __always_inline bool tx_out(struct cairn_nic *nic, struct sk_buff *skb,
				   bool ignores_icmp)
{
	struct sock *sk = unlikely(ignores_icmp) ? cairn_mtu_ignore(skb) : NULL;
	int err;

#if IS_ENABLED(CONFIG_IPV6)
	if (skb->protocol == htons(ETH_P_IPV6))
		err = ip6_local_out(nic->net, NULL, skb);
	else
#endif
		err = ip_local_out(nic->net, sk, skb);
	return !net_xmit_eval(err);
}

void cairn_net_tx_keep(struct sk_buff *skb, const struct cairn_path *path,
		       struct dst_entry *dst)
{
	tx_direct(skb, path, dst);
	if (!skb_dst_force(skb))
		skb_dst_drop(skb);
	/* The route keeps its netdev, or changes it. */
	skb->dev = NULL;
}

bool cairn_net_tx_kept(struct cairn_nic *nic, struct sk_buff *skb)
{
	struct dst_entry *dst = skb_dst(skb);

	if (!dst) {
		kfree_skb(skb);
		return false;
	}
	skb->dev = dst->dev;
	/* A train counts as too long. That changes nothing, as its packets were measured. */
	return tx_out(nic, skb, skb->len > dst_mtu(dst));
}

bool cairn_net_tx_send(struct cairn_nic *nic, struct cairn_frame *frame,
		       const struct cairn_path *path, struct dst_entry *dst)
{
	if (frame->counted && !cairn_room_take(frame->counted, frame->skb)) {
		kfree_skb(frame->skb);
		return false;
	}
	tx_direct(frame->skb, path, dst);
	return tx_out(nic, frame->skb, frame->ignores_icmp);
}

void cairn_net_tx_count(struct cairn_nic *nic, u32 packets, u32 bytes,
			bool left, enum cairn_counter why)
{
	cairn_nic_count(nic, CAIRN_CTR_TX_TRAINS, 1);
	if (!left) {
		cairn_nic_count(nic, why, packets);
		return;
	}
	cairn_nic_count(nic, CAIRN_CTR_TX_PACKETS, packets);
	cairn_nic_count(nic, CAIRN_CTR_TX_BYTES, bytes);
}

/* Allocate the skb for a train that @frame measures. Return: the route, or NULL
 * when the train is lost; then @why is the counter for it.
 */
static struct dst_entry *tx_begin(struct cairn_nic *nic,
				  struct cairn_frame *frame,
				  struct cairn_path *path,
				  const struct cairn_train *train,
				  enum cairn_counter *why)
{
	struct dst_entry *dst = cairn_net_route(nic, path);

	*why = CAIRN_CTR_TX_NOROUTE;
	if (!dst)
		return NULL;
	*why = CAIRN_CTR_TX_DROPPED;
	if (!cairn_frame_fits(frame, dst) || !cairn_frame_alloc(frame, dst))
		return NULL;
	frame->id = train->first.psn;
	cairn_frame_template(frame, path, train->ect);
	return dst;
}

/* Send packets that are not joined to others. Return: as cairn_net_xmit(). */
static u32 tx_send_alone(struct cairn_nic *nic, struct cairn_path *path,
			 const struct cairn_packets *packets,
			 struct cairn_frame *frame)
{
	const struct cairn_train *train = packets->train;
	enum cairn_counter why;
	struct dst_entry *dst;
	bool left = false;
	u32 n;

	dst = tx_begin(nic, frame, path, train, &why);
	if (dst) {
		n = cairn_frame_fill(nic, frame, packets);
		if (n < train->count) {
			kfree_skb(frame->skb);
			return n;
		}
		cairn_frame_finish(frame, train->count, dst);
		left = cairn_net_tx_send(nic, frame, path, dst);
	}
	cairn_net_tx_count(nic, train->count, train->length, left, why);
	return train->count;
}

/* Begin a copy for a receiver on this host. Return: false without memory. The
 * train is lost then.
 */
static bool tx_local_begin(struct cairn_nic *nic, struct cairn_frame *frame,
			   struct cairn_path *path,
			   const struct cairn_train *train)
{
	cairn_frame_measure(frame, path, train);
	frame->local = true;
	frame->id = train->first.psn;
	if (!cairn_frame_alloc(frame, path->dst)) {
		cairn_nic_count(nic, CAIRN_CTR_TX_DROPPED, train->count);
		return false;
	}
	cairn_frame_template(frame, path, train->ect);
	return true;
}

static void tx_local_count(struct cairn_nic *nic, const struct cairn_path *path,
			   u32 count)
{
	cairn_nic_count(nic, CAIRN_CTR_LOOPBACK_PACKETS, count);
	if (!path->local)
		cairn_nic_count(nic, CAIRN_CTR_FABRIC_PACKETS, count);
}

/* The copy is complete: hand it over. */
static void tx_local_leave(struct cairn_nic *nic, struct cairn_frame *frame,
			   const struct cairn_path *path, u32 count,
			   const struct cairn_local *to)
{
	cairn_frame_finish(frame, count, path->dst);
	frame->skb->protocol = htons(path->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	/* The receiver of a datagram gets the header, too. */
	if (!path->ipv6)
		ip_send_check(ip_hdr(frame->skb));
	tx_local_count(nic, path, count);
	cairn_nic_count(nic, CAIRN_CTR_LOOPBACK_QUEUED, count);
	cairn_net_rx_local(to, frame->skb, frame->stride, path->qpn);
}

/* Hand a train to its receiver without a copy, if that is possible now. */
static bool tx_local_hand(struct cairn_path *path,
			  const struct cairn_packets *packets,
			  const struct cairn_local *to)
{
	struct cairn_parcel parcel = {
		.train = packets->train,
		.path = path,
		.ifindex = to->ifindex,
		.bytes = packets->train->inline_data,
		.bv = packets->bv,
		.at = packets->bv,
	};

	return cairn_local_hand(to, &parcel);
}

/* Send to a receiver on this host. Messages are copied, because a later one may
 * fail after the first ones were received. They are short. Return: as
 * cairn_net_xmit().
 */
static u32 tx_local_send(struct cairn_nic *nic, struct cairn_path *path,
			 const struct cairn_packets *packets,
			 const struct cairn_local *to)
{
	u32 count = packets->train->count, n;
	struct cairn_frame frame;

	cairn_net_settle();
	if (!packets->next && tx_local_hand(path, packets, to)) {
		tx_local_count(nic, path, count);
		return count;
	}
	if (!tx_local_begin(nic, &frame, path, packets->train))
		return count;
	n = cairn_frame_fill(nic, &frame, packets);
	if (n < count)
		kfree_skb(frame.skb);
	else
		tx_local_leave(nic, &frame, path, count, to);
	return n;
}

u32 cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		   const struct cairn_packets *packets)
{
	const struct cairn_train *train = packets->train;
	struct cairn_frame frame;
	struct cairn_local to;
	struct cairn_open *open;

	if (cairn_local_find(nic, path, &to))
		return tx_local_send(nic, path, packets, &to);
	if (!cairn_local_admits(nic, path, train))
		return train->count;
	if (cairn_fault_on(nic))
		return cairn_faulty_xmit(nic, path, packets);
	cairn_frame_measure(&frame, path, train);
	frame.counted = packets->room;
	open = cairn_plug_join(nic, path, train, &frame);
	return open ? cairn_plug_fill(open, packets, &frame) :
		      tx_send_alone(nic, path, packets, &frame);
}

int cairn_net_tx_start(void)
{
	int err = cairn_mtu_start();

	if (err)
		return err;
	tx_flow_seed = get_random_u32();
	err = cairn_plug_start();
	if (err)
		cairn_mtu_stop();
	return err;
}

void cairn_net_tx_stop(void)
{
	cairn_plug_stop();
	cairn_mtu_stop();
}
