// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: a netfilter hook in each namespace that has a device takes the
 * packets that are ours where the stack delivers them to this host: trains
 * arrive whole there, and the administrator's filter rules have been applied.
 *
 * The packets of a train, an skb that was never segmented or that GRO made of
 * several, are checked as they looked or would have looked on the wire: with
 * their own lengths and, for IPv4, an id that rises by one per packet (that is
 * what segmentation does) or stays the same (what some senders do). GRO puts no
 * others together. Consecutive packets of one QP side go to it together.
 *
 * The UDP checksum is not looked at: the ICRC covers all that it covers.
 */
#include <linux/bottom_half.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include "lane/exec.h"
#include "lane/mrcache.h"
#include "net/internal.h"
#include "wire/icrc.h"

/* After all filters; before connection tracking confirms, which is last. */
#define CAIRN_HOOK_PRIORITY	(NF_IP_PRI_LAST - 1)

/* The shortest packet: BTH and ICRC. */
#define CAIRN_MIN_PACKET	(sizeof(struct cairn_bth) + CAIRN_ICRC_LEN)

/* An skb and what the checks of its packets need. */
struct arrival {
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
	bool ipv6;
	bool ce;		/* of the skb's header, hence of all packets */
	bool train;		/* headers are to be made per packet */
	bool fixed_id;
};

/* Packets in sequence for one QP side. */
struct batch {
	struct cairn_exec *exec;	/* NULL: empty */
	enum cairn_side_id side;
	u32 offset;
	u32 len;
};

/* The headers that packet @k, of @len bytes from BTH on, had on the wire. */
static void wire_headers(struct arrival *a, u32 k, u32 len)
{
	a->udp.len = htons(sizeof(a->udp) + len);
	if (a->ipv6) {
		a->ip.v6.payload_len = a->udp.len;
		return;
	}
	a->ip.v4.tot_len = htons(sizeof(a->ip.v4) + sizeof(a->udp) + len);
	a->ip.v4.id = htons((u16)(a->id + (a->fixed_id ? 0 : k)));
}

/* Continue an ICRC over bytes of an skb wherever they lie. */
static u32 icrc_bytes(struct sk_buff *skb, u32 offset, u32 len, u32 crc)
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

static bool icrc_fits(struct arrival *a, u32 offset, u32 len)
{
	u32 covered = len - CAIRN_ICRC_LEN;
	u32 head = min_t(u32, covered, CAIRN_MAX_HDR);
	u8 buf[CAIRN_MAX_HDR];
	const u8 *bth = skb_header_pointer(a->skb, offset, head, buf);
	__le32 icrc;
	u32 crc;

	if (!bth || skb_copy_bits(a->skb, offset + covered, &icrc, sizeof(icrc)))
		return false;
	if (a->ipv6)
		crc = cairn_icrc_headers6(a->ip.bytes, (u8 *)&a->udp, bth, head);
	else
		crc = cairn_icrc_headers4(a->ip.bytes, (u8 *)&a->udp, bth, head);
	crc = icrc_bytes(a->skb, offset + head, covered - head, crc);
	return cairn_icrc_finish(crc) == icrc;
}

static bool verify(struct arrival *a, u32 k, u32 offset, u32 len)
{
	if (a->train)
		wire_headers(a, k, len);
	if (icrc_fits(a, offset, len))
		return true;
	if (!a->train || a->ipv6 || !k || a->fixed_id)
		return false;
	a->fixed_id = true;
	wire_headers(a, k, len);
	if (icrc_fits(a, offset, len))
		return true;
	a->fixed_id = false;
	return false;
}

/*
 * Check packet @k, of @len bytes at @offset, and find whose it is. Returns
 * NULL when it is to be dropped.
 */
static struct cairn_exec *check_packet(struct arrival *a, u32 k, u32 offset,
				       u32 len, enum cairn_side_id *side)
{
	struct cairn_nic *nic = a->nic;
	struct cairn_exec *x;
	u8 buf[CAIRN_MAX_HDR];
	struct cairn_pkt pkt;
	const u8 *hdr;

	hdr = skb_header_pointer(a->skb, offset, min_t(u32, len, sizeof(buf)),
				 buf);
	if (!hdr || cairn_pkt_parse(&pkt, hdr, len)) {
		cairn_nic_count(nic, CAIRN_CTR_RX_MALFORMED, 1);
		return NULL;
	}
	/* Its memory is fetched while the ICRC is computed. */
	if (nic->mrcaches &&
	    pkt.op->hdrs & (CAIRN_HDR_RETH | CAIRN_HDR_ATOMICETH))
		cairn_mrcaches_ahead(nic->mrcaches, pkt.rkey);
	if (!verify(a, k, offset, len)) {
		cairn_nic_count(nic, CAIRN_CTR_RX_ICRC_ERRORS, 1);
		return NULL;
	}
	cairn_nic_count(nic, CAIRN_CTR_RX_PACKETS, 1);
	cairn_nic_count(nic, CAIRN_CTR_RX_BYTES, pkt.payload_len);
	x = xa_load(&nic->qps, pkt.qpn);
	if (!x)
		cairn_nic_count(nic, CAIRN_CTR_RX_NO_QP, 1);
	*side = pkt.op->flags & CAIRN_OP_RESPONSE ? CAIRN_REQ : CAIRN_RESP;
	return x;
}

/* Give the packets of @b to their QP. Consumes @skb. */
static void deliver(const struct arrival *a, const struct batch *b,
		    struct sk_buff *skb)
{
	*cairn_rx_cb(skb) = (struct cairn_rx_cb){
		.offset = b->offset,
		.len = b->len,
		.stride = min(a->stride, b->len),
		.vlan = a->vlan,
		.ipv6 = a->ipv6,
		.ce = a->ce,
	};
	cairn_exec_rx(b->exec, b->side, skb);
}

