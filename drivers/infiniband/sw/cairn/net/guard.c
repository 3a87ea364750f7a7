// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Drops datagrams to the RoCE port that no device made.
 *
 * A process could use an ordinary socket to send to any queue pair with any
 * PSN, from an address that belongs to a device. Sending raw packets needs
 * CAP_NET_RAW in the namespace, so sending to the RoCE port needs it too. The
 * credentials checked are those with which the socket was opened.
 *
 * A process can also have a socket of the kernel send to a port that it
 * chooses, as AF_RXRPC does for every user. Such a socket is bound to a port.
 * rdma_rxe's sockets are not, as it writes the UDP header itself: they pass, and
 * so do packets without a socket.
 *
 * A forwarded datagram has the address of a device of this namespace only if
 * NAT translated it to that address. Such a datagram is dropped as well.
 *
 * The hooks run after address translation. They see whole datagrams: the stack
 * fragments later, and only raw sockets send fragments of their own.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include "net/guard.h"
#include "net/net.h"
#include "net/netdev.h"

/* After all filters, but before connection tracking confirms, which is last. */
#define GUARD_PRIORITY	(NF_IP_PRI_LAST - 1)

/* Is there a UDP header at @offset, to the RoCE port? */
static bool guard_is_roce(const struct sk_buff *skb, int offset)
{
	const struct udphdr *udp;
	struct udphdr buf;

	udp = skb_header_pointer(skb, offset, sizeof(buf), &buf);
	return udp && udp->dest == htons(CAIRN_UDP_PORT);
}

static bool guard_is_roce4(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);

	return ip->protocol == IPPROTO_UDP &&
	       !(ip->frag_off & htons(IP_OFFSET)) &&
	       guard_is_roce(skb, skb_network_offset(skb) + ip->ihl * 4);
}

/* Does the socket of the kernel belong to a driver that makes RoCE packets? */
static bool guard_kernel_may(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_UDP && !READ_ONCE(inet_sk(sk)->inet_num);
}

/* Was the socket opened with CAP_NET_RAW in @net? */
static bool guard_socket_may(struct sock *sk, const struct net *net)
{
	bool may = false;

	if (!sk_fullsock(sk))
		return true;
	if (sk->sk_kern_sock)
		return guard_kernel_may(sk);
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket && sk->sk_socket->file)
		may = file_ns_capable(sk->sk_socket->file, net->user_ns,
				      CAP_NET_RAW);
	read_unlock_bh(&sk->sk_callback_lock);
	return may;
}

/* Drop, and count it at the device of @owner or else at any of the namespace.
 */
static unsigned int guard_drop(struct net *net, struct net_device *owner)
{
	struct cairn_nic *nic = owner ? cairn_net_nic(net, owner) : NULL;

	nic = nic ?: cairn_net_any(net);
	if (nic)
		cairn_nic_count(nic, CAIRN_CTR_TX_SPOOFED, 1);
	return NF_DROP;
}

/* Has the datagram come in by a netdev? IP6SKB_FORWARDED is for groups only, and would tell
 * nothing here.
 */
static bool guard_is_forwarded(const struct sk_buff *skb)
{
	return skb->skb_iif;
}

static unsigned int guard_sent4(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	if (!state->sk || !guard_is_roce4(skb) ||
	    guard_socket_may(state->sk, state->net))
		return NF_ACCEPT;
	return guard_drop(state->net, __ip_dev_find(state->net,
						    ip_hdr(skb)->saddr, false));
}

static unsigned int guard_forwarded4(void *priv, struct sk_buff *skb,
				     const struct nf_hook_state *state)
{
	struct net_device *owner;

	if (!guard_is_forwarded(skb) || !guard_is_roce4(skb))
		return NF_ACCEPT;
	owner = __ip_dev_find(state->net, ip_hdr(skb)->saddr, false);
	if (!owner || !cairn_net_nic(state->net, owner))
		return NF_ACCEPT;
	return guard_drop(state->net, owner);
}

#if IS_ENABLED(CONFIG_IPV6)
/* A process can add extension headers without any capability: skip them. */
static bool guard_is_roce6(const struct sk_buff *skb)
{
	int at = skb_network_offset(skb) + sizeof(struct ipv6hdr);
	u8 next = ipv6_hdr(skb)->nexthdr;
	__be16 frag_off = 0;

	if (next != IPPROTO_UDP)
		at = ipv6_skip_exthdr(skb, at, &next, &frag_off);
	return at > 0 && next == IPPROTO_UDP &&
	       !(frag_off & htons(IP6_OFFSET)) && guard_is_roce(skb, at);
}

static unsigned int guard_sent6(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	if (!state->sk || !guard_is_roce6(skb) ||
	    guard_socket_may(state->sk, state->net))
		return NF_ACCEPT;
	return guard_drop(state->net, cairn_net_owner6(state->net,
						       &ipv6_hdr(skb)->saddr,
						       state->out));
}

static unsigned int guard_forwarded6(void *priv, struct sk_buff *skb,
				     const struct nf_hook_state *state)
{
	struct net_device *owner;

	if (!guard_is_forwarded(skb) || !guard_is_roce6(skb))
		return NF_ACCEPT;
	owner = cairn_net_owner6(state->net, &ipv6_hdr(skb)->saddr, state->out);
	if (!owner || !cairn_net_nic(state->net, owner))
		return NF_ACCEPT;
	return guard_drop(state->net, owner);
}
#endif

const struct nf_hook_ops cairn_guard_hooks[CAIRN_GUARD_HOOKS] = {
	{
		.hook = guard_sent4,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = GUARD_PRIORITY,
	}, {
		.hook = guard_forwarded4,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_POST_ROUTING,
		.priority = GUARD_PRIORITY,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = guard_sent6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = GUARD_PRIORITY,
	}, {
		.hook = guard_forwarded6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_POST_ROUTING,
		.priority = GUARD_PRIORITY,
	},
#endif
};
