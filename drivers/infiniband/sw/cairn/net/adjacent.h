/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device of the sender's fabric that a path leads to. Both ends must agree: each
 * netdev has resolved the address of the other one to the other one's MAC address. So
 * equal addresses in different networks are never mixed up. A netdev that has changed its
 * MAC address since it was put into the fabric does not take part: it may be in another
 * network than the netdev that it pretends to be.
 */
#ifndef CAIRN_NET_ADJACENT_H
#define CAIRN_NET_ADJACENT_H

#include "device/nic.h"
#include "device/path.h"

/**
 * cairn_adjacent_find() - find the device of the fabric that a path leads to
 * @nic: the sender's device
 * @path: has a route; the caller holds its lock
 *
 * A path through a gateway, IPsec or another netdev than the device's leads to none;
 * neither does one for which two devices of the fabric fit, as its beginning or its end.
 *
 * Context: BH off, RCU read section.
 * Return: the device, which is up and has the destination address; NULL: none.
 */
struct cairn_nic *cairn_adjacent_find(struct cairn_nic *nic,
				      const struct cairn_path *path);

#endif
