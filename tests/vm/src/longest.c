// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * longest WHAT [SECONDS]: makes queues and lists as long as a process or a peer can make
 * them, and then lets the kernel process them. The caller measures the longest section of
 * the kernel. With SECONDS new processes repeat it for that time, and the caller measures
 * other traffic beside it. Prints the number of repetitions.
 *
 *	calibrate	prints the time of a fixed number of system calls, ns
 *	flush		a full send queue and a full receive queue are flushed
 *	resize		a receive queue that is full moves into another ring
 *	timers		many connections of a dead peer run out of time at once
 *	rnr		many connections whose peers have no receive, and which retry at once
 *	contexts	many contexts have posted, and their ready maps are polled while one
 *			posts on
 *	answer		one answer completes all requests that waited for it
 *	revoke		a region is destroyed with the host flushes of many connections
 *	crowd		many connections send at once, and are all answered
 *	group		a datagram to a group of as many members as one may have
 *	sqe		a full send queue of datagrams, of which the first has failed
 *	destroy		queue pairs are made and destroyed, each waits for all CPUs
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <infiniband/cairndv.h>
#include "vt.h"

#define DEEP	16384
#define MANY	300
#define CROWD	2000	/* more than one run of the timer may handle within its budget */
#define SENDERS	1000	/* connections that send before the CPU runs other tasks */
#define WAITING	64
#define MEMBERS	1024	/* members of a group, at most */
#define BUF	65536
#define LONG	vt_ms(60000)

static struct vt_dev da, db;
static struct vt_end one, two;

#define check(cond)							\
	do {								\
		if (!(cond)) {						\
			printf("line %d: not true: %s\n", __LINE__, #cond); \
			exit(1);					\
		}							\
	} while (0)

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* The best of many: a busy machine interrupts some rounds. */
static void longest_calibrate(void)
{
	u64 best = ~0ULL, start, took;
	int i, k;

	for (i = 0; i < 200; i++) {
		start = now_ns();
		for (k = 0; k < 100; k++)
			syscall(SYS_getppid);
		took = now_ns() - start;
		if (took < best)
			best = took;
	}
	printf("%llu\n", best);
}

static struct vt_opts longest_deep(u32 send, u32 recv)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap = (struct ibv_qp_cap){ send, recv, 1, 1, 0 };
	opts.cqe = 2 * DEEP;
	return opts;
}

static void connect_ends(const struct vt_opts *opts, const struct vt_opts *opts_p)
{
	check(!vt_end_create(&one, &da, opts, BUF));
	check(!vt_end_create(&two, &db, opts_p, BUF));
	check(!vt_connect(&one, &two));
}

static void post_writes(struct vt_end *end, int n, struct vt_end *to)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, 8, end->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)to->buf, to->mr->rkey },
	}, *bad;

	while (n--)
		check(!ibv_post_send(end->qp, &wr, &bad));
}

static void post_recvs_of(struct vt_end *end, int n, u32 len)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, len, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (n--)
		check(!ibv_post_recv(end->qp, &wr, &bad));
}

static void post_recvs(struct vt_end *end, int n)
{
	post_recvs_of(end, n, 8);
}

/* Drop completions. Return: their number. */
static int longest_drop(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = 0;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		n++;
	return n;
}

static void longest_take(struct ibv_cq *cq, int n)
{
	static struct ibv_wc wc[DEEP + 10];

	check(!vt_poll(cq, wc, n, LONG));
}

static void longest_flush(void)
{
	struct vt_opts opts = longest_deep(DEEP, DEEP), small = VT_OPTS;

	connect_ends(&opts, &small);
	/* no answer comes */
	check(!vt_to_state(two.qp, IBV_QPS_RESET));
	post_recvs(&one, DEEP);
	post_writes(&one, DEEP, &two);
	check(!vt_to_state(one.qp, IBV_QPS_ERR));
	longest_take(one.scq, DEEP);
	longest_take(one.rcq, DEEP);
}

