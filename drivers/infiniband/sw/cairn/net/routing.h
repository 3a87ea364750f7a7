/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_ROUTING_H
#define CAIRN_NET_ROUTING_H

#include "device/nic.h"
#include "device/path.h"

/**
 * cairn_net_route() - the route of a path, from its cache if still valid
 * @nic: for the netdev's namespace
 * @path: the caller holds its lock
 *
 * Context: BH off, RCU read section.
 * Return: the route, valid in the RCU read section, or NULL: there is none.
 */
struct dst_entry *cairn_net_route(struct cairn_nic *nic,
				  struct cairn_path *path);

#endif
