/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The MTU of a route. ICMP messages shorten it ("fragmentation needed", "packet too
 * big"). Every host can send one that the IP stack believes. The path MTU of a queue pair
 * is constant, so one message would end all connections with an address. So what these
 * messages say does not count here, as with hardware. The MTU of the netdev counts, and
 * one that the administrator gave the route.
 */
#ifndef CAIRN_NET_MTU_H
#define CAIRN_NET_MTU_H

#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/sock.h>

/* Module start (0 or a negative errno) and stop. Process context. */
int cairn_mtu_start(void);
void cairn_mtu_stop(void);

/* Would @dst take IP packets of @len bytes, but for an ICMP message? RCU read section. */
bool cairn_mtu_admits(const struct dst_entry *dst, bool ipv6, u32 len);

/**
 * cairn_mtu_ignore() - have the IP stack ignore what ICMP messages said
 * @skb: a packet or train, with its protocol
 *
 * An IPv6 packet needs a socket of its own for that, and gets one if it has none.
 *
 * Context: any.
 * Return: the socket to call ip_local_out() with.
 */
struct sock *cairn_mtu_ignore(struct sk_buff *skb);

#endif
