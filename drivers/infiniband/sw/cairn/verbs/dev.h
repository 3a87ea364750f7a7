/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The life of a device. */
#ifndef CAIRN_VERBS_DEV_H
#define CAIRN_VERBS_DEV_H

#include "verbs/verbs.h"

/* What verbs needs of the net layer, given by main.c. */
struct cairn_verbs_net {
	int (*attach)(struct cairn_nic *nic);
	void (*detach)(struct cairn_nic *nic);
	int (*join)(struct cairn_nic *nic, const struct in6_addr *addr);
	void (*leave)(struct cairn_nic *nic, const struct in6_addr *addr);
};

/* What cairn_verbs_init() got. */
const struct cairn_verbs_net *cairn_verbs_net(void);

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_verbs_init(const struct cairn_verbs_net *net);
void cairn_verbs_exit(void);

/**
 * cairn_verbs_add() - make a device, what rdma_link_ops.newlink does
 * @name: its name, or a pattern with %d
 * @ndev: its netdev
 *
 * Context: process, not under RTNL.
 * Return: 0, -EINVAL (not an Ethernet netdev, or a VLAN), -EEXIST (the netdev
 * has a device already), or what ib_core returns.
 */
int cairn_verbs_add(const char *name, struct net_device *ndev);

/* The netdev is gone. RTNL held. */
void cairn_verbs_remove(struct cairn_nic *nic);

/* Link or MTU of the netdev changed. RTNL held. */
void cairn_verbs_changed(struct cairn_nic *nic);

#endif
