// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A list of devices for each network namespace, and the events of their
 * netdevs.
 *
 * The lists change under RTNL, as netdevs do. The receive hooks read them under
 * RCU.
 */
#include <linux/inetdevice.h>
#include <linux/mutex.h>
#include <linux/rtnetlink.h>
#include <linux/wait_bit.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "device/fabric.h"
#include "net/answer.h"
#include "net/guard.h"
#include "net/net.h"
#include "net/netdev.h"
#include "net/rx.h"
#include "net/tx.h"

struct cairn_netns {
	struct list_head nics;
	atomic_t attached;	/* devices whose detach has not finished */
	bool guarded;		/* both under netns_guard_lock */
	bool ended;
};

static DEFINE_MUTEX(netns_guard_lock);

static unsigned int netns_id;
static const struct cairn_net_ops *net_ops;

static struct cairn_netns *netns_of(const struct net *net)
{
	return net_generic(net, netns_id);
}

/* The device on @dev itself. RTNL or RCU read section. */
static struct cairn_nic *netdev_find(struct net *net,
				     const struct net_device *dev)
{
	struct cairn_nic *nic;

	list_for_each_entry_rcu(nic, &netns_of(net)->nics, netif,
				lockdep_rtnl_is_held())
		if (nic->ndev == dev)
			return nic;
	return NULL;
}

struct cairn_nic *cairn_net_nic(struct net *net, struct net_device *dev)
{
	struct cairn_nic *nic = netdev_find(net, dev);

	if (nic)
		return nic;
	list_for_each_entry_rcu(nic, &netns_of(net)->nics, netif)
		if (netdev_has_upper_dev_all_rcu(nic->ndev, dev))
			return nic;
	return NULL;
}

struct cairn_nic *cairn_net_any(struct net *net)
{
	return list_first_or_null_rcu(&netns_of(net)->nics, struct cairn_nic,
				      netif);
}

/* A peer may send to a device for a while after it has gone, and take a forged answer
 * for the device's. So the guard stays until the namespace ends.
 */
static int netns_guard(struct net *net)
{
	struct cairn_netns *ns = netns_of(net);
	int err = 0;

	mutex_lock(&netns_guard_lock);
	if (ns->ended)
		err = -ENODEV;
	else if (!ns->guarded)
		err = nf_register_net_hooks(net, cairn_guard_hooks,
					    CAIRN_GUARD_HOOKS);
	ns->guarded |= !err;
	mutex_unlock(&netns_guard_lock);
	return err;
}

static int netns_hook(struct net *net)
{
	int err = netns_guard(net);

	if (err)
		return err;
	err = nf_register_net_hooks(net, cairn_net_hooks, CAIRN_NET_HOOKS);
	if (err)
		return err;
	if (CAIRN_ANSWER_HOOKS)
		err = nf_register_net_hook(net, &cairn_answer_hook);
	if (err)
		nf_unregister_net_hooks(net, cairn_net_hooks, CAIRN_NET_HOOKS);
	return err;
}

static void netns_unhook(struct net *net)
{
	if (CAIRN_ANSWER_HOOKS)
		nf_unregister_net_hook(net, &cairn_answer_hook);
	nf_unregister_net_hooks(net, cairn_net_hooks, CAIRN_NET_HOOKS);
}

int cairn_net_attach(struct cairn_nic *nic)
{
	struct cairn_netns *ns;
	struct net *net;
	int err = 0;

	rtnl_lock();
	net = dev_net(nic->ndev);
	ns = netns_of(net);
	if (nic->ndev->reg_state != NETREG_REGISTERED)
		err = -ENODEV;
	else if (netdev_find(net, nic->ndev))
		err = -EEXIST;
	else if (list_empty(&ns->nics))
		err = netns_hook(net);
	if (!err) {
		nic->net = net;
		nic->removed = false;
		nic->readdressed = false;
		INIT_LIST_HEAD(&nic->groups);
		atomic_inc(&ns->attached);
		list_add_tail_rcu(&nic->netif, &ns->nics);
	}
	rtnl_unlock();
	return err;
}

void cairn_net_detach(struct cairn_nic *nic)
{
	struct cairn_netns *ns;

	/* No lock is needed: attach and detach of a device never run at once.
	 */
	if (!nic->net)
		return;
	ns = netns_of(nic->net);
	cairn_fabric_leave(nic);
	rtnl_lock();
	list_del_rcu(&nic->netif);
	if (list_empty(&ns->nics))
		netns_unhook(nic->net);
	WRITE_ONCE(nic->net, NULL);
	rtnl_unlock();
	synchronize_net();
	/* The namespace may be freed now. wake_up_var() uses only the address.
	 */
	if (atomic_dec_and_test(&ns->attached))
		wake_up_var(&ns->attached);
}

