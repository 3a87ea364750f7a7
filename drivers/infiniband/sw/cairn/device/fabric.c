// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mutex.h>
#include <linux/rculist.h>
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
static struct cairn_fabric *fabric_get(const char *name)
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

static void fabric_remove(struct cairn_nic *nic)
{
	struct cairn_fabric *fabric = fabric_of(nic);

	lockdep_assert_held(&fabric_lock);
	RCU_INIT_POINTER(nic->fabric, NULL);
	list_del_rcu(&nic->in_fabric);
	if (list_empty(&fabric->nics)) {
		list_del(&fabric->node);
		kfree_rcu(fabric, rcu);
	}
}

int cairn_fabric_join(struct cairn_nic *nic, const char *name)
{
	struct cairn_fabric *fabric;
	int err = 0;

	mutex_lock(&fabric_lock);
	fabric = fabric_get(name);
	if (!fabric) {
		err = -ENOMEM;
	} else if (fabric != fabric_of(nic)) {
		if (fabric_of(nic)) {
			fabric_remove(nic);
			/* Readers of the old list may be at this device. */
			synchronize_rcu();
		}
		list_add_tail_rcu(&nic->in_fabric, &fabric->nics);
		rcu_assign_pointer(nic->fabric, fabric);
	}
	mutex_unlock(&fabric_lock);
	return err;
}

void cairn_fabric_leave(struct cairn_nic *nic)
{
	mutex_lock(&fabric_lock);
	if (fabric_of(nic))
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
