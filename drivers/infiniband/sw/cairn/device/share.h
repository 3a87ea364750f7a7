/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shares of the users in objects that a device, or a lane, has a limited number of. A user
 * may have as many of a kind as are left for others: half of them if no other
 * user has any, and less when others have some. So no user can take the last one.
 *
 * Kernel consumers and callers with CAP_SYS_RESOURCE in the initial user
 * namespace have the limits of the device alone.
 */
#ifndef CAIRN_DEVICE_SHARE_H
#define CAIRN_DEVICE_SHARE_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

struct cairn_nic;

enum cairn_share_kind {
	CAIRN_SHARE_PD,
	CAIRN_SHARE_XRCD,
	CAIRN_SHARE_AH,
	CAIRN_SHARE_MR,			/* and windows */
	CAIRN_SHARE_CQ,
	CAIRN_SHARE_QP,
	CAIRN_SHARE_SRQ,
	CAIRN_SHARE_GROUP,		/* of multicast, device/mcast.h */
	CAIRN_SHARE_QUESTION,		/* to a peer, until it has an answer */
	CAIRN_SHARE_COMP_CNTR,
	CAIRN_SHARE_WAITING,		/* 64 KiB of received packets: lane/exec.h */
	CAIRN_SHARE_WORD,		/* of a lane, not of a device: lane/watch.c */
	CAIRN_SHARE_KINDS
};

/* A user of a device or lane. Each context and each object has a reference. */
struct cairn_share_user {
	struct hlist_node node;
	kuid_t uid;
	refcount_t refs;
	atomic_t has[CAIRN_SHARE_KINDS];
	atomic64_t kept_bytes;		/* of packets ahead of a gap: device/hold.h */
};

/* In this order, as the data path reads what is behind it in struct cairn_nic: the
 * buckets change rarely.
 */
struct cairn_shares {
	atomic_t taken[CAIRN_SHARE_KINDS];	/* by users and the kernel */
	spinlock_t lock;		/* users; irqsave */
	DECLARE_HASHTABLE(users, 4);
};

void cairn_shares_init(struct cairn_shares *shares);

/* The user whose share counts for the calling process. A user that may create
 * user namespaces can have many UIDs in them, so the owner of the outermost one
 * counts.
 */
kuid_t cairn_share_uid(void);

/* A reference to the user of the calling process. Process context. Return: the
 * user, or NULL (no memory).
 */
struct cairn_share_user *cairn_share_user_get(struct cairn_shares *shares);
/* Any context. @user may be NULL. */
void cairn_share_user_put(struct cairn_shares *shares,
			  struct cairn_share_user *user);

/**
 * cairn_share_check() - may a user have one more?
 * @has: what the user would have then
 * @left: what would be left for others then
 *
 * Context: process.
 * Return: 0 or -EDQUOT.
 */
int cairn_share_check(u32 has, u32 left);

/**
 * cairn_share_take() - count an object that is created
 * @nic: of the device
 * @kind: of the object
 * @max: such objects of a device
 * @user: of cairn_share_user_get(), or NULL: a kernel consumer
 *
 * Context: process; any if @user is NULL.
 * Return: 0, -ENOMEM (the device has @max) or -EDQUOT (the share of @user).
 */
int cairn_share_take(struct cairn_nic *nic, enum cairn_share_kind kind,
		     u32 max, struct cairn_share_user *user);

/* As cairn_share_take(), where the calling process need not be of @user: any context,
 * and no process is exempt. The caller holds a reference to @user.
 */
int cairn_share_take_for(struct cairn_nic *nic, enum cairn_share_kind kind,
			 u32 max, struct cairn_share_user *user);

/* As cairn_share_take(), of @shares. */
int cairn_share_take_in(struct cairn_shares *shares, enum cairn_share_kind kind,
			u32 max, struct cairn_share_user *user);

/* Undo one cairn_share_take_in(). Any context. */
void cairn_share_give_in(struct cairn_shares *shares, enum cairn_share_kind kind,
			 struct cairn_share_user *user);

/* Undo one cairn_share_take() or cairn_share_take_for(). Any context. */
void cairn_share_give(struct cairn_nic *nic, enum cairn_share_kind kind,
		      struct cairn_share_user *user);

/* Count an object of @from for @to from now on, whatever the share of @to is.
 * Each may be NULL. The caller holds a reference to both. Process context.
 */
void cairn_share_move(struct cairn_nic *nic, enum cairn_share_kind kind,
		      struct cairn_share_user *from,
		      struct cairn_share_user *to);

#endif
