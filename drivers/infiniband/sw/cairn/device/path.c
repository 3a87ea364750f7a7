// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include "device/nic.h"
#include "device/path.h"

static bool path_has_address4(const struct net_device *dev, __be32 addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (ifa->ifa_local == addr)
			return true;
	return false;
}

static bool path_has_address6(const struct cairn_nic *nic,
			      const struct net_device *dev,
			      const struct in6_addr *addr)
{
	struct net *net = READ_ONCE(nic->net);

	return IS_ENABLED(CONFIG_IPV6) && net &&
	       ipv6_chk_addr(net, addr, dev, 1);
}

/* Has the netdev of @nic the address, of the family of @path? */
static bool path_owns(const struct cairn_path *path, const struct cairn_nic *nic,
		      const struct in6_addr *addr)
{
	return path->ipv6 ? path_has_address6(nic, nic->ndev, addr) :
			    path_has_address4(nic->ndev, addr->s6_addr32[3]);
}

bool cairn_path_ends_at(const struct cairn_path *path,
			const struct cairn_nic *nic)
{
	return path_owns(path, nic, &path->daddr);
}

bool cairn_path_begins_at(const struct cairn_path *path,
			  const struct cairn_nic *nic)
{
	return path_owns(path, nic, &path->saddr);
}

static bool path_to_group(const struct sk_buff *skb, bool ipv6)
{
	return ipv6 ? ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr) :
		      ipv4_is_multicast(ip_hdr(skb)->daddr);
}

bool cairn_path_to_netdev(const struct cairn_nic *nic,
			  const struct sk_buff *skb, int ifindex, bool ipv6)
{
	struct net_device *dev = dev_get_by_index_rcu(nic->net, ifindex);

	if (path_to_group(skb, ipv6))
		return dev == nic->ndev;
	if (!dev)
		return false;
	if (!ipv6)
		return path_has_address4(dev, ip_hdr(skb)->daddr);
	return path_has_address6(nic, dev, &ipv6_hdr(skb)->daddr);
}

static bool path_from_peer4(const struct cairn_path *path,
			    const struct iphdr *ip)
{
	return !path->ipv6 && ip->saddr == path->daddr.s6_addr32[3] &&
	       ip->daddr == path->saddr.s6_addr32[3];
}

static bool path_from_peer6(const struct cairn_path *path,
			    const struct ipv6hdr *ip)
{
	return path->ipv6 && ipv6_addr_equal(&ip->saddr, &path->daddr) &&
	       ipv6_addr_equal(&ip->daddr, &path->saddr);
}

bool cairn_path_from_peer(const struct cairn_path *path,
			  const struct sk_buff *skb, int ifindex, bool ipv6)
{
	if (ifindex != path->ifindex)
		return false;
	return ipv6 ? path_from_peer6(path, ipv6_hdr(skb)) :
		      path_from_peer4(path, ip_hdr(skb));
}

bool cairn_path_is_reverse(const struct cairn_path *path,
			   const struct cairn_path *other, int ifindex)
{
	return ifindex == path->ifindex && other->ipv6 == path->ipv6 &&
	       ipv6_addr_equal(&other->saddr, &path->daddr) &&
	       ipv6_addr_equal(&other->daddr, &path->saddr);
}
