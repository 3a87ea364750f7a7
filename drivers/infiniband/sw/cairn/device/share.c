// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "device/nic.h"
#include "device/share.h"

void cairn_shares_init(struct cairn_shares *shares)
{
	spin_lock_init(&shares->lock);
	hash_init(shares->users);
}

kuid_t cairn_share_uid(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

static struct cairn_share_user *share_find(struct cairn_shares *shares,
					   kuid_t uid)
{
	struct cairn_share_user *user;

	lockdep_assert_held(&shares->lock);
	hash_for_each_possible(shares->users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

/* Allocate before taking the lock. */
struct cairn_share_user *cairn_share_user_get(struct cairn_shares *shares)
{
	struct cairn_share_user *user, *fresh;
	kuid_t uid = cairn_share_uid();

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	spin_lock_irq(&shares->lock);
	user = share_find(shares, uid);
	if (user) {
		refcount_inc(&user->refs);
	} else if (fresh) {
		swap(user, fresh);
		user->uid = uid;
		refcount_set(&user->refs, 1);
		hash_add(shares->users, &user->node, __kuid_val(uid));
	}
	spin_unlock_irq(&shares->lock);
	kfree(fresh);
	return user;
}

void cairn_share_user_put(struct cairn_shares *shares,
			  struct cairn_share_user *user)
{
	unsigned long flags;
	bool last;

	/* as refcount_dec_and_lock_irqsave(), which sparse cannot follow */
	if (!user || refcount_dec_not_one(&user->refs))
		return;
	spin_lock_irqsave(&shares->lock, flags);
	last = refcount_dec_and_test(&user->refs);
	if (last)
		hash_del(&user->node);
	spin_unlock_irqrestore(&shares->lock, flags);
	if (last)
		kfree(user);
}

static bool share_exempt(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
}

int cairn_share_check(u32 has, u32 left)
{
	return has <= left || share_exempt() ? 0 : -EDQUOT;
}

/* @calls: the calling process is of @user, and its capabilities count. */
static int share_take(struct cairn_shares *shares, enum cairn_share_kind kind, u32 max,
		      struct cairn_share_user *user, bool calls)
{
	atomic_t *taken = &shares->taken[kind];
	u32 has;

	if (!atomic_add_unless(taken, 1, max))
		return -ENOMEM;
	if (!user)
		return 0;
	has = atomic_inc_return(&user->has[kind]);
	if (has > max - atomic_read(taken) && !(calls && share_exempt()))
		goto err_count;
	refcount_inc(&user->refs);
	return 0;

err_count:
	atomic_dec(&user->has[kind]);
	atomic_dec(taken);
	return -EDQUOT;
}

int cairn_share_take(struct cairn_nic *nic, enum cairn_share_kind kind,
		     u32 max, struct cairn_share_user *user)
{
	return share_take(&nic->shares, kind, max, user, true);
}

int cairn_share_take_in(struct cairn_shares *shares, enum cairn_share_kind kind,
			u32 max, struct cairn_share_user *user)
{
	return share_take(shares, kind, max, user, true);
}

int cairn_share_take_for(struct cairn_nic *nic, enum cairn_share_kind kind,
			 u32 max, struct cairn_share_user *user)
{
	return share_take(&nic->shares, kind, max, user, false);
}

void cairn_share_give_in(struct cairn_shares *shares, enum cairn_share_kind kind,
			 struct cairn_share_user *user)
{
	atomic_dec(&shares->taken[kind]);
	if (!user)
		return;
	atomic_dec(&user->has[kind]);
	cairn_share_user_put(shares, user);
}

void cairn_share_give(struct cairn_nic *nic, enum cairn_share_kind kind,
		      struct cairn_share_user *user)
{
	cairn_share_give_in(&nic->shares, kind, user);
}

void cairn_share_move(struct cairn_nic *nic, enum cairn_share_kind kind,
		      struct cairn_share_user *from,
		      struct cairn_share_user *to)
{
	if (to) {
		atomic_inc(&to->has[kind]);
		refcount_inc(&to->refs);
	}
	if (from) {
		atomic_dec(&from->has[kind]);
		cairn_share_user_put(&nic->shares, from);
	}
}
