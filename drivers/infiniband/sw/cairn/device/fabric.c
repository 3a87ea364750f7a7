// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "device/fabric.h"
#include "device/nic.h"

static DEFINE_MUTEX(fabric_lock);
static LIST_HEAD(fabric_list);

static struct cairn_fabric *fabric_of(const struct cairn_nic *nic)
{
	return rcu_dereference_protected(nic->fabric,
					 lockdep_is_held(&fabric_lock));
}

/* The fabric with this name. It is made if there is none. NULL: no memory. */
static struct cairn_fabric *fabric_named(const char *name)
{
	struct cairn_fabric *fabric;

	lockdep_assert_held(&fabric_lock);
	list_for_each_entry(fabric, &fabric_list, node)
		if (!strcmp(fabric->name, name))
			return fabric;
	fabric = kzalloc(sizeof(*fabric), GFP_KERNEL);
	if (!fabric)
		return NULL;
	strscpy(fabric->name, name, sizeof(fabric->name));
	INIT_LIST_HEAD(&fabric->nics);
	list_add(&fabric->node, &fabric_list);
	return fabric;
}

/* Take the device out of its fabric, if it is in one. Readers of the list may be at the
 * device, so it is in no other list before they have ended.
 */
static void fabric_remove(struct cairn_nic *nic)
{
	struct cairn_fabric *fabric = fabric_of(nic);

	lockdep_assert_held(&fabric_lock);
	if (!fabric)
		return;
	RCU_INIT_POINTER(nic->fabric, NULL);
	list_del_rcu(&nic->in_fabric);
	synchronize_rcu();
	if (list_empty(&fabric->nics)) {
		list_del(&fabric->node);
		kfree(fabric);
	}
}

/* 0: the netdev has no MAC address. */
static u64 fabric_read_mac(const struct cairn_nic *nic)
{
	const struct net_device *dev = nic->ndev;
	u64 mac;

	rtnl_lock();
	mac = dev->addr_len == ETH_ALEN ? ether_addr_to_u64(dev->dev_addr) : 0;
	rtnl_unlock();
	return mac;
}

int cairn_fabric_join(struct cairn_nic *nic, const char *name)
{
	u64 mac = fabric_read_mac(nic);
	struct cairn_fabric *fabric;

	mutex_lock(&fabric_lock);
	fabric = fabric_named(name);
	if (fabric)
		WRITE_ONCE(nic->fabric_mac, mac);
	if (fabric && fabric != fabric_of(nic)) {
		fabric_remove(nic);
		list_add_tail_rcu(&nic->in_fabric, &fabric->nics);
		rcu_assign_pointer(nic->fabric, fabric);
	}
	mutex_unlock(&fabric_lock);
	return fabric ? 0 : -ENOMEM;
}

void cairn_fabric_leave(struct cairn_nic *nic)
{
	mutex_lock(&fabric_lock);
	fabric_remove(nic);
	mutex_unlock(&fabric_lock);
}

void cairn_fabric_name(struct cairn_nic *nic, char *name)
{
	const struct cairn_fabric *fabric;

	rcu_read_lock();
	fabric = rcu_dereference(nic->fabric);
	strscpy(name, fabric ? fabric->name : "", CAIRN_FABRIC_NAME);
	rcu_read_unlock();
}
