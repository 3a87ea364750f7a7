/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of a device that all directories of the module share.
 *
 * qp_table: QP number -> struct cairn_exec, read under RCU. An entry is removed and a
 * grace period passes before the QP is freed, so a receiver in an RCU read section
 * needs no reference.
 */
#ifndef CAIRN_DEVICE_NIC_H
#define CAIRN_DEVICE_NIC_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/xarray.h>
#include <rdma/cairn-abi.h>
#include "device/epoch.h"
#include "device/fabric.h"
#include "device/share.h"
#include "device/table.h"
#include "engine/counters.h"
#include "engine/quota.h"

struct cairn_faults;
struct cairn_mrcaches;
struct cairn_room;

struct cairn_stats {
	u64 value[CAIRN_CTR_COUNT];
};

#define CAIRN_MCAST_BUCKETS	64

/* Multicast groups (device/mcast.h), read under RCU. */
struct cairn_mcast {
	struct mutex lock;		/* for changes; RTNL is taken below it */
	bool closed;			/* nothing is delivered */
	struct hlist_head group[CAIRN_MCAST_BUCKETS];
};

/* How long lanes poll for posts, microseconds. The default is longer than the time between
 * two posts of a busy process, and short compared with the cost of waking a thread.
 */
#define CAIRN_IDLE_US		50
#define CAIRN_IDLE_MAX_US	1000000

struct cairn_nic {
	struct net_device *ndev;	/* the device has a reference */
	struct cairn_stats __percpu *stats;
	struct cairn_epoch epoch;	/* counts the runs of its QPs */
	/* MR caches (device/mrcache.h), or NULL. Look-ups use mrcaches. Releases count
	 * in mrcaches_counted, which is set first.
	 */
	struct cairn_mrcaches *mrcaches;
	struct cairn_mrcaches *mrcaches_counted;
	atomic_t mrcaches_begun;	/* not 0: creation has been tried */
	struct cairn_table qp_table;
	struct xarray qps;		/* allocates QP numbers; walks go through it */
	struct cairn_quota held;	/* device/hold.h */
	u32 held_seed;			/* of the hash of peers' addresses in held */
	struct cairn_mcast mcast;
	struct cairn_shares shares;
	u32 idle_us;	/* how long lanes poll for posts; 0: every post rings */
	u32 loopback;	/* enum cairn_loopback_modes */
	u32 capture;	/* enum cairn_capture_modes */
	u32 persistent;	/* enum cairn_persistent_modes */
	struct cairn_fabric __rcu *fabric;	/* NULL: in none */
	struct list_head in_fabric;
	u64 fabric_mac;	/* of the netdev when the device was put into the fabric */
	/* For net/, under RTNL: */
	struct list_head netif;		/* devices of a namespace, read under RCU */
	struct list_head groups;	/* of multicast, that its netdev has joined */
	/* The namespace that the device was attached in, as long as it has QPs. The
	 * netdev may have moved to another one since, which does not wait for the
	 * device when it ends. NULL: not attached.
	 */
	struct net *net;
	bool removed;			/* cairn_net_ops.remove was called */
	bool readdressed;		/* an address was removed since the attach */
	u32 max_waiting;		/* CAIRN_SHARE_WAITING, see lane/exec.h */
	struct cairn_room *room;	/* of kernel consumers (lane/room.h); or NULL */
	struct cairn_faults *faults;	/* fault/rules.h; NULL: there never was a rule */
};

static inline void cairn_nic_count(struct cairn_nic *nic,
				   enum cairn_counter c, u64 n)
{
	this_cpu_add(nic->stats->value[c], n);
}

#endif
