/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * References to a netdev with a tracker: netdev_hold() and netdev_put() of 6.0, and
 * their type, netdevice_tracker of 5.17.
 */
#ifndef CAIRN_COMPAT_NETDEV_HOLD_H
#define CAIRN_COMPAT_NETDEV_HOLD_H

#include <linux/netdevice.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_NETDEVICE_TRACKER
typedef struct {} netdevice_tracker;
#endif

#ifndef CAIRN_HAS_NETDEV_HOLD
static inline void netdev_hold(struct net_device *dev,
			       netdevice_tracker *tracker, gfp_t gfp)
{
	dev_hold(dev);
}

static inline void netdev_put(struct net_device *dev,
			      netdevice_tracker *tracker)
{
	dev_put(dev);
}
#endif

#endif
