// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shares of users in objects that a device has a limited number of. A user takes all
 * that it can get. Another one gets some then, and nothing stays taken when both end.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define GREEDY		65534
#define MODEST		65533
#define EACH		16	/* what MODEST wants */
#define GROUPS		512	/* max_mcast_grp */
#define PLACES		512	/* max_mcast_qp_attach */

/* The number of objects that a process has got, and why it got no more. */
struct haul {
	int n;
	int err;
	bool go;
};

static struct haul *hauls;
static struct vt_dev dev;
static struct ibv_cq *cq;
static int first_group;

static struct ibv_qp *shares_datagrams(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { 1, 1, 1, 1 },
	};

	return ibv_create_qp(dev.pd, &init);
}

static union ibv_gid shares_group(int i)
{
	union ibv_gid gid = { .raw = {
		[10] = 0xff, [11] = 0xff, 239, 78, i >> 8, i,
	} };

	return gid;
}

/* A group more for a queue pair. */
static int take_group(int i)
{
	static struct ibv_qp *qp;
	union ibv_gid gid = shares_group(i + first_group +
					 (getuid() == MODEST) * 8192);

	qp = qp ?: shares_datagrams();
	return qp ? ibv_attach_mcast(qp, &gid, 0) : errno;
}

/* A place more in a group of all. */
static int take_place(int i)
{
	struct ibv_qp *qp = shares_datagrams();
	union ibv_gid gid = shares_group(16384);

	return qp ? ibv_attach_mcast(qp, &gid, 0) : errno;
}

static int take_pd(int i)
{
	return ibv_alloc_pd(dev.ctx) ? 0 : errno;
}

/* As @uid: take up to @most, say so, and hold them until told to go. */
static void shares_taker(struct haul *haul, uid_t uid, int (*take)(int i), int most)
{
	int err = 0;

	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	    vt_open(&dev, vt_name_a(), VT_IPV4, -1))
		_exit(2);
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	if (!cq)
		_exit(3);
	while (haul->n < most && !(err = take(haul->n)))
		haul->n++;
	__atomic_store_n(&haul->err, err ?: -1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&haul->go, __ATOMIC_ACQUIRE))
		usleep(10000);
	_exit(0);
}

static pid_t shares_start(struct haul *haul, uid_t uid, int (*take)(int i), int most)
{
	u64 end = vt_now_ms() + vt_ms(120000);
	int status = 0;
	pid_t child;

	memset(haul, 0, sizeof(*haul));
	child = fork();
	must(child >= 0);
	if (!child)
		shares_taker(haul, uid, take, most);
	while (!__atomic_load_n(&haul->err, __ATOMIC_ACQUIRE)) {
		must(!waitpid(child, &status, WNOHANG) && vt_now_ms() < end);
		usleep(10000);
	}
	return child;
}

static void shares_end(struct haul *haul, pid_t child)
{
	int status;

	__atomic_store_n(&haul->go, true, __ATOMIC_RELEASE);
	must(waitpid(child, &status, 0) == child);
	ktap_eq(status, 0);
}

/* GREEDY gets no more than half of @all, and MODEST what it wants. Then again: nothing
 * is left of them.
 */
static void shares_shared(int (*take)(int i), int all)
{
	pid_t greedy, modest;
	int round;

	for (round = 0; round < 2; round++) {
		greedy = shares_start(&hauls[0], GREEDY, take, all);
		modest = shares_start(&hauls[1], MODEST, take, EACH);
		ktap_diag("%d of %d, then errno %d; another user %d", hauls[0].n,
			  all, hauls[0].err, hauls[1].n);
		ktap_eq(hauls[0].err, EDQUOT);
		ktap_ok(hauls[0].n > all / 4 && hauls[0].n <= all / 2);
		ktap_eq(hauls[1].n, EACH);
		shares_end(&hauls[1], modest);
		shares_end(&hauls[0], greedy);
	}
}

static void groups(void)
{
	shares_shared(take_group, GROUPS);
}

static void places(void)
{
	shares_shared(take_place, PLACES);
}

/* As many as a device has. Without a share, a user takes too many to wait for. */
static void pds(void)
{
	struct ibv_device_attr attr;

	must(!ibv_query_device(dev.ctx, &attr));
	shares_shared(take_pd, attr.max_pd);
}

/* A group counts for a user that is in it, and not for one that left. */
static void passed_on(void)
{
	union ibv_gid gid = shares_group(0);
	struct ibv_qp *qp;
	pid_t greedy;
	int i;

	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	must(cq);
	qp = shares_datagrams();
	must(qp);
	greedy = shares_start(&hauls[0], GREEDY, take_group, EACH);
	for (i = 0; i < EACH; i++) {
		gid = shares_group(i);
		must(!ibv_attach_mcast(qp, &gid, 0));
	}
	shares_end(&hauls[0], greedy);
	first_group = 4096;
	greedy = shares_start(&hauls[0], GREEDY, take_group, GROUPS);
	ktap_eq(hauls[0].n, (GROUPS - EACH) / 2);
	shares_end(&hauls[0], greedy);
	first_group = 0;
	for (i = 0; i < EACH; i++) {
		gid = shares_group(i);
		must(!ibv_detach_mcast(qp, &gid, 0));
	}
	must(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

#define TESTS(X) X(groups) X(places) X(passed_on) X(pds)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	hauls = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hauls == MAP_FAILED || vt_open(&dev, vt_name_a(), VT_IPV4, -1))
		return vt_bail();
	return vt_run(argc > 1 ? argv[1] : NULL);
}
