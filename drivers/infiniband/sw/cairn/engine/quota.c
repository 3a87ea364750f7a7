// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/quota.h"

static bool quota_take_from(atomic64_t *used, u32 bytes, s64 limit)
{
	if (atomic64_add_return(bytes, used) <= limit)
		return true;
	atomic64_sub(bytes, used);
	return false;
}

static bool quota_take_of_all(struct cairn_quota *quota, atomic64_t *user, u32 bytes)
{
	s64 left;

	if (!quota_take_from(&quota->total, bytes, CAIRN_QUOTA_TOTAL))
		return false;
	left = CAIRN_QUOTA_TOTAL - atomic64_read(&quota->total);
	if (!user || quota_take_from(user, bytes, left))
		return true;
	atomic64_sub(bytes, &quota->total);
	return false;
}

bool cairn_quota_take(struct cairn_quota *quota, atomic64_t *user, u32 peer, u32 bytes)
{
	atomic64_t *of_peer = &quota->peer[peer % CAIRN_QUOTA_PEERS];

	if (!quota_take_from(of_peer, bytes, CAIRN_QUOTA_PEER))
		return false;
	if (quota_take_of_all(quota, user, bytes))
		return true;
	atomic64_sub(bytes, of_peer);
	return false;
}

void cairn_quota_put(struct cairn_quota *quota, atomic64_t *user, u32 peer, u32 bytes)
{
	atomic64_sub(bytes, &quota->peer[peer % CAIRN_QUOTA_PEERS]);
	atomic64_sub(bytes, &quota->total);
	if (user)
		atomic64_sub(bytes, user);
}
