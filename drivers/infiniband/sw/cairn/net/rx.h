/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_RX_H
#define CAIRN_NET_RX_H

#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include "net/local.h"

#ifndef CONFIG_NETFILTER
#error "Packets are received by netfilter hooks: this needs CONFIG_NETFILTER."
#endif

/* The receive hooks of a network namespace. */
#define CAIRN_NET_HOOKS		(1 + IS_ENABLED(CONFIG_IPV6))
extern const struct nf_hook_ops cairn_net_hooks[CAIRN_NET_HOOKS];

/**
 * cairn_net_rx_local() - receive a copy of packets that did not leave this host
 * @to: the device that has the destination
 * @skb: IP and UDP header, then packets of @stride bytes, the last may be
 *	shorter. The ICRCs are not checked. skb->protocol gives the IP version.
 *	Consumed.
 * @stride: bytes
 * @sender: number of the connected queue pair that sends; 0: datagrams
 *
 * Context: below cairn_cpu_lock() and a side lock of the sender, RCU read
 * section.
 */
void cairn_net_rx_local(const struct cairn_local *to, struct sk_buff *skb,
			u32 stride, u32 sender);

#endif
