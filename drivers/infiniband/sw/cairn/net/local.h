/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets to an address of this host. Where the route of a path ends at a device of
 * ours in the same network namespace, and the administrator has not switched it off,
 * they are handed to that device and the IP stack does not see them.
 */
#ifndef CAIRN_NET_LOCAL_H
#define CAIRN_NET_LOCAL_H

#include <linux/skbuff.h>
#include "device/nic.h"
#include "device/parcel.h"
#include "device/path.h"

/* Who has the destination. */
struct cairn_local {
	struct cairn_nic *nic;
	int ifindex;		/* of the netdev that has the address */
	u16 vlan;		/* its id, or CAIRN_NO_VLAN */
};

/**
 * cairn_local_find() - is what goes by a path handed over?
 * @nic: the sender's device
 * @path: the caller holds its lock
 * @to: filled in if so
 *
 * Context: BH off, RCU read section, for which @to is valid.
 */
bool cairn_local_find(struct cairn_nic *nic, struct cairn_path *path,
		      struct cairn_local *to);

/**
 * cairn_local_admits() - may a train leave by the IP stack?
 * @nic: the sender's device
 * @path: the caller holds its lock; not handed over
 * @train: the train
 *
 * Packets to another device of this host carry no number of their sender, so the
 * receiver cannot tell it. If the destination is connected to another queue pair
 * than the one of @path, the train is dropped and counted there.
 *
 * Context: BH off, RCU read section.
 * Return: true if the train may leave.
 */
bool cairn_local_admits(struct cairn_nic *nic, const struct cairn_path *path,
			const struct cairn_train *train);

/**
 * cairn_local_hand() - hand a train over where its payload lies
 * @to: who has the destination
 * @parcel: the train, of a connection
 *
 * Return: false when it has to be copied first (cairn_net_rx_local()).
 */
bool cairn_local_hand(const struct cairn_local *to,
		      struct cairn_parcel *parcel);

#endif
