// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Devices that were opened before fork(): as a daemon does, whose parent ends. A child uses
 * what it makes itself and what it inherits.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define BUF	65536

static struct vt_dev dev[2];
static struct vt_end a, b;

static void open_ends(void)
{
	struct vt_opts opts = VT_OPTS;

	opts.channel = true;
	must(!vt_end_create(&a, &dev[0], &opts, BUF));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	must(!vt_connect(&a, &b));
}

static void close_ends(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

/* b's receive of one SEND of a, from and to regions of the caller's own. */
static int forked_message(u32 lkey_a, u32 lkey_b, u8 *from, u8 *to, u32 len)
{
	struct ibv_sge sge_a = { (uintptr_t)from, len, lkey_a };
	struct ibv_sge sge_b = { (uintptr_t)to, len, lkey_b };
	struct ibv_send_wr wr = {
		.sg_list = &sge_a, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_recv_wr recv = { .sg_list = &sge_b, .num_sge = 1 }, *bad_recv;
	struct ibv_wc wc;
	static u64 seed;

	vt_fill(from, len, ++seed);
	if (ibv_post_recv(b.qp, &recv, &bad_recv))
		return 1;
	if (ibv_post_send(a.qp, &wr, &bad))
		return 2;
	if (vt_poll(a.scq, &wc, 1, LONG) || wc.status)
		return 3;
	if (vt_poll(b.rcq, &wc, 1, LONG) || wc.status)
		return 4;
	return vt_check(to, len, seed) < 0 ? 0 : 5;
}

static int message_of_ends(void)
{
	return forked_message(a.mr->lkey, b.mr->lkey, a.buf, b.buf, 20000);
}

/* An event for a completion of the own. */
static int message_with_event(void)
{
	if (ibv_req_notify_cq(b.rcq, 0))
		return 10;
	if (message_of_ends())
		return 11;
	return vt_event(b.rchan, LONG) ? 0 : 12;
}

/* In the child all that a daemon does after daemon(3). */
static int everything_new(void)
{
	struct vt_opts opts = VT_OPTS;
	int err, i;

	opts.channel = true;
	if (vt_end_create(&a, &dev[0], &opts, BUF) ||
	    vt_end_create(&b, &dev[1], &opts, BUF) || vt_connect(&a, &b))
		return 20;
	for (i = 0; i < 20; i++) {
		err = message_with_event();
		if (err)
			return err;
	}
	if (ibv_resize_cq(b.rcq, 1000))
		return 21;
	err = message_of_ends();
	close_ends();
	return err;
}

/* Run @child in a process. Return: its result, or 256 and more for a signal. */
static int in_child(int (*child)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid)
		_exit(child());
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   256 + WTERMSIG(status);
}

static int (*orphan)(void);

/* Ends once the process that opened the devices has ended. */
static void orphan_runs(int result_fd, pid_t opener)
{
	u8 result;

	while (getppid() == opener)
		usleep(1000);
	result = orphan();
	_exit(write(result_fd, &result, 1) != 1);
}

static bool prepared_open(bool queues)
{
	if (vt_open(&dev[0], vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&dev[1], vt_name_b(), VT_IPV4, -1))
		return false;
	if (setjmp(vt_leave))
		return false;
	if (queues)
		open_ends();
	return true;
}

/* A process opens the devices, and has queues if @queues. Its child goes on alone. */
static int daemon_runs(int (*fn)(void), bool queues)
{
	struct pollfd wait;
	int result[2];
	u8 answer = 0;
	pid_t opener;

	must(!pipe(result));
	orphan = fn;
	fflush(stdout);
	opener = fork();
	must(opener >= 0);
	if (!opener) {
		close(result[0]);
		if (!prepared_open(queues))
			_exit(1);
		opener = getpid();
		if (!fork())
			orphan_runs(result[1], opener);
		_exit(0);
	}
	close(result[1]);
	must(waitpid(opener, NULL, 0) == opener);
	wait = (struct pollfd){ .fd = result[0], .events = POLLIN };
	must(poll(&wait, 1, 3 * LONG) == 1);
	/* Nothing to read: a signal has killed it. */
	if (read(result[0], &answer, 1) != 1)
		answer = 255;
	close(result[0]);
	return answer;
}

static void daemon_with_new_queues(void)
{
	ktap_eq(daemon_runs(everything_new, false), 0);
}

/* Regions of the parent are the parent's memory, so the child registers its own. */
static int inherited_queues(void)
{
	struct ibv_mr *mr_a, *mr_b;
	u8 *buf = aligned_alloc(4096, 2 * BUF);
	int i, err = 0;

	mr_a = ibv_reg_mr(dev[0].pd, buf, BUF, VT_ACCESS);
	mr_b = ibv_reg_mr(dev[1].pd, buf + BUF, BUF, VT_ACCESS);
	if (!mr_a || !mr_b)
		return 30;
	for (i = 0; i < 20 && !err; i++)
		err = forked_message(mr_a->lkey, mr_b->lkey, buf, buf + BUF, 20000);
	return err;
}

static void daemon_with_old_queues(void)
{
	ktap_eq(daemon_runs(inherited_queues, true), 0);
}

static int new_beside_old(void)
{
	return inherited_queues() ?: everything_new();
}

static void daemon_with_both(void)
{
	ktap_eq(daemon_runs(new_beside_old, true), 0);
}

/* Parent and child have queues of their own on one context, at the same time. */
static void both_go_on(void)
{
	int status, i;
	pid_t pid;

	open_ends();
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid)
		_exit(everything_new());
	for (i = 0; i < 50; i++)
		ktap_eq(message_with_event(), 0);
	must(waitpid(pid, &status, 0) == pid);
	ktap_eq(status, 0);
	ktap_eq(message_of_ends(), 0);
	close_ends();
	/* The child's numbers and pages are free again. */
	open_ends();
	ktap_eq(message_of_ends(), 0);
	close_ends();
}

