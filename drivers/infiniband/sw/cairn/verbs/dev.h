/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Creation and destruction of devices. */
#ifndef CAIRN_VERBS_DEV_H
#define CAIRN_VERBS_DEV_H

#include "verbs/verbs.h"

/* The functions of the net layer that verbs calls; main.c passes them. */
struct cairn_verbs_net {
	int (*attach)(struct cairn_nic *nic);
	void (*detach)(struct cairn_nic *nic);
	void (*repeat)(struct cairn_nic *nic);
	int (*join)(struct cairn_nic *nic, const struct in6_addr *addr);
	void (*leave)(struct cairn_nic *nic, const struct in6_addr *addr);
};

/* The functions that cairn_verbs_init() was given. */
const struct cairn_verbs_net *cairn_verbs_net(void);

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_verbs_init(const struct cairn_verbs_net *net);
void cairn_verbs_exit(void);

/**
 * cairn_verbs_add() - create a device (rdma_link_ops.newlink)
 * @name: its name, or a pattern with %d
 * @ndev: its netdev
 *
 * Context: process, not under RTNL.
 * Return: 0, -EINVAL (a netdev that carries no IP, or a VLAN), -EEXIST (the netdev
 * has a device already), or what ib_core returns.
 */
int cairn_verbs_add(const char *name, struct net_device *ndev);

/* Unregister the device later, as its netdev is being unregistered. Under RTNL. */
void cairn_verbs_remove(struct cairn_nic *nic);

/* The device of the caller of a method, or the error of ib_uverbs_get_ucontext(). */
struct cairn_dev *cairn_dev_of_caller(struct uverbs_attr_bundle *attrs);

/**
 * cairn_dev_may_administer() - has the caller CAP_NET_ADMIN in the device's namespace?
 * @dev: the device
 *
 * The capability counts in the user namespace that owns the network namespace. It is the
 * one that a qdisc needs, which can lose and delay packets, too.
 */
bool cairn_dev_may_administer(const struct cairn_dev *dev);

/* Report the port's state after a change of the netdev's link or MTU. Under RTNL. */
void cairn_verbs_changed(struct cairn_nic *nic);

#endif
