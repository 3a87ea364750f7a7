/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast groups of a device: the QPs that receive datagrams to an address. Changes
 * are made under cairn_mcast.lock; the receive hooks read under RCU. A QP leaves its
 * groups before the grace period of its destruction.
 */
#ifndef CAIRN_DEVICE_MCAST_H
#define CAIRN_DEVICE_MCAST_H

#include <linux/in6.h>
#include "lane/exec.h"

#define CAIRN_MAX_MCAST_GROUPS	512	/* of a device */
#define CAIRN_MAX_MCAST_QPS	512	/* of a group; each packet is copied for all */

struct cairn_mcast_member {
	struct cairn_exec *exec;	/* NULL: it has left */
	struct cairn_share_user *user;	/* writers only; NULL: a kernel consumer */
};

struct cairn_mcast_members {
	struct rcu_head rcu;
	u32 num;
	struct cairn_mcast_member member[];
};

struct cairn_mcast_group {
	struct hlist_node node;
	struct in6_addr addr;		/* IPv4 mapped for IPv4 */
	u32 num;			/* QPs in the group; read without lock, too */
	struct cairn_mcast_members __rcu *members;
	/* Has a member in it. The group counts for its share. NULL: a kernel
	 * consumer.
	 */
	struct cairn_share_user *user;
	struct rcu_head rcu;
};

/* Memory for an addition. It is allocated before the lock is taken: in a full memcg that
 * may take long, and other processes, and the removal of the device, wait for the lock.
 */
struct cairn_mcast_room {
	struct in6_addr addr;			/* of the group */
	struct cairn_mcast_group *group;	/* NULL: used */
	struct cairn_mcast_members *members;	/* NULL: used */
	u32 places;				/* of members */
};

void cairn_mcast_init(struct cairn_mcast *mcast);

/**
 * cairn_mcast_prepare() - allocate memory for cairn_mcast_add()
 * @mcast: the groups of the device
 * @addr: address of the group
 * @room: filled in; to be released
 *
 * Context: process, sleeps.
 * Return: 0 or -ENOMEM; then nothing is to be released.
 */
int cairn_mcast_prepare(struct cairn_mcast *mcast, const struct in6_addr *addr,
			struct cairn_mcast_room *room);

/* Free what was not used. */
void cairn_mcast_release(struct cairn_mcast_room *room);

/**
 * cairn_mcast_add() - add a QP to a group
 * @nic: the device
 * @exec: of a UD QP
 * @user: of the QP, or NULL
 * @room: prepared for the group
 * @first: set to true if the group did not exist
 *
 * Groups of a device, and places in a group, are shared among users
 * (device/share.h).
 *
 * Context: process, under nic->mcast.lock.
 * Return: 0, also if the QP is in the group already; -ENOMEM: a limit; -EDQUOT: the share
 * of @user; -EAGAIN: the group has grown since, and the room is too small.
 */
int cairn_mcast_add(struct cairn_nic *nic, struct cairn_exec *exec,
		    struct cairn_share_user *user,
		    struct cairn_mcast_room *room, bool *first);

/**
 * cairn_mcast_del() - remove a QP from a group
 * @nic: the device
 * @addr: address of the group
 * @exec: of the QP
 * @last: set to true if the group has no QP any more
 *
 * The receive hooks may still use @exec for an RCU grace period.
 *
 * Context: process, under nic->mcast.lock.
 * Return: 0; -EINVAL: the QP is not in the group.
 */
int cairn_mcast_del(struct cairn_nic *nic, const struct in6_addr *addr,
		    struct cairn_exec *exec, bool *last);

/* Deliver nothing to QPs, which stay members. The receive hooks may still use QPs for an
 * RCU grace period.
 */
static inline void cairn_mcast_close(struct cairn_mcast *mcast)
{
	WRITE_ONCE(mcast->closed, true);
}

static inline void cairn_mcast_open(struct cairn_mcast *mcast)
{
	WRITE_ONCE(mcast->closed, false);
}

/* The members of group @addr, or NULL. RCU read section. */
const struct cairn_mcast_members *
cairn_mcast_find(struct cairn_mcast *mcast, const struct in6_addr *addr);

#endif