static void longest_resize(void)
{
	struct vt_opts opts = longest_deep(16, DEEP), small = VT_OPTS;
	struct ibv_qp_attr attr = { .cap = { 16, 2 * DEEP, 1, 1, 0 } };
	int err;

	connect_ends(&opts, &small);
	post_recvs(&one, DEEP);
	err = ibv_modify_qp(one.qp, &attr, IBV_QP_CAP);
	/* too much to be moved at once */
	check(!err || err == EBUSY || err == EINVAL || err == ENOMEM);
	printf("resize: %d\n", err);
}

static void longest_timers(void)
{
	static struct vt_end end[CROWD];
	struct vt_opts opts = VT_OPTS;
	int i;

	opts.timeout = 18;		/* one second */
	opts.retry_cnt = 0;
	opts.cqe = 16;
	opts.cap = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
	check(!vt_end_create(&two, &db, &opts, BUF));
	for (i = 0; i < CROWD; i++) {
		check(!vt_end_create(&end[i], &da, &opts, 4096));
		check(!vt_to_init(&end[i]) && !vt_to_rtr(&end[i], &two) && !vt_to_rts(&end[i]));
	}
	for (i = 0; i < CROWD; i++)
		post_writes(&end[i], 1, &two);
	for (i = 0; i < CROWD; i++)
		longest_take(end[i].scq, 1);
}

static void no_receives(void)
{
	static struct vt_end near[WAITING], far[WAITING];
	struct vt_opts opts = VT_OPTS;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;
	u64 end;
	int i;

	opts.rnr_retry = 7;	/* without end */
	opts.rnr_timer = 1;	/* 10 us */
	opts.cqe = 16;
	opts.cap = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
	for (i = 0; i < WAITING; i++) {
		check(!vt_end_create(&near[i], &da, &opts, 4096));
		check(!vt_end_create(&far[i], &db, &opts, 4096));
		check(!vt_connect(&near[i], &far[i]));
		sge = (struct ibv_sge){ (uintptr_t)near[i].buf, 8, near[i].mr->lkey };
		check(!ibv_post_send(near[i].qp, &wr, &bad));
	}
	for (end = vt_now_ms() + 1000; vt_now_ms() < end; )
		usleep(10000);
	for (i = 0; i < WAITING; i++)
		check(!ibv_poll_cq(near[i].scq, 1, &wc));
	for (i = 0; i < WAITING; i++)
		post_recvs(&far[i], 1);
	for (i = 0; i < WAITING; i++)
		longest_take(near[i].scq, 1);
}

static void longest_contexts(void)
{
	static struct vt_dev dev[MANY];
	static struct vt_end end[MANY];
	struct vt_opts opts = VT_OPTS;
	struct vt_end absent;
	int i;

	opts.timeout = 20;
	opts.cqe = 16;
	opts.cap = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
	connect_ends(&opts, &opts);
	check(!vt_end_create(&absent, &db, &opts, 4096));
	for (i = 0; i < MANY; i++) {
		check(!vt_open(&dev[i], vt_name_a(), VT_IPV4, -1));
		check(!vt_end_create(&end[i], &dev[i], &opts, 4096));
		check(!vt_to_init(&end[i]) && !vt_to_rtr(&end[i], &absent) &&
		      !vt_to_rts(&end[i]));
	}
	for (i = 0; i < MANY; i++)
		post_writes(&end[i], 1, &absent);
	for (i = 0; i < 500; i++) {
		post_writes(&one, 1, &two);
		longest_take(one.scq, 1);
	}
}

static void longest_persist(struct vt_end *from, struct vt_end *to, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)from->buf, 64, from->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = CAIRNDV_WR_WRITE_PERSIST,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)mr->addr, mr->rkey },
	}, *bad;

	post_recvs(to, 1);
	check(!ibv_post_send(from->qp, &wr, &bad));
}

