// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles, and the path that an address vector describes.
 *
 * A send WQE has the number of its handle. A process can write any number, so the data
 * path looks it up and compares protection domains.
 */
#include <linux/cred.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include "verbs/ah.h"
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/udata.h"

#define DEFAULT_HOP_LIMIT	64

/*
 * GIDs of upper netdevs (VLAN, macvlan) belong to the port, too. Routes are looked up in
 * the namespace of the device. An upper netdev in another namespace is refused, as its
 * index may belong to another netdev here.
 */
static int ah_ifindex(struct cairn_dev *dev, const struct ib_gid_attr *sgid,
		      int *ifindex)
{
	const struct net_device *ndev;
	int err = -EINVAL;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), dev->nic.net)) {
		*ifindex = ndev->ifindex;
		err = 0;
	}
	rcu_read_unlock();
	return err;
}

/* Is the destination not one host? Broadcast is refused as for a socket without
 * SO_BROADCAST; 0.0.0.0 would mean this host.
 */
static bool ah_is_no_host(const struct cairn_path *path)
{
	__be32 daddr = path->daddr.s6_addr32[3];

	if (path->ipv6)
		return ipv6_addr_any(&path->daddr);
	return ipv4_is_zeronet(daddr) || ipv4_is_lbcast(daddr);
}

/* Set both addresses. The network type of the source GID says their family. */
static int ah_set_addrs(struct cairn_path *path, const struct ib_gid_attr *sgid,
			const union ib_gid *dgid)
{
	memcpy(&path->saddr, sgid->gid.raw, sizeof(path->saddr));
	memcpy(&path->daddr, dgid->raw, sizeof(path->daddr));
	switch (rdma_gid_attr_network_type(sgid)) {
	case RDMA_NETWORK_IPV4:
		path->ipv6 = false;
		break;
	case RDMA_NETWORK_IPV6:
		/* ib_core makes a link-local GID even if IPv6 is off. */
		if (!ipv6_mod_enabled())
			return -EAFNOSUPPORT;
		path->ipv6 = true;
		break;
	default:
		return -EINVAL;
	}
	if (ipv6_addr_v4mapped(&path->daddr) == path->ipv6 ||
	    ipv6_addr_v4mapped(&path->saddr) == path->ipv6 ||
	    ah_is_no_host(path))
		return -EINVAL;
	return 0;
}

/* The static rate (IBTA 9.11) in kbit/s; 0: as fast as the port. */
static int ah_static_rate(const struct rdma_ah_attr *attr, u32 *kbps)
{
	u8 rate = rdma_ah_get_static_rate(attr);
	int mbps;

	*kbps = 0;
	if (rate == IB_RATE_PORT_CURRENT)
		return 0;
	mbps = ib_rate_to_mbps(rate);
	if (mbps < 0)
		return -EINVAL;
	if (mbps <= CAIRN_MAX_RATE_LIMIT / 1000)
		*kbps = mbps * 1000;
	return 0;
}

int cairn_ah_to_path(struct cairn_dev *dev, const struct rdma_ah_attr *attr,
		     u32 flow_label, struct cairn_path *path)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	u32 label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_attr ||
	    grh->sgid_attr->device != &dev->ibdev)
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	err = ah_set_addrs(path, grh->sgid_attr, &grh->dgid);
	if (err)
		return err;
	err = ah_static_rate(attr, &path->kbps);
	if (err)
		return err;
	path->tos = grh->traffic_class & ~INET_ECN_MASK;
	path->ttl = grh->hop_limit ?: DEFAULT_HOP_LIMIT;
	path->flow_label = cpu_to_be32(label);
	path->sport = cpu_to_be16(rdma_flow_label_to_udp_sport(label ?:
							       flow_label));
	return ah_ifindex(dev, grh->sgid_attr, &path->ifindex);
}

/* A handle belongs to no QP, so a keyed hash of the peer's address chooses the port. */
static int ah_path(struct cairn_dev *dev, const struct rdma_ah_attr *attr,
		   struct cairn_path *path)
{
	const u8 *gid = rdma_ah_read_grh(attr)->dgid.raw;
	static siphash_key_t secret;
	u32 hash;

	get_random_once(&secret, sizeof(secret));
	hash = siphash(gid, sizeof(union ib_gid), &secret);
	return cairn_ah_to_path(dev, attr, hash & IB_GRH_FLOWLABEL_MASK,
				path);
}

/* Store the attributes for query_ah, without the GID's reference, which ib_core has. */
static void ah_keep(struct cairn_ib_ah *ibah, const struct rdma_ah_attr *attr)
{
	ibah->attr = *attr;
	ibah->attr.grh.sgid_attr = NULL;
}

/* Make the object of a handle, with its path. Return: an error pointer with -EINVAL,
 * -EAFNOSUPPORT or -ENOMEM.
 */
static struct cairn_ah *ah_new(struct ib_ah *ibah, const struct rdma_ah_attr *attr,
			       gfp_t gfp)
{
	struct cairn_ah *ah = kzalloc(sizeof(*ah), gfp);
	int err;

	if (!ah)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&ah->lock);
	ah->pd = ibah->pd;
	err = ah_path(to_cairn_dev(ibah->device), attr, &ah->path);
	if (err) {
		kfree(ah);
		return ERR_PTR(err);
	}
	return ah;
}

