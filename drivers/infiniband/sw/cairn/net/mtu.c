// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The stack compares a packet with the MTU of the netdev, not with that of the route, if the
 * packet is sent with a socket of cairn_room_create_socket().
 */
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/rtnetlink.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/xfrm.h>
#include "lane/room.h"
#include "net/mtu.h"

static struct socket *mtu_socket;

static u32 mtu_given4(const struct dst_entry *dst)
{
	return dst_metric_raw(dst, RTAX_MTU) ?: READ_ONCE(dst->dev->mtu);
}

/* A message changes a copy of the route. */
static u32 mtu_given6(const struct dst_entry *dst)
{
	const struct rt6_info *rt = container_of(dst, struct rt6_info, dst);
	const struct fib6_info *from = rcu_dereference(rt->from);

	return (from ? from->fib6_pmtu : 0) ?: READ_ONCE(rt->rt6i_idev->cnf.mtu6);
}

/* Transformations make a packet longer than it is here. */
bool cairn_mtu_admits(const struct dst_entry *dst, bool ipv6, u32 len)
{
	if (dst_xfrm(dst) || dst->lwtstate)
		return false;
	return len <= READ_ONCE(dst->dev->mtu) &&
	       len <= (ipv6 ? mtu_given6(dst) : mtu_given4(dst));
}

struct sock *cairn_mtu_ignore(struct sk_buff *skb)
{
	struct sock *sk = mtu_socket->sk;

	if (skb->protocol == htons(ETH_P_IP))
		return sk;
	if (!skb->sk) {
		sock_hold(sk);
		skb->sk = sk;
		skb->destructor = sock_efree;
	}
	return NULL;
}

int cairn_mtu_start(void)
{
	return cairn_room_create_socket(&mtu_socket);
}

/* Packets in the network stack have references to it. */
void cairn_mtu_stop(void)
{
	sock_release(mtu_socket);
}
