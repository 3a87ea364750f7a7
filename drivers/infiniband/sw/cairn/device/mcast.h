/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast groups of a device: which queue pairs take the datagrams to an
 * address. Changes are serialised by the caller; the receive hooks read under
 * RCU. A queue pair leaves its groups before the grace period of its end.
 */
#ifndef CAIRN_DEVICE_MCAST_H
#define CAIRN_DEVICE_MCAST_H

#include <linux/in6.h>
#include "lane/exec.h"

#define CAIRN_MAX_MCAST_GROUPS	512	/* of a device */
#define CAIRN_MAX_MCAST_QPS	512	/* of a group: packets are copied for all at once */

struct cairn_mcast_members {
	struct rcu_head rcu;
	u32 num;
	struct cairn_exec *exec[];	/* NULL: one that has left */
};

struct cairn_mcast_group {
	struct hlist_node node;
	struct in6_addr addr;		/* IPv4 mapped for IPv4 */
	u32 num;			/* queue pairs, not 0 */
	struct cairn_mcast_members __rcu *members;
	struct rcu_head rcu;
};

void cairn_mcast_init(struct cairn_mcast *mcast);

/**
 * cairn_mcast_add() - @exec takes datagrams to @addr
 * @mcast: of the device
 * @addr: group
 * @exec: of a UD queue pair
 * @first: true when it is the group's only one
 *
 * Context: process.
 * Return: 0, also when it does that already, or -ENOMEM (also at a limit).
 */
int cairn_mcast_add(struct cairn_mcast *mcast, const struct in6_addr *addr,
		    struct cairn_exec *exec, bool *first);

/**
 * cairn_mcast_del() - the opposite
 * @mcast: of the device
 * @addr: group
 * @exec: of cairn_mcast_add()
 * @last: true when the group has nobody left
 *
 * A receiver that found it before may still be at it, for a grace period.
 *
 * Context: process.
 * Return: 0, or -EINVAL: it does not take them.
 */
int cairn_mcast_del(struct cairn_mcast *mcast, const struct in6_addr *addr,
		    struct cairn_exec *exec, bool *last);

/* Who takes datagrams to @addr? NULL: nobody. RCU read section. */
const struct cairn_mcast_members *
cairn_mcast_find(struct cairn_mcast *mcast, const struct in6_addr *addr);

#endif
