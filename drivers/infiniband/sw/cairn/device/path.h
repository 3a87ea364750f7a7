/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How packets of one QP side (or address handle) reach the peer: filled from
 * the address vector by verbs/, used and cached by net/.
 */
#ifndef CAIRN_DEVICE_PATH_H
#define CAIRN_DEVICE_PATH_H

#include <linux/in6.h>
#include <linux/uidgid.h>
#include <net/dst.h>

struct cairn_nic;
struct sk_buff;

struct cairn_path {
	/* Constant once the path is set; a change replaces the whole. */
	bool ipv6;
	u8 tos;			/* traffic class without ECN */
	u8 ttl;			/* hop limit */
	bool queued;		/* of the route cache, below */
	__be16 sport;		/* UDP source port */
	bool local;		/* the same */
	__be32 flow_label;	/* IPv6, 20 bits */
	int ifindex;		/* netdev of the source GID (a VLAN, perhaps) */
	struct in6_addr saddr;	/* IPv4 mapped when !ipv6 */
	struct in6_addr daddr;
	u32 kbps;		/* static rate, kbit/s; 0: the port's */
	u32 qpn;		/* of the connected QP that sends; 0: datagrams */
	kuid_t uid;		/* for routing rules; the kernel's own paths: 0 */

	/*
	 * Route cache; the user of the path holds its lock. @queued: packets wait in a
	 * queue of the sender's CPU. @local: the route does not leave this host.
	 */
	u32 dst_cookie;
	struct dst_entry *dst;
};

/* Forget the cached route. The user's lock, or no user left. */
static inline void cairn_path_drop_route(struct cairn_path *path)
{
	dst_release(path->dst);
	path->dst = NULL;
}

/**
 * cairn_path_to_netdev() - was a packet sent to an address of its netdev?
 * @nic: the device
 * @skb: the packet, with its IP header
 * @ifindex: the netdev that received it; a VLAN or another upper netdev is a
 *	network of its own
 * @ipv6: which header it has
 *
 * Groups are those of the device's netdev. Context: RCU read section.
 */
bool cairn_path_to_netdev(const struct cairn_nic *nic,
			  const struct sk_buff *skb, int ifindex, bool ipv6);

/**
 * cairn_path_from_peer() - was a packet sent by the peer of a path to its source?
 * @path: of a connection; the user's lock
 * @skb: the packet, with its IP header
 * @ifindex: the netdev that received it
 * @ipv6: which header it has
 */
bool cairn_path_from_peer(const struct cairn_path *path,
			  const struct sk_buff *skb, int ifindex, bool ipv6);

/* Does @other lead from the peer of @path to the source of @path, the netdev @ifindex? */
bool cairn_path_is_reverse(const struct cairn_path *path,
			   const struct cairn_path *other, int ifindex);

#endif
