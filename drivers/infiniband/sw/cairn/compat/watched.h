/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packet sockets and programs that see the packets of a netdev. With CONFIG_NET_XGRESS,
 * of 6.6, the members for traffic control have other names.
 */
#ifndef CAIRN_COMPAT_WATCHED_H
#define CAIRN_COMPAT_WATCHED_H

#include <linux/netdevice.h>

static inline bool cairn_watched_filtered(const struct net_device *dev)
{
#if defined(CONFIG_NET_XGRESS)
	return rcu_access_pointer(dev->tcx_ingress) ||
	       rcu_access_pointer(dev->tcx_egress);
#elif defined(CONFIG_NET_CLS_ACT)
	return rcu_access_pointer(dev->miniq_ingress) ||
	       rcu_access_pointer(dev->miniq_egress);
#else
	return false;
#endif
}

static inline bool cairn_watched_netdev(struct net_device *dev)
{
	return dev_nit_active(dev) || dev_xdp_prog_count(dev) ||
	       cairn_watched_filtered(dev);
}

#endif
