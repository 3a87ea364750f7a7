// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast: attaches QPs to groups, and makes the netdev join and leave them. */
#include "device/mcast.h"
#include "verbs/dev.h"
#include "verbs/ops.h"

static const struct in6_addr *mcast_addr(const union ib_gid *gid)
{
	return (const struct in6_addr *)gid->raw;
}

/* Add the QP, and have the netdev join with the first one. */
static int mcast_join(struct cairn_qp *qp, struct cairn_mcast_room *room)
{
	struct cairn_nic *nic = &to_cairn_dev(qp->ibqp.device)->nic;
	bool first, last;
	int err;

	lockdep_assert_held(&nic->mcast.lock);
	err = cairn_mcast_add(nic, &qp->exec, qp->cold->user, room, &first);
	if (err || !first)
		return err;
	err = cairn_verbs_net()->join(nic, &room->addr);
	if (err)
		cairn_mcast_del(nic, &room->addr, &qp->exec, &last);
	return err;
}

/**
 * mcast_attach() - ib_device_ops.attach_mcast
 * @ibqp: a UD QP (ib_core checks that)
 * @gid: of the group (ib_core checks that); IPv4-mapped for IPv4
 * @lid: not used by RoCE
 *
 * With its first QP, the netdev joins the group, too, so that multicast routers and
 * switches forward its packets.
 *
 * Context: process, not under RTNL.
 * Return: 0, -ENOMEM (also at a limit), -EDQUOT (the share of the user), or the error
 * of joining.
 */
static int mcast_attach(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct cairn_nic *nic = &to_cairn_dev(ibqp->device)->nic;
	struct cairn_mcast_room room;
	int err;

	do {
		err = cairn_mcast_prepare(&nic->mcast, mcast_addr(gid), &room);
		if (err)
			return err;
		mutex_lock(&nic->mcast.lock);
		err = mcast_join(to_cairn_qp(ibqp), &room);
		mutex_unlock(&nic->mcast.lock);
		cairn_mcast_release(&room);
	} while (err == -EAGAIN);
	return err;
}

/**
 * mcast_detach() - ib_device_ops.detach_mcast
 * @ibqp: the QP
 * @gid: of the group
 * @lid: not used by RoCE
 *
 * Context: process, not under RTNL.
 * Return: 0; -EINVAL: the QP is not attached.
 */
static int mcast_detach(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct cairn_nic *nic = &to_cairn_dev(ibqp->device)->nic;
	bool last;
	int err;

	mutex_lock(&nic->mcast.lock);
	err = cairn_mcast_del(nic, mcast_addr(gid), &to_cairn_qp(ibqp)->exec,
			      &last);
	if (last)
		cairn_verbs_net()->leave(nic, mcast_addr(gid));
	mutex_unlock(&nic->mcast.lock);
	return err;
}

const struct ib_device_ops cairn_mcast_ops = {
	.attach_mcast = mcast_attach,
	.detach_mcast = mcast_detach,
};
