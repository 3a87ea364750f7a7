// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ethtool.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <rdma/ib_mad.h>
#include "verbs/limits.h"
#include "verbs/link.h"
#include "verbs/ops.h"
#include "verbs/stats.h"
#include "verbs/verbs.h"
#include "wire/hdr.h"

/* The longest packet with payload: RDMA WRITE ONLY with immediate, IPv6. */
#define MAX_OVERHEAD							\
	(sizeof(struct ipv6hdr) + sizeof(struct udphdr) +		\
	 sizeof(struct cairn_bth) + sizeof(struct cairn_reth) +		\
	 sizeof(struct cairn_immdt) + CAIRN_ICRC_LEN)

#define LINK_SPEED_KBPS		100000	/* unit of ib_device_ops.query_port_speed */

#define PORT_PHYS_DISABLED	3
#define PORT_PHYS_LINK_UP	5

enum ib_port_state cairn_link_state(const struct cairn_dev *dev)
{
	const struct net_device *ndev = dev->nic.ndev;

	return netif_running(ndev) && netif_carrier_ok(ndev) ?
	       IB_PORT_ACTIVE : IB_PORT_DOWN;
}

u32 cairn_link_kbps(const struct cairn_dev *dev)
{
	struct ethtool_link_ksettings link;

	if (__ethtool_get_link_ksettings(dev->nic.ndev, &link) ||
	    !link.base.speed || link.base.speed > CAIRN_MAX_RATE_LIMIT / 1000)
		return CAIRN_LINE_KBPS;
	return link.base.speed * 1000;
}

/* At least one unit: 0 would mean that nothing can be sent. */
int cairn_link_query_speed(struct ib_device *ibdev, u32 port_num, u64 *speed)
{
	rtnl_lock();
	*speed = max(cairn_link_kbps(to_cairn_dev(ibdev)) / LINK_SPEED_KBPS, 1U);
	rtnl_unlock();
	return 0;
}

enum ib_mtu cairn_link_active_mtu(const struct cairn_dev *dev)
{
	unsigned int room = READ_ONCE(dev->nic.ndev->mtu);
	enum ib_mtu mtu = IB_MTU_4096;

	room -= min_t(unsigned int, room, MAX_OVERHEAD);
	while (mtu > IB_MTU_256 && ib_mtu_enum_to_int(mtu) > room)
		mtu--;
	return mtu;
}

/**
 * link_query_port() - ib_device_ops.query_port
 * @ibdev: the device
 * @port_num: 1
 * @attr: zeroed by ib_core
 *
 * Without a speed, as during the unregistration of the netdev, the smallest is
 * reported.
 *
 * Context: process, not under RTNL, which ib_get_eth_speed() takes.
 * Return: 0.
 */
static int link_query_port(struct ib_device *ibdev, u32 port_num,
			   struct ib_port_attr *attr)
{
	struct cairn_dev *dev = to_cairn_dev(ibdev);

	attr->state = cairn_link_state(dev);
	attr->phys_state = attr->state == IB_PORT_ACTIVE ? PORT_PHYS_LINK_UP :
							   PORT_PHYS_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = cairn_link_active_mtu(dev);
	attr->phys_mtu = READ_ONCE(dev->nic.ndev->mtu);
	attr->gid_tbl_len = CAIRN_GID_TBL_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = CAIRN_MAX_MSG;
	attr->qkey_viol_cntr = cairn_stats_dev_sum(dev, CAIRN_CTR_RX_QKEY_ERRORS);
	attr->bad_pkey_cntr = cairn_stats_dev_sum(dev, CAIRN_CTR_RX_PKEY_ERRORS);
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	if (ib_get_eth_speed(ibdev, port_num, &attr->active_speed,
			     &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
	return 0;
}

/* Called once, at registration. */
static int link_get_immutable(struct ib_device *ibdev, u32 port_num,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = CAIRN_GID_TBL_LEN;
	immutable->pkey_tbl_len = 1;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int link_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index,
			   u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = CAIRN_PKEY_DEFAULT;
	return 0;
}

static enum rdma_link_layer link_get_layer(struct ib_device *ibdev,
					   u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

const struct ib_device_ops cairn_link_ops = {
	.query_port = link_query_port,
	.get_port_immutable = link_get_immutable,
	.get_link_layer = link_get_layer,
	.query_pkey = link_query_pkey,
};
