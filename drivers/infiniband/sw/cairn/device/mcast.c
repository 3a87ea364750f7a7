// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "device/mcast.h"

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
	struct cairn_mcast_group *group = mcast_group(mcast, addr);

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

	while (i < members->num && members->exec[i] != exec)
		i++;
	return i;
}

static struct cairn_mcast_members *mcast_alloc(u32 num)
{
	struct cairn_mcast_members *members;

	if (num > CAIRN_MAX_MCAST_QPS)
		return NULL;
	members = kmalloc(struct_size(members, exec, num), GFP_KERNEL_ACCOUNT);
	if (members)
		members->num = num;
	return members;
}

/* Create a group with one member. */
static int mcast_create(struct cairn_mcast *mcast, const struct in6_addr *addr,
			struct cairn_exec *exec)
{
	struct cairn_mcast_group *group;
	struct cairn_mcast_members *members;

	if (mcast->num_groups == CAIRN_MAX_MCAST_GROUPS)
		return -ENOMEM;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	members = mcast_alloc(1);
	if (!members) {
		kfree(group);
		return -ENOMEM;
	}
	members->exec[0] = exec;
	group->addr = *addr;
	group->num = 1;
	RCU_INIT_POINTER(group->members, members);
	hlist_add_head_rcu(&group->node, mcast_bucket(mcast, addr));
	mcast->num_groups++;
	return 0;
}

/* Replace the members by a copy with @exec; QPs that have left are not copied. */
static int mcast_grow(struct cairn_mcast *mcast,
		      struct cairn_mcast_group *group, struct cairn_exec *exec)
{
	struct cairn_mcast_members *old = mcast_members(mcast, group);
	struct cairn_mcast_members *members;
	u32 i, n = 0;

	if (mcast_index(old, exec) < old->num)
		return 0;
	members = mcast_alloc(group->num + 1);
	if (!members)
		return -ENOMEM;
	for (i = 0; i < old->num; i++)
		if (old->exec[i])
			members->exec[n++] = old->exec[i];
	members->exec[n] = exec;
	group->num++;
	rcu_assign_pointer(group->members, members);
	kfree_rcu(old, rcu);
	return 0;
}

int cairn_mcast_add(struct cairn_mcast *mcast, const struct in6_addr *addr,
		    struct cairn_exec *exec, bool *first)
{
	struct cairn_mcast_group *group = mcast_group(mcast, addr);

	*first = !group;
	return group ? mcast_grow(mcast, group, exec) :
		       mcast_create(mcast, addr, exec);
}

static void mcast_destroy(struct cairn_mcast *mcast,
			  struct cairn_mcast_group *group)
{
	hlist_del_rcu(&group->node);
	mcast->num_groups--;
	kfree_rcu(mcast_members(mcast, group), rcu);
	kfree_rcu(group, rcu);
}

int cairn_mcast_del(struct cairn_mcast *mcast, const struct in6_addr *addr,
		    struct cairn_exec *exec, bool *last)
{
	struct cairn_mcast_group *group = mcast_group(mcast, addr);
	struct cairn_mcast_members *members;
	u32 i;

	*last = false;
	if (!group)
		return -EINVAL;
	members = mcast_members(mcast, group);
	i = mcast_index(members, exec);
	if (i == members->num)
		return -EINVAL;
	WRITE_ONCE(members->exec[i], NULL);
	*last = !--group->num;
	if (*last)
		mcast_destroy(mcast, group);
	return 0;
}
