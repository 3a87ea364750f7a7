// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shares of users in objects that a device has a limited number of. A user takes all
 * that it can get. Another one gets some then, and nothing stays taken when both end. The
 * memory of packets that wait for a queue pair is shared, too.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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
#define LONG		vt_ms(20000)
#define QPN		0xffffff	/* of groups */
#define FLOODED		40	/* queue pairs of GREEDY; they receive the same as */
#define MESSAGES	24	/* more than 64 KiB for each, and less than 256 KiB */
#define MSG		4000
#define PARTS		32	/* of 64 KiB that are left on the device */

/* The number of objects that a process has got, and why it got no more. */
struct haul {
	int n;
	int err;
	int got;	/* messages that its queues have received */
	bool go;
};

static struct haul *hauls;
static struct vt_dev dev;
static struct ibv_cq *cq;
static int first_group, num_queues;
static struct vt_end queue[FLOODED];

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

/* A queue pair with receives, as a member of a group of all. */
static int take_queue(int i)
{
	struct vt_end *end = &queue[i];
	union ibv_gid gid = shares_group(20000);
	struct vt_opts opts = VT_OPTS;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int err, k;

	opts.type = IBV_QPT_UD;
	err = vt_end_create(end, &dev, &opts, 4096) ?: vt_to_init(end) ?:
	      vt_to_rtr(end, end) ?: vt_to_rts(end);
	if (err)
		return err;
	num_queues++;
	sge = (struct ibv_sge){ (uintptr_t)end->buf, 4096, end->mr->lkey };
	for (k = 0; k < MESSAGES && !err; k++)
		err = ibv_post_recv(end->qp, &wr, &bad);
	return err ?: ibv_attach_mcast(end->qp, &gid, 0);
}

static void shares_receive(struct haul *haul)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < num_queues; i++)
		while (ibv_poll_cq(queue[i].rcq, 1, &wc) > 0)
			__atomic_add_fetch(&haul->got, !wc.status, __ATOMIC_RELEASE);
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
	while (!__atomic_load_n(&haul->go, __ATOMIC_ACQUIRE)) {
		shares_receive(haul);
		usleep(10000);
	}
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

/* --- packets that wait ------------------------------------------------------- */

static struct haul *spinning;
static int absent;	/* parts that are counted and do not exist */

/* Parts that the device counts after @more were added. */
static int parts_counted(int more)
{
	return vt_take(dev.name, "waiting", more);
}

/* Keep the threads of the lanes on @cpu, -1: on any. Return: their number. */
static int lanes_stay_on(int cpu)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char path[300], name[32];
	cpu_set_t set;
	FILE *file;
	int n = 0, i;

	CPU_ZERO(&set);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (cpu < 0 || i == cpu)
			CPU_SET(i, &set);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = atoi(entry->d_name) ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && !strncmp(name, "cairn/", 6) &&
		    !sched_setaffinity(atoi(entry->d_name), sizeof(set), &set))
			n++;
		fclose(file);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* A process of higher priority has CPU 1, which is the only one that lanes may run on. */
static pid_t lanes_starve(void)
{
	struct sched_param param = { .sched_priority = 1 };
	u64 end = vt_now_ms() + LONG;
	pid_t child;

	memset(spinning, 0, sizeof(*spinning));
	must(lanes_stay_on(1) > 0);
	child = fork();
	must(child >= 0);
	if (child) {
		while (!__atomic_load_n(&spinning->n, __ATOMIC_ACQUIRE))
			must(vt_now_ms() < end);
		return child;
	}
	if (!vt_stay_on(1) || sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(2);
	__atomic_store_n(&spinning->n, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&spinning->go, __ATOMIC_ACQUIRE) && vt_now_ms() < end)
		;
	_exit(vt_now_ms() < end ? 0 : 3);
}