/* Reserve a number, which look-ups do not find yet. Callers may hold irqsave locks. */
static int ah_reserve(struct cairn_dev *dev, struct cairn_ib_ah *self)
{
	unsigned long flags;
	int err;

	xa_lock_irqsave(&dev->ahs, flags);
	err = __xa_alloc_cyclic(&dev->ahs, &self->num, NULL,
				XA_LIMIT(1, CAIRN_MAX_AH), &dev->next_ah,
				GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ahs, flags);
	return min(err, 0);
}

/* Make the handle reachable. Cannot fail, as the slot is reserved. */
static void ah_publish(struct cairn_dev *dev, const struct cairn_ib_ah *self)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->ahs, flags);
	__xa_store(&dev->ahs, self->num, self->ah, GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ahs, flags);
}

static void ah_unpublish(struct cairn_dev *dev, const struct cairn_ib_ah *self)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->ahs, flags);
	__xa_erase(&dev->ahs, self->num);
	xa_unlock_irqrestore(&dev->ahs, flags);
}

static void ah_free_rcu(struct rcu_head *rcu)
{
	struct cairn_ah *ah = container_of(rcu, struct cairn_ah, rcu);

	cairn_path_drop_route(&ah->path);
	kfree(ah);
}

static int ah_reply(const struct cairn_ib_ah *self, struct ib_udata *udata)
{
	struct cairn_create_ah_resp resp = { .ah_num = self->num };

	return udata ? ib_copy_to_udata(udata, &resp, sizeof(resp)) : 0;
}

/**
 * ah_create() - ib_device_ops.create_ah and create_user_ah
 * @ibah: the new handle
 * @init: attributes; flags say whether sleeping is allowed
 * @udata: reply struct cairn_create_ah_resp
 *
 * Return: 0, -EINVAL (address, tail), -EAFNOSUPPORT (IPv6 is off), -ENOMEM (also at
 * the limit), -EDQUOT (the share of the user) or -EFAULT.
 */
static int ah_create(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL :
							     GFP_ATOMIC;
	struct cairn_ib_ah *self = to_cairn_ib_ah(ibah);
	struct cairn_dev *dev = to_cairn_dev(ibah->device);
	struct cairn_ah *ah;
	int err;

	err = cairn_udata_check(udata, sizeof(struct cairn_create_ah_resp));
	if (err)
		return err;
	ah = ah_new(ibah, init->ah_attr, gfp | (udata ? __GFP_ACCOUNT : 0));
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	if (udata)
		ah->path.uid = current_uid();
	err = cairn_share_take(&dev->nic, CAIRN_SHARE_AH, CAIRN_MAX_AH,
			       cairn_pd_user(ibah->pd));
	if (err)
		goto err_free;
	err = ah_reserve(dev, self);
	if (err)
		goto err_share;
	err = ah_reply(self, udata);
	if (err)
		goto err_reserved;
	self->ah = ah;
	ah_keep(self, init->ah_attr);
	ah_publish(dev, self);
	return 0;

err_reserved:
	ah_unpublish(dev, self);
err_share:
	cairn_share_give(&dev->nic, CAIRN_SHARE_AH, cairn_pd_user(ibah->pd));
err_free:
	kfree(ah);
	return err;
}

/**
 * ah_modify() - ib_device_ops.modify_ah
 * @ibah: the handle of a kernel consumer
 * @attr: the new attributes, all of them
 *
 * Later sends use the new path. A run below this call may hold the lock of the old one, so
 * another object takes its place.
 *
 * Context: any.
 * Return: 0, -EINVAL (address), -EAFNOSUPPORT (IPv6 is off) or -ENOMEM.
 */
static int ah_modify(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct cairn_ib_ah *self = to_cairn_ib_ah(ibah);
	struct cairn_ah *ah = ah_new(ibah, attr, GFP_ATOMIC | __GFP_NOWARN), *old;
	struct cairn_dev *dev = to_cairn_dev(ibah->device);
	unsigned long flags;

	if (IS_ERR(ah))
		return PTR_ERR(ah);
	/* Calls for one handle may come at the same time. */
	xa_lock_irqsave(&dev->ahs, flags);
	old = self->ah;
	ah->path.uid = old->path.uid;
	self->ah = ah;
	ah_keep(self, attr);
	__xa_store(&dev->ahs, self->num, ah, GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ahs, flags);
	call_rcu(&old->rcu, ah_free_rcu);
	return 0;
}

static int ah_query(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_cairn_ib_ah(ibah)->attr;
	return 0;
}

/* Does not sleep, whatever @flags say. */
static int ah_destroy(struct ib_ah *ibah, u32 flags)
{
	struct cairn_dev *dev = to_cairn_dev(ibah->device);
	struct cairn_ib_ah *self = to_cairn_ib_ah(ibah);

	ah_unpublish(dev, self);
	cairn_share_give(&dev->nic, CAIRN_SHARE_AH, cairn_pd_user(ibah->pd));
	call_rcu(&self->ah->rcu, ah_free_rcu);
	return 0;
}

struct cairn_ah *cairn_ah_find(struct cairn_qp *qp, u32 num)
{
	struct cairn_ah *ah = xa_load(&to_cairn_dev(qp->ibqp.device)->ahs,
				      num);

	return ah && ah->pd == qp->ibqp.pd ? ah : NULL;
}

const struct ib_device_ops cairn_ah_ops = {
	.create_ah = ah_create,
	.create_user_ah = ah_create,
	.modify_ah = ah_modify,
	.query_ah = ah_query,
	.destroy_ah = ah_destroy,
	INIT_RDMA_OBJ_SIZE(ib_ah, cairn_ib_ah, ibah),
};
