// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups of the netdev. The stack reports them to the network (IGMP,
 * MLD), makes the netdev receive their MAC addresses, and delivers their
 * packets to the receive hooks.
 *
 * A netdev whose MTU becomes too small for IP loses its in_device or inet6_dev,
 * and their memberships with them. It may get a new one later, where another
 * program may have joined the same group. So a group is left only while the netdev
 * has the in_device or inet6_dev in which it was joined.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include "net/net.h"

/* A group that was joined. */
struct group {
	struct list_head node;		/* of nic->groups */
	struct in6_addr addr;
	/* Where it was joined; the other one is NULL. Has a reference, so that the
	 * netdev's next one cannot be at the same place in memory.
	 */
	struct in_device *in_dev;
	struct inet6_dev *idev;
};

static int group_join4(struct net_device *ndev, struct group *group)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!in_dev)
		return -EADDRNOTAVAIL;
	ip_mc_inc_group(in_dev, group->addr.s6_addr32[3]);
	in_dev_hold(in_dev);
	group->in_dev = in_dev;
	return 0;
}

static void group_leave4(struct net_device *ndev, struct group *group)
{
	if (group->in_dev == __in_dev_get_rtnl(ndev))
		ip_mc_dec_group(group->in_dev, group->addr.s6_addr32[3]);
	in_dev_put(group->in_dev);
}

#if IS_ENABLED(CONFIG_IPV6)
static int group_join6(struct net_device *ndev, struct group *group)
{
	struct inet6_dev *idev;
	int err;

	if (!ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	err = ipv6_dev_mc_inc(ndev, &group->addr);
	if (err)
		return err;
	idev = __in6_dev_get(ndev);
	in6_dev_hold(idev);
	group->idev = idev;
	return 0;
}

static void group_leave6(struct net_device *ndev, struct group *group)
{
	if (group->idev == __in6_dev_get(ndev))
		ipv6_dev_mc_dec(ndev, &group->addr);
	in6_dev_put(group->idev);
}
#else
static int group_join6(struct net_device *ndev, struct group *group)
{
	return -EAFNOSUPPORT;
}

static void group_leave6(struct net_device *ndev, struct group *group)
{
}
#endif

int cairn_net_join(struct cairn_nic *nic, const struct in6_addr *addr)
{
	struct group *group;
	int err;

	/* Not charged: in a full memcg that may take long, and others wait for the lock of
	 * the device's groups. There are few (CAIRN_MAX_MCAST_GROUPS).
	 */
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return -ENOMEM;
	group->addr = *addr;
	rtnl_lock();
	/* A netdev that is being unregistered has left its groups already. */
	if (nic->removed)
		err = -ENODEV;
	else if (ipv6_addr_v4mapped(addr))
		err = group_join4(nic->ndev, group);
	else
		err = group_join6(nic->ndev, group);
	if (!err)
		list_add(&group->node, &nic->groups);
	rtnl_unlock();
	if (err)
		kfree(group);
	return err;
}

static struct group *group_find(struct cairn_nic *nic,
				const struct in6_addr *addr)
{
	struct group *group;

	ASSERT_RTNL();
	list_for_each_entry(group, &nic->groups, node)
		if (ipv6_addr_equal(&group->addr, addr))
			return group;
	return NULL;
}

void cairn_net_leave(struct cairn_nic *nic, const struct in6_addr *addr)
{
	struct group *group;

	rtnl_lock();
	group = group_find(nic, addr);
	if (group) {
		list_del(&group->node);
		if (group->in_dev)
			group_leave4(nic->ndev, group);
		else
			group_leave6(nic->ndev, group);
	}
	rtnl_unlock();
	kfree(group);
}
