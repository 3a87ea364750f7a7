// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: their members, at the limits, without memory, and beside others that
 * join the same group while memory is allocated.
 */
#include <errno.h>
#include "ktap.h"
#include "device/mcast.h"

#define MANY	(CAIRN_MAX_MCAST_QPS + 1)

static struct cairn_nic nic;
static struct cairn_exec execs[MANY];
static int allocs_left;			/* < 0: any number */
static int live;			/* allocations that are not freed */
static int groups;			/* that the shares know of */
static void (*meanwhile)(void);		/* what another does during an allocation */

static bool alloc_counted(void)
{
	void (*other)(void) = meanwhile;

	/* Others wait for this lock, so nothing is allocated below it. */
	ktap_ok(!mutex_is_mine(&nic.mcast.lock));
	meanwhile = NULL;
	if (other)
		other();
	if (!allocs_left)
		return false;
	if (allocs_left > 0)
		allocs_left--;
	live++;
	return true;
}

void *shim_zalloc(size_t size)
{
	return alloc_counted() ? calloc(1, size) : NULL;
}

void *shim_alloc(size_t size)
{
	return alloc_counted() ? malloc(size) : NULL;
}

void shim_free(void *mem)
{
	live -= !!mem;
	free(mem);
}

/* No reader is left. */
void shim_free_rcu(void *mem)
{
	shim_free(mem);
}

int cairn_share_check(u32 has, u32 left)
{
	return has <= left ? 0 : -EDQUOT;
}

int cairn_share_take(struct cairn_nic *of, enum cairn_share_kind kind, u32 max,
		     struct cairn_share_user *user)
{
	if (groups == (int)max)
		return -ENOMEM;
	groups++;
	return 0;
}

void cairn_share_give(struct cairn_nic *of, enum cairn_share_kind kind,
		      struct cairn_share_user *user)
{
	groups--;
}

void cairn_share_move(struct cairn_nic *of, enum cairn_share_kind kind,
		      struct cairn_share_user *from, struct cairn_share_user *to)
{
}

static void begin_test(void)
{
	memset(&nic, 0, sizeof(nic));
	cairn_mcast_init(&nic.mcast);
	allocs_left = -1;
	live = 0;
	groups = 0;
	meanwhile = NULL;
}

static void end_test(void)
{
	ktap_eq(live, 0);
	ktap_eq(groups, 0);
	mutex_destroy(&nic.mcast.lock);
}

static struct in6_addr group_addr(u32 n)
{
	return (struct in6_addr){ .s6_addr32 = { 0xff02, n, 0, 1 } };
}

/* As verbs/mcast.c does it. */
static int mcast_join(u32 group, u32 i)
{
	struct in6_addr addr = group_addr(group);
	struct cairn_mcast_room room;
	bool first;
	int err;

	do {
		err = cairn_mcast_prepare(&nic.mcast, &addr, &room);
		if (err)
			return err;
		mutex_lock(&nic.mcast.lock);
		err = cairn_mcast_add(&nic, &execs[i], NULL, &room, &first);
		mutex_unlock(&nic.mcast.lock);
		cairn_mcast_release(&room);
	} while (err == -EAGAIN);
	return err;
}

static int mcast_part(u32 group, u32 i)
{
	struct in6_addr addr = group_addr(group);
	bool last;
	int err;

	mutex_lock(&nic.mcast.lock);
	err = cairn_mcast_del(&nic, &addr, &execs[i], &last);
	mutex_unlock(&nic.mcast.lock);
	return err;
}

/* Is queue pair @i in the group, as a packet finds it? */
static bool is_in(u32 group, u32 i)
{
	struct in6_addr addr = group_addr(group);
	const struct cairn_mcast_members *members =
		cairn_mcast_find(&nic.mcast, &addr);
	u32 k, found = 0;

	for (k = 0; members && k < members->num; k++)
		found += members->member[k].exec == &execs[i];
	ktap_ok(found <= 1);
	return found;
}