static int destroys_them(void)
{
	return ibv_destroy_qp(a.qp) || ibv_destroy_qp(b.qp) ? 40 : 0;
}

/* The child destroys the parent's queue pairs: the parent gets errors, or no completions. */
static void child_destroys(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_wc wc;

	open_ends();
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = b.mr->rkey;
	ktap_eq(in_child(destroys_them), 0);
	for (int i = 0; i < 100; i++) {
		ibv_post_send(a.qp, &wr, &bad);
		ibv_post_recv(a.qp, &recv, &bad_recv);
	}
	ktap_eq(ibv_poll_cq(a.scq, 1, &wc), 0);
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), ENOENT);
	ktap_ok(ibv_destroy_qp(a.qp));
	ktap_ok(ibv_destroy_qp(b.qp));
	/* libibverbs keeps what it could not destroy: the rest is whole. */
	ktap_eq(ibv_destroy_cq(a.scq), 0);
	ktap_eq(ibv_destroy_cq(a.rcq), 0);
	ktap_eq(ibv_destroy_cq(b.scq), 0);
	ktap_eq(ibv_destroy_cq(b.rcq), 0);
	ktap_eq(ibv_dereg_mr(a.mr), 0);
	ktap_eq(ibv_dereg_mr(b.mr), 0);
}

static int closes_everything(void)
{
	if (setjmp(vt_leave))
		return 50;
	close_ends();
	vt_close(&dev[0]);
	vt_close(&dev[1]);
	return 0;
}

/* The child has destroyed all that it inherited, as a program does at its end. The parent
 * makes new objects.
 */
static int opener_after_child(void)
{
	int err = in_child(closes_everything);

	dev[0].pd = ibv_alloc_pd(dev[0].ctx);
	dev[1].pd = ibv_alloc_pd(dev[1].ctx);
	return err ?: everything_new();
}

static void child_closes(void)
{
	ktap_eq(daemon_runs(opener_after_child, true), 0);
}

static int has_fork_init(void)
{
	if (ibv_fork_init())
		return 60;
	return prepared_open(true) ? in_child(everything_new) : 61;
}

/* With ibv_fork_init() the child lacks memory that was registered before. It is called
 * before the first registration.
 */
static void with_fork_init(void)
{
	ktap_eq(in_child(has_fork_init), 0);
}

#define TESTS(X)							\
	X(with_fork_init)						\
	X(daemon_with_new_queues) X(daemon_with_old_queues)		\
	X(daemon_with_both) X(both_go_on) X(child_destroys)		\
	X(child_closes)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