/* The target is asked to flush. */
static u64 flush_token(struct vt_end *to)
{
	struct cairndv_persist_info info = { 0 };
	u64 end = vt_now_ms() + LONG;
	struct ibv_wc wc;

	while (!cairndv_poll_cq(to->rcq, 1, &wc, &info))
		check(vt_now_ms() < end);
	check(info.kind == CAIRNDV_PERSIST_FLUSH);
	return info.token;
}

/* The target's program answers after all later requests have waited for a while. */
static void longest_answer(void)
{
	struct vt_opts opts = longest_deep(DEEP, 16), small = VT_OPTS;
	struct ibv_mr *mr;
	u64 token;

	connect_ends(&opts, &small);
	mr = ibv_reg_mr(db.pd, two.buf, BUF, VT_ACCESS | CAIRNDV_ACCESS_PERSISTENT_HOST);
	check(mr);
	longest_persist(&one, &two, mr);
	post_writes(&one, DEEP - 1, &two);
	token = flush_token(&two);
	sleep(1);	/* not needed, but more requests wait then */
	check(!cairndv_persist_done(db.ctx, token, 0));
	longest_take(one.scq, DEEP);
}

/* The region is destroyed while many connections wait for its program. */
static void revoke_region(void)
{
	static struct vt_end from[WAITING], to[WAITING];
	struct vt_opts opts = VT_OPTS;
	static u8 buf[BUF] __aligned(4096);
	struct ibv_mr *mr;
	int i;

	check(!vt_end_create(&two, &db, &opts, BUF));
	mr = ibv_reg_mr(db.pd, buf, BUF, VT_ACCESS | CAIRNDV_ACCESS_PERSISTENT_HOST);
	check(mr);
	for (i = 0; i < WAITING; i++) {
		check(!vt_end_create(&from[i], &da, &opts, 4096));
		check(!vt_end_create(&to[i], &db, &opts, 4096));
		check(!vt_connect(&from[i], &to[i]));
		longest_persist(&from[i], &to[i], mr);
		flush_token(&to[i]);
	}
	check(!ibv_dereg_mr(mr));
	/* they fail */
	for (i = 0; i < WAITING; i++)
		longest_take(from[i].scq, 1);
}

/* All post before the CPU runs other tasks. */
static void longest_crowd(void)
{
	static struct vt_end near[SENDERS], far[SENDERS];
	struct vt_opts opts = VT_OPTS;
	int i, k;

	opts.cqe = 16;
	opts.cap = (struct ibv_qp_cap){ 16, 4, 1, 1, 0 };
	opts.timeout = 20;
	for (i = 0; i < SENDERS; i++) {
		check(!vt_end_create(&near[i], &da, &opts, 4096));
		check(!vt_end_create(&far[i], &db, &opts, 4096));
		check(!vt_connect(&near[i], &far[i]));
	}
	for (k = 0; k < 3; k++) {
		for (i = 0; i < SENDERS; i++)
			post_writes(&near[i], 4, &far[i]);
		for (i = 0; i < SENDERS; i++)
			longest_take(near[i].scq, 4);
	}
}

/* Post @n datagrams with the key @lkey. */
static void post_datagrams(struct vt_end *end, struct ibv_ah *ah, u32 qpn, u32 lkey, int n)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, 1024, lkey };
	struct ibv_send_wr wr[WAITING] = {}, *bad;
	int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { ah, qpn, VT_QKEY },
		};
	check(!ibv_post_send(end->qp, wr, &bad));
}

static void ud_end(struct vt_end *end, struct vt_dev *dev, struct vt_opts *opts)
{
	opts->type = IBV_QPT_UD;
	check(!vt_end_create(end, dev, opts, BUF));
	check(!vt_to_init(end) && !vt_to_rtr(end, end) && !vt_to_rts(end));
}