/* An address of @dev, the netdev of a device or one above it, has gone. */
static void netdev_readdress(struct net_device *dev)
{
	struct cairn_nic *nic;

	rcu_read_lock();
	nic = cairn_net_nic(dev_net(dev), dev);
	if (nic)
		WRITE_ONCE(nic->readdressed, true);
	rcu_read_unlock();
}

void cairn_net_repeat(struct cairn_nic *nic)
{
	struct net_device *dev;

	ASSERT_RTNL();
	if (!READ_ONCE(nic->readdressed))
		return;
	for_each_netdev(dev_net(nic->ndev), dev)
		if (dev == nic->ndev || netdev_has_upper_dev(nic->ndev, dev))
			call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
}

static int netdev_addr4_event(struct notifier_block *nb, unsigned long event,
			      void *info)
{
	const struct in_ifaddr *ifa = info;

	if (event == NETDEV_DOWN)
		netdev_readdress(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_addr4_notifier = {
	.notifier_call = netdev_addr4_event,
};

static int netdev_addr6_event(struct notifier_block *nb, unsigned long event,
			      void *info)
{
	const struct inet6_ifaddr *ifa = info;

	if (event == NETDEV_DOWN)
		netdev_readdress(ifa->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_addr6_notifier = {
	.notifier_call = netdev_addr6_event,
};

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct cairn_nic *nic = netdev_find(dev_net(dev), dev);

	if (event == NETDEV_CHANGEADDR || event == NETDEV_CHANGEUPPER)
		netdev_readdress(dev);
	if (!nic || nic->removed)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		/* The kernel repeats the event while references to the netdev are
		 * left. remove() is called for the first one only.
		 */
		nic->removed = true;
		net_ops->remove(nic);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGEADDR:
		net_ops->changed(nic);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

static int __net_init netns_init(struct net *net)
{
	struct cairn_netns *ns = netns_of(net);

	INIT_LIST_HEAD(&ns->nics);
	atomic_set(&ns->attached, 0);
	return 0;
}

/* No process is left there that could send. The hooks have ended before netns_exit(). */
static void __net_exit netns_pre_exit(struct net *net)
{
	struct cairn_netns *ns = netns_of(net);

	mutex_lock(&netns_guard_lock);
	ns->ended = true;
	if (ns->guarded)
		nf_unregister_net_hooks(net, cairn_guard_hooks, CAIRN_GUARD_HOOKS);
	ns->guarded = false;
	mutex_unlock(&netns_guard_lock);
}

/*
 * A netdev leaves the namespace before it ends, and its device is detached
 * asynchronously. Until then hooks and cached routes still point into this
 * namespace.
 */
static void __net_exit netns_exit(struct net *net)
{
	struct cairn_netns *ns = netns_of(net);

	wait_var_event(&ns->attached, !atomic_read(&ns->attached));
}

static struct pernet_operations netns_ops = {
	.init = netns_init,
	.pre_exit = netns_pre_exit,
	.exit = netns_exit,
	.id = &netns_id,
	.size = sizeof(struct cairn_netns),
};

int cairn_net_init(const struct cairn_net_ops *ops)
{
	int err;

	net_ops = ops;
	err = cairn_net_tx_start();
	if (err)
		return err;
	err = cairn_answer_start();
	if (err)
		goto err_answer;
	err = register_pernet_subsys(&netns_ops);
	if (err)
		goto err_pernet;
	err = register_netdevice_notifier(&netdev_notifier);
	if (err)
		goto err_notifier;
	err = register_inetaddr_notifier(&netdev_addr4_notifier);
	if (err)
		goto err_addr4;
	err = register_inet6addr_notifier(&netdev_addr6_notifier);
	if (err)
		goto err_addr6;
	return 0;

err_addr6:
	unregister_inetaddr_notifier(&netdev_addr4_notifier);
err_addr4:
	unregister_netdevice_notifier(&netdev_notifier);
err_notifier:
	unregister_pernet_subsys(&netns_ops);
err_pernet:
	cairn_answer_stop();
err_answer:
	cairn_net_tx_stop();
	return err;
}

void cairn_net_exit(void)
{
	unregister_inet6addr_notifier(&netdev_addr6_notifier);
	unregister_inetaddr_notifier(&netdev_addr4_notifier);
	unregister_netdevice_notifier(&netdev_notifier);
	unregister_pernet_subsys(&netns_ops);
	cairn_answer_stop();
	cairn_net_tx_stop();
}
