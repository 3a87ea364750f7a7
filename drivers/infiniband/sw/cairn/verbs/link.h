/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The one port of a device: what its netdev says. */
#ifndef CAIRN_VERBS_LINK_H
#define CAIRN_VERBS_LINK_H

#include <rdma/ib_verbs.h>

struct cairn_dev;

#define CAIRN_LINE_KBPS		10000000	/* a guess */

/* ACTIVE when the netdev is up and has a carrier, else DOWN. Any context. */
enum ib_port_state cairn_link_state(const struct cairn_dev *dev);

/* Speed of the netdev in kbit/s, CAIRN_LINE_KBPS when it has none. RTNL. */
u32 cairn_link_kbps(const struct cairn_dev *dev);

/* The largest IB MTU that fits into the netdev's now. Any context. */
enum ib_mtu cairn_link_active_mtu(const struct cairn_dev *dev);

#endif