/* MESSAGES to the group, from another device. They have arrived at the end. */
static void shares_flood(struct vt_end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, MSG, end->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	u64 before = vt_counter(&dev, "rx_packets");
	struct vt_dev group = { .gid = shares_group(20000) };
	struct ibv_wc wc;
	int i;

	wr.wr.ud.ah = vt_ah(end->dev, &group);
	must(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = QPN;
	wr.wr.ud.remote_qkey = VT_QKEY;
	for (i = 0; i < MESSAGES; i++) {
		must(!ibv_post_send(end->qp, &wr, &bad));
		must(!vt_poll(end->scq, &wc, 1, LONG) && !wc.status);
	}
	must(!ibv_destroy_ah(wr.wr.ud.ah));
	must(vt_counter_reaches(&dev, "rx_packets", before + MESSAGES) ==
	     before + MESSAGES);
}

static void shares_wait(const struct haul *haul, int got)
{
	u64 end = vt_now_ms() + LONG;

	while (__atomic_load_n(&haul->got, __ATOMIC_ACQUIRE) != got && vt_now_ms() < end)
		usleep(10000);
	ktap_eq(haul->got, got);
}

/* GREEDY loses packets that wait beyond its share, and MODEST gets all. The parts come back
 * when the queues have been emptied.
 */
static void parts_come_back(struct vt_end *end, int base)
{
	u64 lost = vt_counter(&dev, "rx_overflow"), until = vt_now_ms() + LONG;
	pid_t spinner = lanes_starve();
	int parts;

	shares_flood(end);
	parts = parts_counted(0) - base;
	shares_end(spinning, spinner);
	lost = vt_counter(&dev, "rx_overflow") - lost;
	ktap_diag("%d of %d parts, %llu of %d messages lost", parts, PARTS, lost,
		  FLOODED * MESSAGES);
	ktap_ok(parts > PARTS / 4 && parts < PARTS);
	ktap_ok(lost > 0);
	shares_wait(&hauls[1], MESSAGES);
	shares_wait(&hauls[0], FLOODED * MESSAGES - lost);
	while (parts_counted(0) != base && vt_now_ms() < until)
		usleep(1000);
	ktap_eq(parts_counted(0), base);
}

/* The same, and the queue pairs end before the lanes run. */
static void parts_end(struct vt_end *end, int base, pid_t greedy, pid_t modest)
{
	pid_t spinner = lanes_starve();

	shares_flood(end);
	ktap_ok(parts_counted(0) - base > PARTS / 4);
	shares_end(&hauls[0], greedy);
	shares_end(&hauls[1], modest);
	ktap_eq(parts_counted(0), base);
	shares_end(spinning, spinner);
}

static void waiting_undo(void)
{
	vt_stay_on(-1);
	lanes_stay_on(-1);
	if (absent)
		parts_counted(-absent);
	absent = 0;
}

static void waiting(void)
{
	int most = vt_meminfo("MemTotal") / 8 / 64, before;
	struct vt_opts opts = VT_OPTS;
	pid_t greedy, modest;
	struct vt_dev other;
	struct vt_end end;

	if (!vt_can_take() || sysconf(_SC_NPROCESSORS_ONLN) < 2 || vt_is_rt()) {
		ktap_skip("no module that counts parts, or one CPU");
		return;
	}
	opts.type = IBV_QPT_UD;
	must(!vt_open(&other, vt_name_b(), VT_IPV4, -1));
	must(!vt_end_create(&end, &other, &opts, 4096) && !vt_to_init(&end) &&
	     !vt_to_rtr(&end, &end) && !vt_to_rts(&end));
	/* not the CPU on which lanes starve; the children inherit it */
	must(vt_stay_on(0));
	greedy = shares_start(&hauls[0], GREEDY, take_queue, FLOODED);
	modest = shares_start(&hauls[1], MODEST, take_queue, 1);
	must(hauls[0].n == FLOODED && hauls[1].n == 1);
	before = parts_counted(0);
	absent = most - PARTS - before;
	must(parts_counted(absent) == most - PARTS);
	parts_come_back(&end, most - PARTS);
	parts_end(&end, most - PARTS, greedy, modest);
	waiting_undo();
	ktap_eq(parts_counted(0), before);
	vt_end_destroy(&end);
	vt_close(&other);
}

#define TESTS(X) X(groups) X(places) X(passed_on) X(pds) X(waiting)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	int err;

	hauls = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hauls == MAP_FAILED || vt_open(&dev, vt_name_a(), VT_IPV4, -1))
		return vt_bail();
	spinning = &hauls[2];
	err = vt_run(argc > 1 ? argv[1] : NULL);
	if (absent && !setjmp(vt_leave))
		waiting_undo();
	return err;
}
