// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups of the netdev. The stack reports them to the network (IGMP,
 * MLD), makes the netdev receive their MAC addresses, and delivers their
 * packets to the receive hooks.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include "net/net.h"

static int group_join4(struct net_device *ndev, __be32 addr)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!in_dev)
		return -EADDRNOTAVAIL;
	ip_mc_inc_group(in_dev, addr);
	return 0;
}

/* If the in_device was freed, the membership ended with it. */
static void group_leave4(struct net_device *ndev, __be32 addr)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (in_dev)
		ip_mc_dec_group(in_dev, addr);
}

static int group_join6(struct net_device *ndev, const struct in6_addr *addr)
{
	if (!ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	return ipv6_dev_mc_inc(ndev, addr);
}

static void group_leave6(struct net_device *ndev, const struct in6_addr *addr)
{
	if (IS_ENABLED(CONFIG_IPV6))
		ipv6_dev_mc_dec(ndev, addr);
}

int cairn_net_join(struct cairn_nic *nic, const struct in6_addr *addr)
{
	int err;

	rtnl_lock();
	/* A netdev that is being unregistered has left its groups already. */
	if (nic->removed)
		err = -ENODEV;
	else if (ipv6_addr_v4mapped(addr))
		err = group_join4(nic->ndev, addr->s6_addr32[3]);
	else
		err = group_join6(nic->ndev, addr);
	rtnl_unlock();
	return err;
}

void cairn_net_leave(struct cairn_nic *nic, const struct in6_addr *addr)
{
	rtnl_lock();
	if (!nic->removed) {
		if (ipv6_addr_v4mapped(addr))
			group_leave4(nic->ndev, addr->s6_addr32[3]);
		else
			group_leave6(nic->ndev, addr);
	}
	rtnl_unlock();
}
