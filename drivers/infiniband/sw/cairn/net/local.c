// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip6_fib.h>
#include <net/xfrm.h>
#include "compat/watched.h"
#include "fault/rules.h"
#include "lane/exec.h"
#include "net/adjacent.h"
#include "net/local.h"
#include "net/netdev.h"
#include "net/routing.h"

/* With an IPsec policy for input, packets must pass through the IP stack. */
static bool local_has_policy(const struct net *net)
{
#ifdef CONFIG_XFRM
	return net->xfrm.policy_count[XFRM_POLICY_IN] ||
	       net->xfrm.policy_default[XFRM_POLICY_IN] !=
		       XFRM_USERPOLICY_ACCEPT;
#else
	return false;
#endif
}

#if IS_ENABLED(CONFIG_IPV6)
/* The path's netdev or another one may have the address, and several may have the same
 * link-local one: the route says which one is meant.
 */
static struct net_device *local_owner6(struct net *net,
				       const struct cairn_path *path)
{
	const struct inet6_dev *idev = path->dst ? ip6_dst_idev(path->dst) : NULL;

	return cairn_net_owner6(net, &path->daddr, idev ? idev->dev : NULL);
}
#else
static struct net_device *local_owner6(struct net *net,
				       const struct cairn_path *path)
{
	return NULL;
}
#endif

/* The netdev of this host that has the destination of @path, whose route is local. */
static struct net_device *local_owner(struct net *net,
				      const struct cairn_path *path)
{
	return path->ipv6 ? local_owner6(net, path) :
			    __ip_dev_find(net, path->daddr.s6_addr32[3], false);
}

/* Do the loopback settings of both devices let packets pass between them? */
static bool local_allowed(const struct cairn_nic *from,
			  const struct cairn_nic *to)
{
	if (from == to)
		return READ_ONCE(from->loopback) != CAIRN_LOOPBACK_OFF;
	return READ_ONCE(from->loopback) == CAIRN_LOOPBACK_HOST &&
	       READ_ONCE(to->loopback) == CAIRN_LOOPBACK_HOST;
}

/* @owner, a netdev, has the destination address. */
static void local_fill(struct cairn_local *to, struct cairn_nic *nic,
		       struct net_device *owner)
{
	to->nic = nic;
	to->ifindex = owner->ifindex;
	to->vlan = is_vlan_dev(owner) ? vlan_dev_vlan_id(owner) : CAIRN_NO_VLAN;
}

/* The destination is an address of this host. */
static bool local_find(struct cairn_nic *nic, const struct cairn_path *path,
		       struct cairn_local *to)
{
	struct net *net = nic->net;
	struct net_device *owner;
	struct cairn_nic *other;

	if (READ_ONCE(nic->loopback) == CAIRN_LOOPBACK_OFF ||
	    (!(path->dst->flags & DST_NOPOLICY) && local_has_policy(net)))
		return false;
	owner = local_owner(net, path);
	other = owner ? cairn_net_nic(net, owner) : NULL;
	if (!other || !local_allowed(nic, other))
		return false;
	local_fill(to, other, owner);
	return true;
}

/* Does a capture or a program see the packets of this device's netdev? */
static bool local_is_watched(const struct cairn_nic *nic)
{
	return READ_ONCE(nic->capture) == CAIRN_CAPTURE_YIELD &&
	       cairn_watched_netdev(nic->ndev);
}

/* The destination is behind the device's netdev. */
static bool local_find_adjacent(struct cairn_nic *nic,
				const struct cairn_path *path,
				struct cairn_local *to)
{
	struct cairn_nic *other = cairn_adjacent_find(nic, path);
	const struct net *net = other ? READ_ONCE(other->net) : NULL;

	if (!net || local_has_policy(net))
		return false;
	if (local_is_watched(nic) || local_is_watched(other)) {
		cairn_nic_count(nic, CAIRN_CTR_FABRIC_WATCHED, 1);
		return false;
	}
	local_fill(to, other, other->ndev);
	return true;
}

static bool local_look(struct cairn_nic *nic, struct cairn_path *path,
		       struct cairn_local *to)
{
	/* Most routes leave this host. The send path checks whether the route
	 * is stale, so the next train sees a new one.
	 */
	if (path->dst && !path->local && !rcu_access_pointer(nic->fabric))
		return false;
	if (!cairn_net_route(nic, path))
		return false;
	return path->local ? local_find(nic, path, to) :
			     local_find_adjacent(nic, path, to);
}

bool cairn_local_find(struct cairn_nic *nic, struct cairn_path *path,
		      struct cairn_local *to)
{
	bool found = local_look(nic, path, to) &&
		     !cairn_fault_between(nic, to->nic);

	/* The cache line is written only when this changes. */
	if (path->handed != found)
		path->handed = found;
	return found;
}

/* The destination's peer is read without a lock, so it may change until the
 * train arrives. The receiver checks the rest.
 */
static bool local_expects(const struct cairn_nic *to, u32 dqpn, u32 sender)
{
	const struct cairn_exec *exec =
		cairn_table_find(&to->qp_table, dqpn & CAIRN_24BIT_MASK);

	return !exec || !exec->path ||
	       READ_ONCE(exec->qpc->attrs.dqpn) == sender;
}

bool cairn_local_admits(struct cairn_nic *nic, const struct cairn_path *path,
			const struct cairn_train *train)
{
	struct net_device *owner;
	struct cairn_nic *to;

	if (!path->local || !path->qpn)
		return true;
	owner = local_owner(nic->net, path);
	to = owner ? cairn_net_nic(nic->net, owner) : NULL;
	if (!to || local_expects(to, train->first.qpn, path->qpn))
		return true;
	cairn_nic_count(to, CAIRN_CTR_RX_SPOOFED, train->count);
	return false;
}

/* Can the payload stay in the sender's memory? Requests that may have to wait
 * at the receiver are copied, because it keeps their payload. All others are
 * executed at once or retransmitted.
 */
static bool local_stays(const struct cairn_train *train)
{
	const struct cairn_opcode *first = &cairn_opcodes[train->first.opcode];
	u16 hdrs = first->hdrs;

	if (train->count > 1)
		hdrs |= cairn_opcodes[train->last_opcode].hdrs;
	return !(hdrs & (CAIRN_HDR_IETH | CAIRN_HDR_FETH | CAIRN_HDR_DETH));
}

bool cairn_local_hand(const struct cairn_local *to, struct cairn_parcel *parcel)
{
	const struct cairn_pkt *first = &parcel->train->first;
	struct cairn_exec *exec;

	if (!local_stays(parcel->train))
		return false;
	exec = cairn_table_find(&to->nic->qp_table,
				first->qpn & CAIRN_24BIT_MASK);
	return exec && cairn_exec_hand(exec, cairn_exec_side_of(first->opcode),
				       parcel);
}
