/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_NETDEV_H
#define CAIRN_NET_NETDEV_H

#include <linux/netdevice.h>
#include "device/nic.h"

/* The device that packets of @dev belong to: that of @dev itself, or of a
 * netdev below it (VLAN, bond). NULL: none. RCU read section.
 */
struct cairn_nic *cairn_net_nic(struct net *net, struct net_device *dev);

/* Any device of a namespace. NULL: it has none. RCU read section. */
struct cairn_nic *cairn_net_any(struct net *net);

#endif
