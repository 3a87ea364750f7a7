// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/jhash.h>
#include <linux/overflow.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "device/mcast.h"
#include "device/share.h"

void cairn_mcast_init(struct cairn_mcast *mcast)
{
	mutex_init(&mcast->lock);
}

static struct hlist_head *mcast_bucket(struct cairn_mcast *mcast,
				       const struct in6_addr *addr)
{
	return &mcast->group[jhash2((const u32 *)addr->s6_addr32, 4, 0) %
			     CAIRN_MCAST_BUCKETS];
}

/* Find a group. RCU read section, or under mcast->lock. */
static struct cairn_mcast_group *mcast_group(struct cairn_mcast *mcast,
					     const struct in6_addr *addr)
{
	struct cairn_mcast_group *group;

	hlist_for_each_entry_rcu(group, mcast_bucket(mcast, addr), node,
				 lockdep_is_held(&mcast->lock))
		if (ipv6_addr_equal(&group->addr, addr))
			return group;
	return NULL;
}

const struct cairn_mcast_members *
cairn_mcast_find(struct cairn_mcast *mcast, const struct in6_addr *addr)
{
	struct cairn_mcast_group *group;

	if (READ_ONCE(mcast->closed))
		return NULL;
	group = mcast_group(mcast, addr);
	return group ? rcu_dereference(group->members) : NULL;
}

static struct cairn_mcast_members *mcast_members(struct cairn_mcast *mcast,
						 struct cairn_mcast_group *group)
{
	return rcu_dereference_protected(group->members,
					 lockdep_is_held(&mcast->lock));
}

/* Index of @exec; members->num if it is not a member. */
static u32 mcast_index(const struct cairn_mcast_members *members,
		       const struct cairn_exec *exec)
{
	u32 i = 0;

	while (i < members->num && members->member[i].exec != exec)
		i++;
	return i;
}

/* Queue pairs of @user among @members. */
static u32 mcast_has(const struct cairn_mcast_members *members,
		     const struct cairn_share_user *user)
{
	u32 i, n = 0;

	for (i = 0; i < members->num; i++)
		n += members->member[i].exec && members->member[i].user == user;
	return n;
}

int cairn_mcast_prepare(struct cairn_mcast *mcast, const struct in6_addr *addr,
			struct cairn_mcast_room *room)
{
	struct cairn_mcast_group *group;

	room->addr = *addr;
	rcu_read_lock();
	group = mcast_group(mcast, addr);
	room->places = group ? READ_ONCE(group->num) + 1 : 1;
	rcu_read_unlock();
	room->group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	room->members = kmalloc(struct_size(room->members, member, room->places),
				GFP_KERNEL_ACCOUNT);
	if (room->group && room->members)
		return 0;
	cairn_mcast_release(room);
	return -ENOMEM;
}

void cairn_mcast_release(struct cairn_mcast_room *room)
{
	kfree(room->group);
	kfree(room->members);
}

/* Take the members from @room. */
static struct cairn_mcast_members *mcast_take(struct cairn_mcast_room *room,
					      u32 num)
{
	struct cairn_mcast_members *members = room->members;

	room->members = NULL;
	members->num = num;
	return members;
}

/* Create a group with one member. */
static int mcast_create(struct cairn_nic *nic, struct cairn_exec *exec,
			struct cairn_share_user *user,
			struct cairn_mcast_room *room)
{
	struct cairn_mcast_group *group = room->group;
	struct cairn_mcast_members *members;
	int err;

	err = cairn_share_take(nic, CAIRN_SHARE_GROUP, CAIRN_MAX_MCAST_GROUPS,
			       user);
	if (err)
		return err;
	members = mcast_take(room, 1);
	members->member[0].exec = exec;
	members->member[0].user = user;
	room->group = NULL;
	group->addr = room->addr;
	group->num = 1;
	group->user = user;
	RCU_INIT_POINTER(group->members, members);
	hlist_add_head_rcu(&group->node, mcast_bucket(&nic->mcast, &room->addr));
	return 0;
}

/* May @user have one more place in @group? */
static int mcast_check_place(const struct cairn_mcast_group *group,
			     const struct cairn_mcast_members *members,
			     const struct cairn_share_user *user)
{
	if (group->num == CAIRN_MAX_MCAST_QPS)
		return -ENOMEM;
	if (!user)
		return 0;
	return cairn_share_check(mcast_has(members, user) + 1,
				 CAIRN_MAX_MCAST_QPS - group->num - 1);
}

/* Replace the members by a copy with @exec; QPs that have left are not copied. */
static int mcast_grow(struct cairn_nic *nic, struct cairn_mcast_group *group,
		      struct cairn_exec *exec, struct cairn_share_user *user,
		      struct cairn_mcast_room *room)
{
	struct cairn_mcast_members *old = mcast_members(&nic->mcast, group);
	struct cairn_mcast_members *members;
	u32 i, n = 0;
	int err;

	if (mcast_index(old, exec) < old->num)
		return 0;
	err = mcast_check_place(group, old, user);
	if (err)
		return err;
	if (room->places <= group->num)
		return -EAGAIN;
	members = mcast_take(room, group->num + 1);
	for (i = 0; i < old->num; i++)
		if (old->member[i].exec)
			members->member[n++] = old->member[i];
	members->member[n].exec = exec;
	members->member[n].user = user;
	WRITE_ONCE(group->num, group->num + 1);
	rcu_assign_pointer(group->members, members);
	kfree_rcu(old, rcu);
	return 0;
}

int cairn_mcast_add(struct cairn_nic *nic, struct cairn_exec *exec,
		    struct cairn_share_user *user,
		    struct cairn_mcast_room *room, bool *first)
{
	struct cairn_mcast_group *group = mcast_group(&nic->mcast, &room->addr);

	lockdep_assert_held(&nic->mcast.lock);
	*first = !group;
	return group ? mcast_grow(nic, group, exec, user, room) :
		       mcast_create(nic, exec, user, room);
}

static void mcast_destroy(struct cairn_nic *nic,
			  struct cairn_mcast_group *group)
{
	hlist_del_rcu(&group->node);
	cairn_share_give(nic, CAIRN_SHARE_GROUP, group->user);
	kfree_rcu(mcast_members(&nic->mcast, group), rcu);
	kfree_rcu(group, rcu);
}

/* A group counts for the share of a user that has a member in it. */
static void mcast_pass_on(struct cairn_nic *nic,
			  struct cairn_mcast_group *group,
			  const struct cairn_mcast_members *members)
{
	u32 i = 0;

	if (mcast_has(members, group->user))
		return;
	while (!members->member[i].exec)
		i++;
	cairn_share_move(nic, CAIRN_SHARE_GROUP, group->user,
			 members->member[i].user);
	group->user = members->member[i].user;
}

int cairn_mcast_del(struct cairn_nic *nic, const struct in6_addr *addr,
		    struct cairn_exec *exec, bool *last)
{
	struct cairn_mcast_group *group = mcast_group(&nic->mcast, addr);
	struct cairn_mcast_members *members;
	u32 i;

	lockdep_assert_held(&nic->mcast.lock);
	*last = false;
	if (!group)
		return -EINVAL;
	members = mcast_members(&nic->mcast, group);
	i = mcast_index(members, exec);
	if (i == members->num)
		return -EINVAL;
	WRITE_ONCE(members->member[i].exec, NULL);
	WRITE_ONCE(group->num, group->num - 1);
	*last = !group->num;
	if (*last)
		mcast_destroy(nic, group);
	else
		mcast_pass_on(nic, group, members);
	return 0;
}
