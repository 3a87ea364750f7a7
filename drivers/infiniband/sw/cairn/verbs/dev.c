// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The lifetime of a device: it begins with `rdma link add` and ends with `rdma link
 * delete`, the unregistration of the netdev or the removal of the module. ib_core
 * serialises these three, and calls dealloc_driver once, when no object of the device
 * is left.
 */
#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/uverbs_ioctl.h>
#include "compat/alloc_device.h"
#include "compat/counter.h"
#include "compat/flush.h"
#include "compat/kernel_caps.h"
#include "compat/name_assign.h"
#include "compat/port_event.h"
#include "compat/port_speed.h"
#include "device/mcast.h"
#include "device/mrcache.h"
#include "fault/rules.h"
#include "mem/advise.h"
#include "mem/dereg_async.h"
#include "mem/key.h"
#include "mem/odp.h"
#include "mem/ops.h"
#include "persist/domain.h"
#include "queue/mmap.h"
#include "verbs/caps.h"
#include "verbs/comp_cntr.h"
#include "verbs/cq_wait.h"
#include "verbs/dev.h"
#include "verbs/doorbell.h"
#include "verbs/fault.h"
#include "verbs/host_flush.h"
#include "verbs/leave.h"
#include "verbs/limits.h"
#include "verbs/link.h"
#include "verbs/ops.h"
#include "verbs/peer.h"
#include "verbs/prepare_ring.h"
#include "verbs/rate.h"
#include "verbs/tuning.h"
#include "verbs/udata.h"
#include "verbs/xrc.h"
#include "verbs/yield.h"

static const struct cairn_verbs_net *dev_net_layer;
static struct workqueue_struct *dev_remove_wq;

const struct cairn_verbs_net *cairn_verbs_net(void)
{
	return dev_net_layer;
}

/* A netdev has at most one device, so the check and the registration are one critical
 * section.
 */
static DEFINE_MUTEX(dev_add_lock);

static u64 dev_flush_caps(void)
{
	return IB_DEVICE_FLUSH_GLOBAL | (cairn_domain_can_writeback() ?
					 IB_DEVICE_FLUSH_PERSISTENT : 0);
}

/* A received message can wait for memory only if the peer retransmits it, so not with UC
 * and UD. Operations that are not listed may work, but are not tested.
 */
static const struct ib_odp_caps dev_odp_caps = {
#if CAIRN_HAS_ODP
	.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT,
	.per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV |
		CAIRN_ODP_SUPPORT_FLUSH | CAIRN_ODP_SUPPORT_ATOMIC_WRITE,
	.per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND,
	.per_transport_caps.xrc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_SRQ_RECV,
#endif
};

static u64 dev_kernel_caps(void)
{
	return IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY |
	       (CAIRN_HAS_ODP ? IBK_ON_DEMAND_PAGING : 0);
}

static int dev_query(struct ib_device *ibdev,
		     struct ib_device_attr *attr,
		     struct ib_udata *udata)
{
	int err = cairn_udata_check(udata, 0);

	if (err)
		return err;
	*attr = (struct ib_device_attr) {
		.fw_ver = (u64)CAIRN_ABI_VERSION << 32,
		.sys_image_guid = ibdev->node_guid,
		.vendor_id = 0xffffff,		/* software has no IEEE OUI */
		.max_mr_size = ~0ull,
		.page_size_cap = PAGE_MASK,
		.max_qp = CAIRN_MAX_QP,
		.max_qp_wr = CAIRN_MAX_QP_WR,
		.device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
				    IB_DEVICE_BAD_QKEY_CNTR |
				    IB_DEVICE_CURR_QP_STATE_MOD |
				    IB_DEVICE_PORT_ACTIVE_EVENT |
				    IB_DEVICE_RESIZE_MAX_WR |
				    IB_DEVICE_SRQ_RESIZE |
				    IB_DEVICE_SYS_IMAGE_GUID |
				    IB_DEVICE_RC_RNR_NAK_GEN |
				    IB_DEVICE_MEM_MGT_EXTENSIONS |
				    IB_DEVICE_MEM_WINDOW | IB_DEVICE_XRC |
				    IB_DEVICE_MEM_WINDOW_TYPE_2B |
				    IB_DEVICE_ATOMIC_WRITE | dev_flush_caps(),
		.odp_caps = dev_odp_caps,
		.max_send_sge = CAIRN_MAX_SGE,
		.max_recv_sge = CAIRN_MAX_SGE,
		.max_sge_rd = CAIRN_MAX_SGE,
		.max_cq = CAIRN_MAX_CQ,
		.max_cqe = CAIRN_MAX_CQE,
		.max_mr = CAIRN_MAX_MR,
		.max_mw = CAIRN_MAX_MR,
		.max_pd = CAIRN_MAX_PD,
		.max_qp_rd_atom = CAIRN_MAX_RD_ATOM,
		.max_res_rd_atom = CAIRN_MAX_RD_ATOM * CAIRN_MAX_QP,
		.max_qp_init_rd_atom = CAIRN_MAX_RD_ATOM,
		.atomic_cap = IB_ATOMIC_HCA,
		.max_mcast_grp = CAIRN_MAX_MCAST_GROUPS,
		.max_mcast_qp_attach = CAIRN_MAX_MCAST_QPS,
		.max_total_mcast_qp_attach = CAIRN_MAX_MCAST_GROUPS *
					     CAIRN_MAX_MCAST_QPS,
		.max_ah = CAIRN_MAX_AH,
		.max_srq = CAIRN_MAX_SRQ,
		.max_srq_wr = CAIRN_MAX_SRQ_WR,
		.max_srq_sge = CAIRN_MAX_SGE,
		.max_fast_reg_page_list_len = CAIRN_MAX_FAST_REG,
		.max_pkeys = 1,
		.cq_caps.max_cq_moderation_count = U16_MAX,
		.cq_caps.max_cq_moderation_period = U16_MAX,
		.local_ca_ack_delay = 15,
		.timestamp_mask = ~0ull,
		.hca_core_clock = 1000000,	/* kHz: time stamps of CQEs are in ns */
	};
	compat_kernel_caps_set(attr, dev_kernel_caps());
	return 0;
}

static int dev_modify(struct ib_device *ibdev, int mask,
		      struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

/* The name of the netdev. Scripts that were written for rdma_rxe read it. */
static ssize_t dev_parent_show(struct device *device,
			       struct device_attribute *attr, char *buf)
{
	const struct cairn_dev *dev =
		rdma_device_to_drv_device(device, struct cairn_dev, ibdev);

	return sysfs_emit(buf, "%s\n", netdev_name(dev->nic.ndev));
}

static struct device_attribute dev_attr_parent =
	__ATTR(parent, 0444, dev_parent_show, NULL);

static struct attribute *dev_attrs[] = {
	&dev_attr_parent.attr,
	NULL,
};

static const struct attribute_group dev_attr_group = {
	.attrs = dev_attrs,
};

/* The version of the kernel/user ABI, as there is no firmware. */
static void dev_fw_string(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.0.0", CAIRN_ABI_VERSION);
}

/* Also called for a device whose registration failed. */
static void dev_dealloc(struct ib_device *ibdev)
{
	struct cairn_dev *dev = to_cairn_dev(ibdev);

	cairn_fault_stop(&dev->nic);
	if (dev->attached) {
		/* Wait for RCU callbacks that release the routes of address handles. */
		rcu_barrier();
		dev_net_layer->detach(&dev->nic);
	}
	/* Nothing schedules them any more. */
	cancel_delayed_work_sync(&dev->port_late);
	cancel_work_sync(&dev->speed);
	cairn_fault_free(&dev->nic);
	WARN_ON(!xa_empty(&dev->nic.qps));
	xa_destroy(&dev->nic.qps);
	cairn_table_exit(&dev->nic.qp_table);
	xa_destroy(&dev->ahs);
	xa_destroy(&dev->counters);
	cairn_xrc_exit(dev);
	cairn_keys_exit(dev);
	cairn_mrcaches_stop(&dev->nic);
	cairn_room_put(dev->nic.room);
	cairn_epoch_exit(&dev->nic.epoch);
	netdev_put(dev->nic.ndev, &dev->ndev_tracker);
	if (dev->null_page)
		__free_page(dev->null_page);
	free_percpu(dev->nic.stats);
}

static const struct uapi_definition dev_uapi_defs[] = {
	UAPI_DEF_CHAIN(cairn_doorbell_defs),
	UAPI_DEF_CHAIN(cairn_prepare_ring_defs),
	UAPI_DEF_CHAIN(cairn_tuning_defs),
	UAPI_DEF_CHAIN(cairn_caps_defs),
	UAPI_DEF_CHAIN(cairn_host_flush_defs),
	UAPI_DEF_CHAIN(cairn_dereg_async_defs),
	UAPI_DEF_CHAIN(cairn_rate_defs),
	UAPI_DEF_CHAIN(cairn_peer_defs),
	UAPI_DEF_CHAIN(cairn_cq_wait_defs),
	UAPI_DEF_CHAIN(cairn_yield_defs),
	UAPI_DEF_CHAIN(cairn_fault_defs),
	{},
};

static const struct ib_device_ops dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)CAIRN_DRIVER_ID,
	.uverbs_abi_ver = CAIRN_ABI_VERSION,
	.device_group = &dev_attr_group,

	.query_device = dev_query,
	.modify_device = dev_modify,
	.get_dev_fw_str = dev_fw_string,
	.dealloc_driver = dev_dealloc,
	.mmap = cairn_mmap,
	.mmap_free = cairn_mmap_free,
};

/* Each file has the operations of its objects. */
static const struct ib_device_ops *const dev_op_sets[] = {
	&dev_ops,
	&cairn_advise_ops,
	&cairn_ah_ops,
	&cairn_cq_ops,
	&cairn_leave_ops,
	&cairn_link_ops,
	&cairn_mcast_ops,
	&cairn_moderate_ops,
	&cairn_modify_ops,
	&cairn_mr_ops,
	&cairn_mw_ops,
	&cairn_pd_ops,
	&cairn_peer_ops,
	&cairn_poll_ops,
	&cairn_post_ops,
	&cairn_qp_counter_ops,
	&cairn_qp_ops,
	&cairn_restrack_ops,
	&cairn_srq_ops,
	&cairn_stats_ops,
	&cairn_xrc_ops,
};

/* A work item, as it waits for a registration or a change of namespace in progress. */
static void dev_remove_work(struct work_struct *work)
{
	struct cairn_dev *dev = container_of(work, struct cairn_dev, remove);

	ib_unregister_device(&dev->ibdev);
	put_device(&dev->ibdev.dev);
}

void cairn_verbs_remove(struct cairn_nic *nic)
{
	struct cairn_dev *dev = container_of(nic, struct cairn_dev, nic);

	get_device(&dev->ibdev.dev);
	if (!queue_work(dev_remove_wq, &dev->remove))
		put_device(&dev->ibdev.dev);
}

/* Report the port's state, if it has changed. */
static void dev_report_port(struct cairn_dev *dev)
{
	enum ib_port_state state = cairn_link_state(dev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
						   IB_EVENT_PORT_ERR,
	};
	u64 wait;

	ASSERT_RTNL();
	if (state == dev->port_state)
		return;
	/* No listener: the device is not registered or is moving to another namespace.
	 * A later listener may have read this state, so report the next one in any case.
	 */
	if (!ib_device_try_get(&dev->ibdev)) {
		dev->port_state = IB_PORT_NOP;
		return;
	}
	wait = cairn_event_wait(&dev->events);
	if (wait) {
		cairn_nic_count(&dev->nic, CAIRN_CTR_ASYNC_EVENTS_WITHHELD, 1);
		schedule_delayed_work(&dev->port_late, nsecs_to_jiffies(wait) + 1);
	} else {
		dev->port_state = state;
		ib_dispatch_event(&event);
	}
	ib_device_put(&dev->ibdev);
}

static void dev_read_speed(struct cairn_dev *dev)
{
	ASSERT_RTNL();
	WRITE_ONCE(dev->line_kbps, cairn_link_kbps(dev));
}

static void dev_speed_work(struct work_struct *work)
{
	struct cairn_dev *dev = container_of(work, struct cairn_dev, speed);

	rtnl_lock();
	if (!dev->nic.removed)
		dev_read_speed(dev);
	rtnl_unlock();
}

/* Since 7.2 the read of the speed takes the netdev's own lock, below which most events
 * come. So a work item reads it.
 */
void cairn_verbs_changed(struct cairn_nic *nic)
{
	struct cairn_dev *dev = container_of(nic, struct cairn_dev, nic);

	schedule_work(&dev->speed);
	dev_report_port(dev);
}

/* Report what the port is like now, if that was not reported. */
static void dev_port_late(struct work_struct *work)
{
	struct cairn_dev *dev = container_of(to_delayed_work(work), struct cairn_dev,
					     port_late);

	rtnl_lock();
	if (!dev->nic.removed)
		dev_report_port(dev);
	rtnl_unlock();
}

/* Netdevs that carry IP packets. The link layer is not used, so it may be any. */
static bool dev_carries_ip(const struct net_device *ndev)
{
	switch (ndev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:	/* tun, wireguard */
	case ARPHRD_RAWIP:
	case ARPHRD_PPP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
	case ARPHRD_IP6GRE:
		return true;
	}
	return false;
}

/* ib_core's command has no place for a message: the kernel log says why. */
static int dev_check_netdev(struct net_device *ndev)
{
	struct ib_device *other;

	if (is_vlan_dev(ndev)) {
		netdev_err(ndev, "cairn: GIDs of a VLAN belong to the device of its parent, %s: make the link there\n",
			   netdev_name(vlan_dev_real_dev(ndev)));
		return -EINVAL;
	}
	if (!dev_carries_ip(ndev)) {
		netdev_err(ndev, "cairn: no RoCE over netdevs of type %u: take an Ethernet netdev\n",
			   ndev->type);
		return -EINVAL;
	}
	other = ib_device_get_by_netdev(ndev,
					(enum rdma_driver_id)CAIRN_DRIVER_ID);
	if (!other)
		return 0;
	ib_device_put(other);
	return -EEXIST;
}

/* Without a MAC address of its own the device has a random number. */
static void dev_set_guid(struct ib_device *ibdev, const struct net_device *ndev)
{
	u8 addr[ETH_ALEN] __aligned(2);

	if (ndev->addr_len == ETH_ALEN && !is_zero_ether_addr(ndev->dev_addr))
		ether_addr_copy(addr, ndev->dev_addr);
	else
		eth_random_addr(addr);
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, addr);
}

/* Initialise all that cannot fail, so that the device can be deallocated from here on. */
static void dev_init(struct cairn_dev *dev, struct net_device *ndev)
{
	struct ib_device *ibdev = &dev->ibdev;
	unsigned int i;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = 0;
	strscpy(ibdev->node_desc, "cairn", sizeof(ibdev->node_desc));
	dev_set_guid(ibdev, ndev);
	for (i = 0; i < ARRAY_SIZE(dev_op_sets); i++)
		ib_set_device_ops(ibdev, dev_op_sets[i]);
	compat_set_port_speed(ibdev, cairn_link_query_speed);
	compat_set_port_event(ibdev);
	compat_set_counter(ibdev);
	compat_set_comp_cntr(ibdev, &cairn_comp_cntr_ops);
	if (IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS))
		ibdev->driver_def = dev_uapi_defs;

	cairn_keys_init(dev);
	cairn_xrc_init(dev);
	spin_lock_init(&dev->cq_wait_lock);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->nic.qps, XA_FLAGS_ALLOC);
	cairn_table_init(&dev->nic.qp_table);
	cairn_mcast_init(&dev->nic.mcast);
	cairn_shares_init(&dev->nic.shares);
	cairn_peers_init(&dev->peers);
	cairn_advise_init(dev);
	mutex_init(&dev->retire_lock);
	/* Random, so that packets of old connections do not reach new QPs when the
	 * device is created again.
	 */
	dev->next_qpn = get_random_u32() & CAIRN_24BIT_MASK;
	INIT_WORK(&dev->remove, dev_remove_work);
	cairn_event_init(&dev->events);
	INIT_DELAYED_WORK(&dev->port_late, dev_port_late);
	INIT_WORK(&dev->speed, dev_speed_work);
	dev->line_kbps = CAIRN_LINE_KBPS;
	cairn_rate_cc_init(dev);
	dev->nic.ndev = ndev;
	dev->nic.idle_us = CAIRN_IDLE_US;
	dev->nic.held_seed = get_random_u32();
	dev->nic.max_waiting = cairn_exec_max_waiting();
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	dev->port_state = cairn_link_state(dev);
}

/*
 * A device of the initial namespace is visible in every namespace or, after `rdma system
 * set netns exclusive`, in the initial one only. In exclusive mode the device belongs to
 * the namespace of its netdev. That namespace does not end before the device.
 */
static struct cairn_dev *dev_alloc(struct net_device *ndev)
{
	struct cairn_dev *dev = ib_alloc_device(cairn_dev, ibdev);
	struct net *net = dev_net(ndev);

	if (!dev || rdma_dev_access_netns(&dev->ibdev, net))
		return dev;
	ib_dealloc_device(&dev->ibdev);
	return ib_alloc_device_with_net(cairn_dev, ibdev, net);
}

static int dev_register(struct cairn_dev *dev, const char *name)
{
	int err;

	dev->nic.stats = alloc_percpu(struct cairn_stats);
	dev->null_page = alloc_page(GFP_KERNEL);
	if (!dev->nic.stats || !dev->null_page)
		return -ENOMEM;
	err = cairn_epoch_init(&dev->nic.epoch, &dev->nic);
	if (err)
		return err;
	err = ib_device_set_netdev(&dev->ibdev, dev->nic.ndev, 1);
	if (err)
		return err;
	err = dev_net_layer->attach(&dev->nic);
	if (err)
		return err;
	dev->attached = true;
	/* The netdev has moved since the allocation. */
	if (!rdma_dev_access_netns(&dev->ibdev, dev->nic.net))
		return -ESTALE;
	ib_mark_name_assigned_by_user(&dev->ibdev);
	return ib_register_device(&dev->ibdev, name, NULL);
}

/* Handle changes of the netdev that came before the device was registered. ib_core has
 * read the addresses before, and missed later changes.
 */
static void dev_catch_up(struct cairn_dev *dev)
{
	/* Adds GIDs of new addresses, unless the device is being unregistered: ib_core
	 * would not delete them any more.
	 */
	if (ib_device_try_get(&dev->ibdev)) {
		rdma_roce_rescan_device(&dev->ibdev);
		ib_device_put(&dev->ibdev);
	}
	rtnl_lock();
	if (dev->nic.removed) {
		cairn_verbs_remove(&dev->nic);
	} else {
		/* dev_dealloc() may have cancelled the work item already. */
		dev_read_speed(dev);
		dev_report_port(dev);
		/* Removes those of old ones. */
		dev_net_layer->repeat(&dev->nic);
	}
	rtnl_unlock();
}

/* Return: as cairn_verbs_add(), or -ESTALE: the netdev moved meanwhile. */
static int dev_add(const char *name, struct net_device *ndev)
{
	struct cairn_dev *dev = dev_alloc(ndev);
	int err;

	if (!dev)
		return -ENOMEM;
	dev_init(dev, ndev);
	/* A reference until dev_catch_up() has returned, as the device may be
	 * unregistered before.
	 */
	get_device(&dev->ibdev.dev);
	err = dev_register(dev, name);
	if (err)
		ib_dealloc_device(&dev->ibdev);
	else
		dev_catch_up(dev);
	put_device(&dev->ibdev.dev);
	return err;
}

int cairn_verbs_add(const char *name, struct net_device *ndev)
{
	int err;

	mutex_lock(&dev_add_lock);
	do {
		err = dev_check_netdev(ndev) ?: dev_add(name, ndev);
	} while (err == -ESTALE);
	mutex_unlock(&dev_add_lock);
	return err;
}

int cairn_verbs_init(const struct cairn_verbs_net *net)
{
	int err;

	dev_net_layer = net;
	err = cairn_async_start();
	if (err)
		return err;
	err = cairn_dereg_async_start();
	if (err)
		goto err_async;
	err = cairn_odp_jobs_start();
	if (err)
		goto err_dereg;
	err = cairn_peers_start();
	if (err)
		goto err_odp;
	err = cairn_leave_start();
	if (err)
		goto err_peers;
	dev_remove_wq = alloc_workqueue("cairn_remove", WQ_UNBOUND, 0);
	if (dev_remove_wq)
		return 0;
	err = -ENOMEM;
	cairn_leave_stop();
err_peers:
	cairn_peers_stop();
err_odp:
	cairn_odp_jobs_stop();
err_dereg:
	cairn_dereg_async_stop();
err_async:
	cairn_async_stop();
	return err;
}

struct cairn_dev *cairn_dev_of_caller(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);

	return IS_ERR(ibuc) ? ERR_CAST(ibuc) : to_cairn_dev(ibuc->device);
}

bool cairn_dev_may_administer(const struct cairn_dev *dev)
{
	return ns_capable(dev->nic.net->user_ns, CAP_NET_ADMIN);
}

/* No device is left, and cairn_verbs_remove() is not called any more. */
void cairn_verbs_exit(void)
{
	destroy_workqueue(dev_remove_wq);
	cairn_leave_stop();
	cairn_peers_stop();
	cairn_odp_jobs_stop();
	cairn_dereg_async_stop();
	cairn_async_stop();
}
