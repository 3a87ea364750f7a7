// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Finds the route of a path and caches it in the path. */
#include <linux/inetdevice.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "compat/flow.h"
#include "net/routing.h"
#include "wire/hdr.h"

/*
 * The path is bound to the netdev of its source GID. Packets to an address of
 * another netdev of this host would leave there, come back and be dropped as
 * martians. Without the binding the routing tables find the loopback route.
 */
static int route_oif4(struct net *net, const struct cairn_path *path,
		      __be32 daddr)
{
	struct net_device *owner = __ip_dev_find(net, daddr, false);

	return owner && owner->ifindex != path->ifindex ? 0 : path->ifindex;
}

static struct dst_entry *route_lookup4(struct net *net,
				       const struct cairn_path *path)
{
	struct flowi4 fl = {
		.flowi4_oif = route_oif4(net, path, path->daddr.s6_addr32[3]),
		.flowi4_proto = IPPROTO_UDP,
		.flowi4_uid = path->uid,
		.saddr = path->saddr.s6_addr32[3],
		.daddr = path->daddr.s6_addr32[3],
		.fl4_sport = path->sport,
		.fl4_dport = htons(CAIRN_UDP_PORT),
	};
	struct rtable *rt;

	cairn_flow4_set_tos(&fl, path->tos);
	rt = ip_route_output_flow(net, &fl, NULL);
	if (IS_ERR(rt))
		return NULL;
	/* Refused, as for a socket without SO_BROADCAST. */
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return NULL;
	}
	return &rt->dst;
}

static struct dst_entry *route_lookup6(struct net *net,
				       const struct cairn_path *path)
{
	struct flowi6 fl = {
		.flowi6_oif = path->ifindex,
		.flowlabel = ip6_make_flowinfo(path->tos, path->flow_label),
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = path->uid,
		.saddr = path->saddr,
		.daddr = path->daddr,
		.fl6_sport = path->sport,
		.fl6_dport = htons(CAIRN_UDP_PORT),
	};
	struct dst_entry *dst;

	/* With ipv6.disable=1 there are no routing tables either. */
	if (!ipv6_mod_enabled())
		return NULL;
	dst = ip6_dst_lookup_flow(net, NULL, &fl, NULL);
	return IS_ERR(dst) ? NULL : dst;
}

/* dst_check() compares this cookie to notice that the table changed. */
static u32 route_cookie6(struct dst_entry *dst)
{
	if (!IS_ENABLED(CONFIG_IPV6))
		return 0;
	return rt6_get_cookie(container_of(dst, struct rt6_info, dst));
}

/* A route with an IPsec transformation does not count: IPsec needs its packets.
 */
static bool route_is_local(const struct dst_entry *dst)
{
	return dst->dev->flags & IFF_LOOPBACK && !dst_xfrm(dst);
}

struct dst_entry *cairn_net_route(struct cairn_nic *nic,
				  struct cairn_path *path)
{
	struct net *net = nic->net;

	if (path->dst && dst_check(path->dst, path->dst_cookie))
		return path->dst;
	cairn_path_drop_route(path);
	path->dst = path->ipv6 ? route_lookup6(net, path) :
				 route_lookup4(net, path);
	if (!path->dst)
		return NULL;
	if (path->ipv6)
		path->dst_cookie = route_cookie6(path->dst);
	/* Netdevs without hardware: veth, lo, and netdevs stacked on them. */
	path->queued = !path->dst->dev->dev.parent;
	path->local = route_is_local(path->dst);
	return path->dst;
}
