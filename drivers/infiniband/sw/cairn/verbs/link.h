/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The port of a device has the state, speed and MTU of its netdev. */
#ifndef CAIRN_VERBS_LINK_H
#define CAIRN_VERBS_LINK_H

#include <rdma/ib_verbs.h>

struct cairn_dev;

#define CAIRN_LINE_KBPS		10000000	/* assumed if the speed is not known */

/* ACTIVE if the netdev is up and has a carrier, else DOWN. Any context. */
enum ib_port_state cairn_link_state(const struct cairn_dev *dev);

/* Speed of the netdev in kbit/s; CAIRN_LINE_KBPS if it reports none. Under RTNL, and not
 * in an event of the netdev, as it takes the netdev's own lock since 7.2.
 */
u32 cairn_link_kbps(const struct cairn_dev *dev);

/* ib_device_ops.query_port_speed: in units of 100 Mbit/s. Process context, not under RTNL. */
int cairn_link_query_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);

/* The largest IB MTU that fits into the netdev's current MTU. Any context. */
enum ib_mtu cairn_link_active_mtu(const struct cairn_dev *dev);

#endif
