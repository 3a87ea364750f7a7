/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What all kernel-side layers share of one device.
 *
 * qp_table: qpn -> struct cairn_exec, read under RCU. An entry is erased and a
 * grace period waited before the QP goes away, so that a receiver in an RCU
 * read section needs no reference.
 */
#ifndef CAIRN_DEVICE_NIC_H
#define CAIRN_DEVICE_NIC_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/xarray.h>
#include <rdma/cairn-abi.h>
#include "device/epoch.h"
#include "device/table.h"
#include "engine/counters.h"
#include "engine/quota.h"

struct cairn_mrcaches;

struct cairn_stats {
	u64 value[CAIRN_CTR_COUNT];
};

#define CAIRN_MCAST_BUCKETS	64

/* Multicast groups, device/mcast.h; written under lock, read under RCU. */
struct cairn_mcast {
	struct mutex lock;		/* writers; outside of RTNL */
	u32 num_groups;
	struct hlist_head group[CAIRN_MCAST_BUCKETS];
};

/* Microseconds that lanes poll for posts; the default is the module parameter. */
#define CAIRN_IDLE_MAX_US	1000000

struct cairn_nic {
	struct net_device *ndev;	/* reference held by the device */
	struct cairn_stats __percpu *stats;
	struct cairn_epoch epoch;	/* of its runs, for memory release */
	/* device/mrcache.h; NULL: none. Look-ups use the first, releases count in
	 * the second, which comes earlier.
	 */
	struct cairn_mrcaches *mrcaches;
	struct cairn_mrcaches *mrcaches_counted;
	atomic_t mrcaches_begun;
	struct cairn_table qp_table;
	struct xarray qps;		/* whose numbers it has; for walks */
	struct cairn_quota held;	/* device/hold.h */
	u32 held_seed;			/* which peers share a bound there */
	struct cairn_mcast mcast;
	u32 idle_us;	/* or CAIRN_IDLE_DEFAULT; see cairn_watch_idle_us() */
	u32 loopback;	/* enum cairn_loopback_modes */
	/* net/: under RTNL */
	struct list_head netif;		/* devices of a namespace, read by RCU */
	/* Where attached, all the time that there are queue pairs: the netdev may
	 * be elsewhere by then, and that namespace does not wait for us. NULL: not
	 * attached.
	 */
	struct net *net;
	bool removed;			/* the netdev is gone, owner was told */
};

static inline void cairn_nic_count(struct cairn_nic *nic,
				   enum cairn_counter c, u64 n)
{
	this_cpu_add(nic->stats->value[c], n);
}

#endif
