/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets to an address of this host. The route of a path may end at a cairn
 * device in the same network namespace, or lead to a device of the same fabric
 * (net/adjacent.h). Then its packets are handed to that device. The IP stack
 * does not see them. The administrator can switch the first off and the second
 * on.
 */
#ifndef CAIRN_NET_LOCAL_H
#define CAIRN_NET_LOCAL_H

#include <linux/skbuff.h>
#include "device/nic.h"
#include "device/parcel.h"
#include "device/path.h"

/* The device that has the destination. */
struct cairn_local {
	struct cairn_nic *nic;
	int ifindex;		/* of the netdev that has the address */
	u16 vlan;		/* its id, or CAIRN_NO_VLAN */
};

/**
 * cairn_local_find() - find the device that packets of a path are handed to
 * @nic: the sender's device
 * @path: the caller holds its lock
 * @to: filled in if there is one; valid in the caller's RCU read section
 *
 * Context: BH off, RCU read section.
 * Return: false when the packets leave through the IP stack.
 */
bool cairn_local_find(struct cairn_nic *nic, struct cairn_path *path,
		      struct cairn_local *to);

/**
 * cairn_local_admits() - may a train leave through the IP stack?
 * @nic: the sender's device
 * @path: the caller holds its lock; its packets are not handed over
 * @train: the train
 *
 * Packets do not carry the number of the sending queue pair, so a receiver on
 * this host cannot check it. If the destination is connected to another queue
 * pair than that of @path, the train must be dropped. It is counted at the
 * destination.
 *
 * Context: BH off, RCU read section.
 * Return: true if the train may leave.
 */
bool cairn_local_admits(struct cairn_nic *nic, const struct cairn_path *path,
			const struct cairn_train *train);

/**
 * cairn_local_hand() - hand a train over without copying its payload
 * @to: the device that has the destination
 * @parcel: the train, of a connection
 *
 * Return: false when the caller has to copy it first (cairn_net_rx_local()).
 */
bool cairn_local_hand(const struct cairn_local *to,
		      struct cairn_parcel *parcel);

#endif
