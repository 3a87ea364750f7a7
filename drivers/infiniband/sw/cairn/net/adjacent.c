// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <net/arp.h>
#include <net/ip6_fib.h>
#include <net/ndisc.h>
#include <net/route.h>
#include <net/xfrm.h>
#include "device/fabric.h"
#include "net/adjacent.h"

/* Is the netdev up, with the MAC address that it had when the administrator put the device
 * into the fabric?
 */
static bool adjacent_takes_part(const struct cairn_nic *nic)
{
	const struct net_device *dev = nic->ndev;

	return netif_running(dev) && netif_carrier_ok(dev) &&
	       dev->addr_len == ETH_ALEN &&
	       ether_addr_to_u64(dev->dev_addr) == READ_ONCE(nic->fabric_mac);
}

static bool adjacent_is_direct(const struct cairn_path *path)
{
	if (path->ipv6)
		return !(container_of(path->dst, struct rt6_info, dst)->rt6i_flags &
			 RTF_GATEWAY);
	return !container_of(path->dst, struct rtable, dst)->rt_gw_family;
}

static struct neighbour *adjacent_entry(struct net_device *dev, bool ipv6,
					const struct in6_addr *addr)
{
	if (!ipv6)
		return __ipv4_neigh_lookup_noref(dev,
						 (__force u32)addr->s6_addr32[3]);
#if IS_ENABLED(CONFIG_IPV6)
	return __ipv6_neigh_lookup_noref(dev, addr);
#else
	return NULL;
#endif
}

/* Read the MAC address that @dev has resolved @addr to. Return: false: none. */
static bool adjacent_read_mac(struct net_device *dev, bool ipv6,
			      const struct in6_addr *addr, u8 *mac)
{
	struct neighbour *entry = adjacent_entry(dev, ipv6, addr);

	if (!entry || !(READ_ONCE(entry->nud_state) & NUD_VALID))
		return false;
	neigh_ha_snapshot(mac, entry, dev);
	return true;
}

/* Is @nic the one that @path leads to, according to the sender? */
static bool adjacent_fits(const struct cairn_nic *nic,
			  const struct cairn_path *path, const u8 *mac)
{
	return adjacent_takes_part(nic) &&
	       ether_addr_equal_unaligned(nic->ndev->dev_addr, mac) &&
	       cairn_path_ends_at(path, nic);
}

/* Has @nic the MAC and IP address of the sender @from, too? Then one of them pretends. */
static bool adjacent_is_twin(const struct cairn_nic *nic,
			     const struct cairn_path *path,
			     const struct cairn_nic *from)
{
	return READ_ONCE(nic->fabric_mac) == READ_ONCE(from->fabric_mac) &&
	       cairn_path_begins_at(path, nic);
}

/* Has the receiver resolved the sender's address to the sender's netdev? */
static bool adjacent_is_known(const struct cairn_nic *nic,
			      const struct cairn_path *path,
			      const struct cairn_nic *from)
{
	u8 mac[MAX_ADDR_LEN];

	return adjacent_read_mac(nic->ndev, path->ipv6, &path->saddr, mac) &&
	       ether_addr_equal_unaligned(from->ndev->dev_addr, mac);
}

struct cairn_nic *cairn_adjacent_find(struct cairn_nic *nic,
				      const struct cairn_path *path)
{
	const struct cairn_fabric *fabric = rcu_dereference(nic->fabric);
	struct cairn_nic *other, *found = NULL;
	u8 mac[MAX_ADDR_LEN];

	if (!fabric || path->ifindex != nic->ndev->ifindex ||
	    path->dst->dev != nic->ndev || dst_xfrm(path->dst) ||
	    !adjacent_takes_part(nic) || !adjacent_is_direct(path) ||
	    !adjacent_read_mac(nic->ndev, path->ipv6, &path->daddr, mac))
		return NULL;
	list_for_each_entry_rcu(other, &fabric->nics, in_fabric) {
		if (other == nic)
			continue;
		if (adjacent_is_twin(other, path, nic))
			return NULL;
		if (!adjacent_fits(other, path, mac))
			continue;
		if (found)
			return NULL;
		found = other;
	}
	return found && adjacent_is_known(found, path, nic) ? found : NULL;
}
