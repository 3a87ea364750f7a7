/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of net/ share among themselves. */
#ifndef CAIRN_NET_INTERNAL_H
#define CAIRN_NET_INTERNAL_H

#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include "net/net.h"

/* rx.c: the receive hooks of a network namespace. */
#define CAIRN_NET_HOOKS		(1 + IS_ENABLED(CONFIG_IPV6))
extern const struct nf_hook_ops cairn_net_hooks[CAIRN_NET_HOOKS];

/* netdev.c: the device to which packets of @dev belong: that of @dev itself,
 * or of a netdev below it (VLAN, bond). NULL: none. RCU read section.
 */
struct cairn_nic *cairn_net_nic(struct net *net, struct net_device *dev);

/**
 * cairn_net_route() - the route of a path, from its cache if still valid
 * @nic: for the netdev's namespace
 * @path: the caller holds its lock
 *
 * Context: BH off, RCU read section, for which the result is valid.
 * Return: the route, NULL when there is none.
 */
struct dst_entry *cairn_net_route(struct cairn_nic *nic,
				  struct cairn_path *path);

#endif