static void come_and_go(void)
{
	u32 i;

	begin_test();
	for (i = 0; i < 8; i++)
		ktap_eq(mcast_join(i / 4, i), 0);
	ktap_eq(mcast_join(0, 1), 0);
	for (i = 0; i < 8; i++) {
		ktap_ok(is_in(i / 4, i));
		ktap_ok(!is_in(1 - i / 4, i));
	}
	ktap_eq(mcast_part(0, 1), 0);
	ktap_eq(mcast_part(0, 1), -EINVAL);
	ktap_eq(mcast_part(2, 1), -EINVAL);
	ktap_ok(!is_in(0, 1) && is_in(0, 2));
	ktap_eq(mcast_join(0, 1), 0);
	ktap_ok(is_in(0, 1) && is_in(0, 2));
	for (i = 0; i < 8; i++)
		ktap_eq(mcast_part(i / 4, i), 0);
	end_test();
}

static void at_the_limits(void)
{
	u32 i;

	begin_test();
	for (i = 0; i < CAIRN_MAX_MCAST_QPS; i++)
		ktap_eq(mcast_join(0, i), 0);
	ktap_eq(mcast_join(0, i), -ENOMEM);
	ktap_eq(mcast_join(0, 7), 0);
	for (i = 1; i < CAIRN_MAX_MCAST_GROUPS; i++)
		ktap_eq(mcast_join(i, 0), 0);
	ktap_eq(mcast_join(i, 0), -ENOMEM);
	ktap_eq(mcast_part(5, 0), 0);
	ktap_eq(mcast_join(i, 0), 0);
	ktap_eq(mcast_part(i, 0), 0);
	for (i = 1; i < CAIRN_MAX_MCAST_GROUPS; i++)
		ktap_eq(mcast_part(i, 0), i == 5 ? -EINVAL : 0);
	for (i = 0; i < CAIRN_MAX_MCAST_QPS; i++)
		ktap_eq(mcast_part(0, i), 0);
	end_test();
}

static void without_memory(void)
{
	int i;

	begin_test();
	for (i = 0; i < 2; i++) {
		allocs_left = i;
		ktap_eq(mcast_join(0, 0), -ENOMEM);
		ktap_eq(live, 0);
	}
	allocs_left = -1;
	ktap_eq(mcast_join(0, 0), 0);
	for (i = 0; i < 2; i++) {
		allocs_left = i;
		ktap_eq(mcast_join(0, 1), -ENOMEM);
		ktap_ok(is_in(0, 0) && !is_in(0, 1));
	}
	allocs_left = -1;
	ktap_eq(mcast_part(0, 0), 0);
	end_test();
}

static void others_join(void)
{
	u32 i;

	for (i = 1; i < 4; i++)
		ktap_eq(mcast_join(0, i), 0);
}

static void others_part(void)
{
	ktap_eq(mcast_part(0, 1), 0);
}

/* The room is for a smaller group, for one that is new, or for one that has gone. */
static void beside_others(void)
{
	u32 i;

	begin_test();
	meanwhile = others_join;
	ktap_eq(mcast_join(0, 0), 0);
	meanwhile = NULL;
	for (i = 0; i < 4; i++) {
		ktap_ok(is_in(0, i));
		ktap_eq(mcast_part(0, i), 0);
	}
	ktap_eq(mcast_join(0, 4), 0);
	meanwhile = others_join;
	ktap_eq(mcast_join(0, 0), 0);
	for (i = 0; i < 5; i++) {
		ktap_ok(is_in(0, i));
		ktap_eq(mcast_part(0, i), 0);
	}
	ktap_eq(mcast_join(0, 1), 0);
	meanwhile = others_part;
	ktap_eq(mcast_join(0, 0), 0);
	ktap_ok(is_in(0, 0) && !is_in(0, 1));
	ktap_eq(mcast_part(0, 0), 0);
	end_test();
}

static const struct ktap_test tests[] = {
	KTAP(come_and_go),
	KTAP(at_the_limits),
	KTAP(without_memory),
	KTAP(beside_others),
};

KTAP_MAIN(tests)
