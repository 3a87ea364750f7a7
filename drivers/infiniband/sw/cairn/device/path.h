/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The path of packets from a QP side or address handle to the peer. verbs/ fills it in
 * from the address vector; net/ uses it and caches the route in it.
 */
#ifndef CAIRN_DEVICE_PATH_H
#define CAIRN_DEVICE_PATH_H

#include <linux/in6.h>
#include <linux/uidgid.h>
#include <net/dst.h>

struct cairn_nic;
struct sk_buff;

struct cairn_path {
	/* All but the route cache is constant; a change replaces the whole path. */
	bool ipv6;
	u8 tos;			/* traffic class without ECN */
	u8 ttl;			/* hop limit */
	bool queued;		/* route cache: its netdev queues packets on the sending CPU */
	__be16 sport;		/* UDP source port */
	bool local;		/* route cache: the route does not leave this host */
	bool handed;		/* route cache: the last train was handed over (net/local.h) */
	__be32 flow_label;	/* IPv6, 20 bits */
	int ifindex;		/* netdev of the source GID; may be a VLAN */
	struct in6_addr saddr;	/* IPv4-mapped if !ipv6 */
	struct in6_addr daddr;
	u32 kbps;		/* static rate, kbit/s; 0: the port's */
	u32 qpn;		/* the connected QP that sends; 0: datagrams */
	kuid_t uid;		/* for routing rules; 0: a path of the kernel */

	/* Route cache, under the lock of the QP side or address handle: */
	u32 dst_cookie;
	struct dst_entry *dst;
};

/* Drop the cached route. Under the lock of the path's user, or without users. */
static inline void cairn_path_drop_route(struct cairn_path *path)
{
	dst_release(path->dst);
	path->dst = NULL;
}

/* Do packets wait in a queue of the sending CPU? Under the lock of the path's user. */
static inline bool cairn_path_waits(const struct cairn_path *path)
{
	return path->queued && !path->handed;
}

/* Does the netdev of @nic itself have the destination of @path? RCU read section. */
bool cairn_path_ends_at(const struct cairn_path *path,
			const struct cairn_nic *nic);

/* ... the source of @path? RCU read section. */
bool cairn_path_begins_at(const struct cairn_path *path,
			  const struct cairn_nic *nic);

/**
 * cairn_path_to_netdev() - was a packet sent to an address of its netdev?
 * @nic: the device
 * @skb: the packet, with its IP header
 * @ifindex: the netdev that received it; a VLAN or another upper netdev counts as a
 *	separate network
 * @ipv6: the packet is IPv6, otherwise IPv4
 *
 * Packets to a multicast group are accepted from the device's own netdev only.
 *
 * Context: RCU read section.
 */
bool cairn_path_to_netdev(const struct cairn_nic *nic,
			  const struct sk_buff *skb, int ifindex, bool ipv6);

/**
 * cairn_path_from_peer() - was a packet sent by the peer of a path to its source?
 * @path: of a connection; the caller holds its lock
 * @skb: the packet, with its IP header
 * @ifindex: the netdev that received it
 * @ipv6: the packet is IPv6, otherwise IPv4
 */
bool cairn_path_from_peer(const struct cairn_path *path,
			  const struct sk_buff *skb, int ifindex, bool ipv6);

/* Is @other a path from the peer of @path to the source of @path, on netdev @ifindex? */
bool cairn_path_is_reverse(const struct cairn_path *path,
			   const struct cairn_path *other, int ifindex);

#endif
