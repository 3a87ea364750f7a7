// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory for packets ahead of the sequence: neither a peer nor a user can take it all. */
#include "engine/quota.h"
#include "ktap.h"

#define BYTES	2048

static u32 quota_fill_for(struct cairn_quota *quota, atomic64_t *user, u32 peer)
{
	u32 n = 0;

	while (cairn_quota_take(quota, user, peer, BYTES))
		n++;
	return n;
}

static u32 quota_fill(struct cairn_quota *quota, u32 peer)
{
	return quota_fill_for(quota, NULL, peer);
}

static void quota_drain(struct cairn_quota *quota, u32 peer, u32 n)
{
	while (n--)
		cairn_quota_put(quota, NULL, peer, BYTES);
}

static void one_peer_leaves_room(void)
{
	struct cairn_quota quota = {};
	u32 n;

	n = quota_fill(&quota, 7);
	ktap_eq(n, CAIRN_QUOTA_PEER / BYTES);
	ktap_ok(!cairn_quota_take(&quota, NULL, 7 + CAIRN_QUOTA_PEERS, BYTES));
	ktap_ok(cairn_quota_take(&quota, NULL, 8, BYTES));
	cairn_quota_put(&quota, NULL, 8, BYTES);
	quota_drain(&quota, 7, n);
	ktap_eq(quota_fill(&quota, 7), n);
}

static void all_have_a_bound(void)
{
	struct cairn_quota quota = {};
	u32 n[CAIRN_QUOTA_PEERS], peer, sum = 0;

	for (peer = 0; peer < CAIRN_QUOTA_PEERS; peer++)
		sum += n[peer] = quota_fill(&quota, peer);
	ktap_eq(sum, CAIRN_QUOTA_TOTAL / BYTES);
	/* what was refused at the second bound is not counted at the first */
	ktap_eq(atomic64_read(&quota.peer[CAIRN_QUOTA_PEERS - 1]), 0);
	for (peer = 0; peer < CAIRN_QUOTA_PEERS; peer++)
		quota_drain(&quota, peer, n[peer]);
	ktap_eq(atomic64_read(&quota.total), 0);
	ktap_eq(quota_fill(&quota, CAIRN_QUOTA_PEERS - 1), CAIRN_QUOTA_PEER / BYTES);
}

/* Fill as all peers. Return: the packets of all. */
static u32 quota_fill_all(struct cairn_quota *quota, atomic64_t *user)
{
	u32 peer, sum = 0;

	for (peer = 0; peer < CAIRN_QUOTA_PEERS; peer++)
		sum += quota_fill_for(quota, user, peer);
	return sum;
}

static void a_user_leaves_room(void)
{
	atomic64_t greedy = {}, modest = {};
	struct cairn_quota quota = {};
	u32 n = quota_fill_all(&quota, &greedy);

	ktap_eq(n, CAIRN_QUOTA_TOTAL / BYTES / 2);
	ktap_eq(atomic64_read(&greedy), CAIRN_QUOTA_TOTAL / 2);
	/* what was refused does not count */
	ktap_eq(atomic64_read(&quota.total), CAIRN_QUOTA_TOTAL / 2);
	ktap_eq(quota_fill_all(&quota, &modest), n / 2);
	while (n--)
		cairn_quota_put(&quota, &greedy, n / (CAIRN_QUOTA_PEER / BYTES), BYTES);
	ktap_eq(atomic64_read(&greedy), 0);
	ktap_eq(atomic64_read(&quota.total), CAIRN_QUOTA_TOTAL / 4);
	/* queue pairs of the kernel have the bound of the device */
	ktap_ok(cairn_quota_take(&quota, NULL, 0, BYTES));
}

static const struct ktap_test tests[] = {
	KTAP(one_peer_leaves_room),
	KTAP(all_have_a_bound),
	KTAP(a_user_leaves_room),
};

KTAP_MAIN(tests)
