/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bounds of the memory for packets that a device keeps ahead of a gap. All packets have
 * a bound. Each peer has one, as it may have many queue pairs, and each user, as its
 * peers may have many addresses. A user has at most as much as is left for others. A
 * hash of the address identifies the peer; peers with the same hash share a bound. No
 * memory is allocated.
 *
 * Atomic; any context.
 */
#ifndef CAIRN_ENGINE_QUOTA_H
#define CAIRN_ENGINE_QUOTA_H

#include <linux/atomic.h>
#include <linux/types.h>

#define CAIRN_QUOTA_TOTAL	(64 << 20)	/* bytes */
#define CAIRN_QUOTA_PEER	(8 << 20)
#define CAIRN_QUOTA_PEERS	128

struct cairn_quota {
	atomic64_t total;
	atomic64_t peer[CAIRN_QUOTA_PEERS];
};

/**
 * cairn_quota_take() - take room for @bytes
 * @quota: of the device; initially zeroed
 * @user: what the queue pairs of a user have, in bytes; initially 0. NULL: of the kernel
 * @peer: hash of the peer's address
 * @bytes: bytes of memory
 *
 * Return: false, and no room is taken, beyond one of the bounds.
 */
bool cairn_quota_take(struct cairn_quota *quota, atomic64_t *user, u32 peer,
		      u32 bytes);
void cairn_quota_put(struct cairn_quota *quota, atomic64_t *user, u32 peer, u32 bytes);

#endif
