// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Headers and payload of a received packet, for env.c. */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <rdma/cairn-abi.h>
#include "lane/exec.h"
#include "net/net.h"

/* The module owns the packet's sk_buff, so it may use the control block. */
static struct sk_buff *payload_skb(const struct cairn_pkt *pkt)
{
	return (struct sk_buff *)pkt->cookie;
}

/* Restore the header of the single packet: in a train it has the train's
 * length.
 */
static void payload_set_length(u8 *ip, bool ipv6, const struct cairn_pkt *pkt)
{
	__be16 len = htons(sizeof(struct udphdr) + pkt->payload_off +
			   pkt->payload_len + pkt->pad + CAIRN_ICRC_LEN);
	struct iphdr v4;

	if (ipv6) {
		memcpy(ip + offsetof(struct ipv6hdr, payload_len), &len,
		       sizeof(len));
		return;
	}
	memcpy(&v4, ip, sizeof(v4));
	v4.tot_len = htons(ntohs(len) + sizeof(v4));
	ip_send_check(&v4);
	memcpy(ip, &v4, sizeof(v4));
}

void cairn_net_grh(const struct cairn_pkt *pkt, u8 *grh)
{
	struct sk_buff *skb = payload_skb(pkt);
	const struct cairn_rx_cb *cb = cairn_rx_cb(skb);
	u32 len = CAIRN_GRH_LEN, skip = 0;

	if (!cb->ipv6) {
		skip = CAIRN_GRH_LEN - sizeof(struct iphdr);
		len = sizeof(struct iphdr);
	}
	memset(grh, 0, skip);
	if (skb_copy_bits(skb, skb_network_offset(skb), grh + skip, len))
		memset(grh + skip, 0, len);
	else if (cb->stride < cb->len || skb_is_gso(skb))
		payload_set_length(grh + skip, cb->ipv6, pkt);
}

u16 cairn_net_grh_flags(const struct cairn_pkt *pkt, u16 *vlan)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(payload_skb(pkt));
	u16 flags = CAIRN_CQE_GRH;

	if (!cb->ipv6)
		flags |= CAIRN_CQE_IPV4;
	if (cb->vlan != CAIRN_NO_VLAN) {
		*vlan = cb->vlan;
		flags |= CAIRN_CQE_VLAN;
	}
	return flags;
}

int cairn_net_copy_payload(const struct cairn_pkt *pkt, u32 offset, void *to,
			   u32 len)
{
	if (pkt->handed)
		return cairn_parcel_copy(pkt, offset, to, len);
	return skb_copy_bits(payload_skb(pkt),
			     pkt->base + pkt->payload_off + offset, to, len);
}

int cairn_net_copy_words(const struct cairn_pkt *pkt, u32 offset,
			 struct cairn_words *words, u8 *to, u32 len)
{
	u32 from = pkt->base + pkt->payload_off + offset, done = 0, n;
	struct skb_seq_state seq;
	const u8 *piece;

	if (pkt->handed)
		return cairn_parcel_copy_words(pkt, offset, words, to, len);
	skb_prepare_seq_read(payload_skb(pkt), from, from + len, &seq);
	while (done < len) {
		n = min(skb_seq_read(done, &piece, &seq), len - done);
		if (!n)
			break;
		cairn_words_put(words, to + done, piece, n);
		done += n;
	}
	skb_abort_seq_read(&seq);
	return done < len ? -EFAULT : 0;
}
