/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What packets ahead of the sequence may hold of a device's memory: a bound for
 * all, and one for each peer, so that a peer with many queue pairs leaves room for
 * others. Peers are told apart by a hash of the address; those that share a hash
 * share the bound, and nothing is allocated.
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
 * cairn_quota_take() - room for @bytes
 * @quota: of the device; zeroed at first
 * @peer: hash of the peer's address
 * @bytes: as many
 *
 * Returns false, and takes nothing, beyond one of the bounds.
 */
bool cairn_quota_take(struct cairn_quota *quota, u32 peer, u32 bytes);
void cairn_quota_put(struct cairn_quota *quota, u32 peer, u32 bytes);

#endif