/* Others follow: they need the skb as well. */
static void deliver_clone(const struct arrival *a, const struct batch *b)
{
	struct sk_buff *skb = skb_clone(a->skb, GFP_ATOMIC | __GFP_NOWARN);

	if (skb)
		deliver(a, b, skb);
	else
		cairn_nic_count(a->nic, CAIRN_CTR_RX_OVERFLOW,
				DIV_ROUND_UP(b->len, a->stride));
}

/* Check and deliver all packets of an skb, which is consumed. */
static void receive(struct arrival *a)
{
	struct batch b = {};
	u32 k, done, len;

	if (a->train)
		cairn_nic_count(a->nic, CAIRN_CTR_RX_TRAINS, 1);
	for (k = 0, done = 0; done < a->len; k++, done += len) {
		struct cairn_exec *x;
		enum cairn_side_id side = CAIRN_RESP;

		len = min(a->stride, a->len - done);
		x = check_packet(a, k, a->offset + done, len, &side);
		if (!x)
			continue;
		if (x == b.exec && side == b.side &&
		    b.offset + b.len == a->offset + done) {
			b.len += len;
			continue;
		}
		if (b.exec)
			deliver_clone(a, &b);
		b = (struct batch){
			.exec = x,
			.side = side,
			.offset = a->offset + done,
			.len = len,
		};
	}
	if (b.exec)
		deliver(a, &b, a->skb);
	else
		kfree_skb(a->skb);
}

static bool is_train(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4 &&
	       skb_shinfo(skb)->gso_size >= CAIRN_MIN_PACKET;
}

/* Where the packets lie in the skb. False: nowhere. */
static bool find_packets(struct arrival *a)
{
	u32 udp_len = ntohs(a->udp.len);

	if (a->skb->len < a->offset + CAIRN_MIN_PACKET)
		return false;
	a->train = skb_is_gso(a->skb);
	if (a->train) {
		a->len = a->skb->len - a->offset;
		a->stride = skb_shinfo(a->skb)->gso_size;
		return is_train(a->skb);
	}
	/* Bytes after the datagram are none of it. */
	if (udp_len < sizeof(a->udp) + CAIRN_MIN_PACKET)
		return false;
	a->len = udp_len - sizeof(a->udp);
	a->stride = a->len;
	return a->len <= a->skb->len - a->offset;
}

/* The skb is ours from here on. @ip_len: with options. */
static unsigned int take(struct arrival *a, u32 ip_len, bool plain)
{
	a->offset = skb_network_offset(a->skb) + ip_len + sizeof(a->udp);
	if (plain && find_packets(a)) {
		local_bh_disable();	/* a re-injecting queue may run us */
		receive(a);
		local_bh_enable();
	} else {
		cairn_nic_count(a->nic, CAIRN_CTR_RX_MALFORMED, 1);
		kfree_skb(a->skb);
	}
	return NF_STOLEN;
}

/* Is this a RoCEv2 packet for a device of ours? Then @a has nic and udp.
 * @owner: the netdev whose packets these are.
 */
static bool is_ours(struct arrival *a, struct net *net,
		    struct net_device *owner)
{
	a->nic = owner ? cairn_net_nic(net, owner) : NULL;
	a->vlan = CAIRN_NO_VLAN;
	if (a->nic && is_vlan_dev(owner))
		a->vlan = vlan_dev_vlan_id(owner);
	return a->nic;
}

static bool is_roce(struct arrival *a, u32 ip_len)
{
	return !skb_copy_bits(a->skb, skb_network_offset(a->skb) + ip_len,
			      &a->udp, sizeof(a->udp)) &&
	       a->udp.dest == htons(CAIRN_UDP_PORT);
}

static unsigned int rx4(void *priv, struct sk_buff *skb,
			const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct net_device *owner = skb->dev;
	struct arrival a = { .skb = skb };

	if (ip->protocol != IPPROTO_UDP || !is_roce(&a, ip->ihl * 4))
		return NF_ACCEPT;
	/* From this host: it belongs to who owns the destination. */
	if (owner->flags & IFF_LOOPBACK)
		owner = __ip_dev_find(state->net, ip->daddr, false);
	if (!is_ours(&a, state->net, owner))
		return NF_ACCEPT;
	a.ip.v4 = *ip;
	a.id = ntohs(ip->id);
	a.ce = INET_ECN_is_ce(ip->tos);
	return take(&a, ip->ihl * 4, ip->ihl == 5 && !ip_is_fragment(ip));
}

#if IS_ENABLED(CONFIG_IPV6)
static unsigned int rx6(void *priv, struct sk_buff *skb,
			const struct nf_hook_state *state)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	struct net_device *owner = skb->dev;
	struct arrival a = { .skb = skb, .ipv6 = true };

	/* RoCEv2 has no extension headers. */
	if (ip->nexthdr != IPPROTO_UDP || !is_roce(&a, sizeof(*ip)))
		return NF_ACCEPT;
	if (owner->flags & IFF_LOOPBACK)
		owner = ipv6_dev_find(state->net, &ip->daddr, NULL);
	if (!is_ours(&a, state->net, owner))
		return NF_ACCEPT;
	a.ip.v6 = *ip;
	a.ce = INET_ECN_is_ce(ipv6_get_dsfield(ip));
	return take(&a, sizeof(*ip), true);
}
#endif

const struct nf_hook_ops cairn_net_hooks[CAIRN_NET_HOOKS] = {
	{
		.hook = rx4,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = CAIRN_HOOK_PRIORITY,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = rx6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = CAIRN_HOOK_PRIORITY,
	},
#endif
};
