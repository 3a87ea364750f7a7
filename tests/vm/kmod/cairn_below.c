// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE packets to this host are received below the call that sends them, and not by the
 * backlog of the CPU: so did act_mirred until 6.8, and in the versions of that time. As
 * there, packets that are sent below such a reception take the usual way. The parameter
 * packets counts those that were received so.
 */
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/percpu.h>
#include <linux/udp.h>
#include <net/dst.h>

#define ROCE_PORT	4791

static unsigned int packets;
module_param(packets, uint, 0400);
MODULE_PARM_DESC(packets, "packets that were received below their send");

static DEFINE_PER_CPU(unsigned int, below_depth);

static bool below_is_roce(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct udphdr udp;

	return ip->protocol == IPPROTO_UDP &&
	       !skb_copy_bits(skb, skb_network_offset(skb) + ip->ihl * 4, &udp,
			      sizeof(udp)) &&
	       udp.dest == htons(ROCE_PORT);
}

static unsigned int below_hook(void *priv, struct sk_buff *skb,
			       const struct nf_hook_state *state)
{
	if (!(state->out->flags & IFF_LOOPBACK) || this_cpu_read(below_depth) ||
	    !below_is_roce(skb))
		return NF_ACCEPT;
	this_cpu_inc(below_depth);
	WRITE_ONCE(packets, packets + 1);
	skb_dst_force(skb);
	skb->dev = state->out;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);
	netif_receive_skb(skb);
	this_cpu_dec(below_depth);
	return NF_STOLEN;
}

static const struct nf_hook_ops below_ops = {
	.hook = below_hook,
	.pf = NFPROTO_IPV4,
	.hooknum = NF_INET_POST_ROUTING,
	.priority = NF_IP_PRI_LAST,
};

static int __init cairn_below_init(void)
{
	return nf_register_net_hook(&init_net, &below_ops);
}

static void __exit cairn_below_exit(void)
{
	nf_unregister_net_hook(&init_net, &below_ops);
}

module_init(cairn_below_init);
module_exit(cairn_below_exit);
MODULE_DESCRIPTION("test: packets that are received below their send");
MODULE_LICENSE("Dual BSD/GPL");
