/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_NETDEV_H
#define CAIRN_NET_NETDEV_H

#include <linux/netdevice.h>
#include <net/addrconf.h>
#include "device/nic.h"

/* The device that packets of @dev belong to: that of @dev itself, or of a
 * netdev below it (VLAN, bond). NULL: none. RCU read section.
 */
struct cairn_nic *cairn_net_nic(struct net *net, struct net_device *dev);

/* Any device of a namespace. NULL: it has none. RCU read section. */
struct cairn_nic *cairn_net_any(struct net *net);

/* The netdev of this host that has the address: @dev if it has it, or another one. Several
 * may have the same link-local address, and a port of a VRF is found only as @dev, which
 * may be NULL. RCU read section.
 */
static inline struct net_device *
cairn_net_owner6(struct net *net, const struct in6_addr *addr,
		 struct net_device *dev)
{
	return !IS_ENABLED(CONFIG_IPV6) ? NULL :
	       ipv6_dev_find(net, addr, dev) ?: ipv6_dev_find(net, addr, NULL);
}

#endif