static void longest_group(void)
{
	static struct vt_end member[MEMBERS];
	struct vt_dev net = { .gid.raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct vt_opts opts = VT_OPTS;
	struct ibv_device_attr attr;
	struct ibv_ah *ah;
	int i, k, num;

	check(!ibv_query_device(db.ctx, &attr));
	num = attr.max_mcast_qp_attach;
	check(num <= MEMBERS);
	ud_end(&one, &da, &opts);
	for (i = 0; i < num; i++) {
		ud_end(&member[i], &db, &opts);
		check(!ibv_attach_mcast(member[i].qp, &net.gid, 0));
		post_recvs_of(&member[i], WAITING, 2048);
	}
	/* and no more */
	ud_end(&two, &db, &opts);
	check(ibv_attach_mcast(two.qp, &net.gid, 0) == ENOMEM);
	ah = vt_ah(&da, &net);
	check(ah);
	post_datagrams(&one, ah, 0xffffff, one.mr->lkey, WAITING);
	longest_take(one.scq, WAITING);
	/* a member may lose some, its queue has a limit */
	for (i = 0; i < num; i++)
		longest_take(member[i].rcq, 1);
	for (i = 0, k = num; i < num; i++)
		k += longest_drop(member[i].rcq);
	printf("group: %d of %d\n", k, num * WAITING);
}

/* Flushes requests behind one that fails. */
static void longest_sqe(void)
{
	struct vt_opts opts = longest_deep(DEEP, 16);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_ah *ah;
	int i;

	ud_end(&one, &da, &opts);
	ah = vt_ah(&da, &db);
	check(ah);
	post_datagrams(&one, ah, 1, ~one.mr->lkey, 1);
	for (i = 1; i < DEEP; i += WAITING)
		post_datagrams(&one, ah, 1, one.mr->lkey,
			       DEEP - i < WAITING ? DEEP - i : WAITING);
	while (vt_state(one.qp) != IBV_QPS_SQE)
		;
	check(!ibv_modify_qp(one.qp, &attr, IBV_QP_STATE));
	longest_take(one.scq, DEEP);
}

static void longest_destroy(void)
{
	struct vt_opts opts = VT_OPTS;
	int i;

	for (i = 0; i < MANY; i++) {
		check(!vt_end_create(&one, &da, &opts, 4096));
		vt_end_destroy(&one);
	}
}

static void longest_once(void (*run)(void))
{
	check(!vt_open(&da, vt_name_a(), VT_IPV4, -1) && !vt_open(&db, vt_name_b(), VT_IPV4, -1));
	run();
}

/* Run it in a process of its own. Return: false if the time is over or it failed. */
static bool longest_again(void (*run)(void), u64 end, int *status)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		longest_once(run);
		exit(0);
	}
	while (!waitpid(pid, status, WNOHANG)) {
		if (vt_now_ms() >= end) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return false;
		}
		usleep(2000);
	}
	return !*status;
}

static int again_until(void (*run)(void), u64 end)
{
	int status = 0, times = 0;

	while (longest_again(run, end, &status))
		times++;
	printf("%d times\n", times);
	return !!status;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } all[] = {
		{ "flush", longest_flush }, { "resize", longest_resize },
		{ "timers", longest_timers },
		{ "rnr", no_receives }, { "contexts", longest_contexts },
		{ "answer", longest_answer },
		{ "revoke", revoke_region }, { "crowd", longest_crowd }, { "group", longest_group },
		{ "sqe", longest_sqe },
		{ "destroy", longest_destroy },
	};
	struct rlimit files = { 65536, 65536 };
	unsigned int i;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "calibrate")) {
		longest_calibrate();
		return 0;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(argv[1], all[i].name)) {
			if (argc > 2)
				return again_until(all[i].run,
						   vt_now_ms() + 1000ULL * atoi(argv[2]));
			longest_once(all[i].run);
			return 0;
		}
	return 2;
}
