// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Misuse that works by luck, for CAIRN_CHECK to find: "misuse CODE" does what the report
 * of that code is about, and nothing else that is wrong. It prints no KTAP.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define BUF	8192
#define LONG	vt_ms(30000)

static struct vt_dev dev_a, dev_b;
static struct vt_end a, b;

static void misuse_fail(const char *what)
{
	fprintf(stderr, "misuse: %s failed\n", what);
	exit(1);
}

#define need(cond) do { if (!(cond)) misuse_fail(#cond); } while (0)

static void misuse_post(enum ibv_wr_opcode opcode, u32 len, u32 key)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, len, key };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;

	need(!ibv_post_send(a.qp, &wr, &bad));
}

static void misuse_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)b.buf, BUF, b.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	need(!ibv_post_recv(b.qp, &wr, &bad));
}

static int misuse_wait(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	need(!vt_poll(cq, &wc, 1, LONG));
	return wc.status;
}

/* Right as long as the message is short enough for the work request. */
static void misuse_change_buffer(void)
{
	misuse_receive();
	misuse_post(IBV_WR_SEND, 64, a.mr->lkey);
	a.buf[5] = 1;
	need(misuse_wait(a.scq) == IBV_WC_SUCCESS);
	need(misuse_wait(b.rcq) == IBV_WC_SUCCESS);
}

static void misuse_old_key(void)
{
	struct ibv_mr *mr = ibv_reg_mr(dev_a.pd, a.buf, BUF, VT_ACCESS);
	u32 key;

	need(mr);
	key = mr->lkey;
	need(!ibv_dereg_mr(mr));
	misuse_post(IBV_WR_RDMA_WRITE, 64, key);
	need(misuse_wait(a.scq) != IBV_WC_SUCCESS);
}

static void misuse_never_signal(void)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, 64, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;
	u64 end = vt_now_ms() + (u64)LONG;

	for (u32 i = 0; i <= a.o.cap.max_send_wr; i++)
		while (ibv_post_send(a.qp, &wr, &bad))
			need(vt_now_ms() < end);
}

static void misuse_dereg_early(void)
{
	misuse_receive();
	need(!ibv_dereg_mr(b.mr));
	b.mr = ibv_reg_mr(dev_b.pd, b.buf, BUF, VT_ACCESS);
	need(b.mr);
}

static void misuse_forget_cq(void)
{
	need(ibv_create_cq(dev_a.ctx, 1, NULL, NULL, 0));
}

static void misuse_late_post(void)
{
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_qp *qp = a.qp;

	a.qp = NULL;
	need(!ibv_destroy_qp(qp));
	need(ibv_post_recv(qp, &wr, &bad));
}

static void misuse_lack_attributes(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = a.scq, .recv_cq = a.rcq, .qp_type = IBV_QPT_RC,
		.cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(dev_a.pd, &init);

	need(qp);
	need(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX));
	need(!ibv_destroy_qp(qp));
}

/* A region that peers cannot write to. */
static struct ibv_mr *misuse_own_region(void)
{
	struct ibv_mr *mr = ibv_reg_mr(dev_b.pd, b.buf, BUF, IBV_ACCESS_LOCAL_WRITE);

	need(mr);
	return mr;
}

/* Bytes behind the message stay, or not. */
static void misuse_use_receive(void)
{
	struct ibv_mr *mr = misuse_own_region();
	struct ibv_sge sge = { (uintptr_t)b.buf, BUF, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	need(!ibv_post_recv(b.qp, &wr, &bad));
	b.buf[BUF - 1]++;
	misuse_post(IBV_WR_SEND, 64, a.mr->lkey);
	need(misuse_wait(a.scq) == IBV_WC_SUCCESS);
	need(misuse_wait(b.rcq) == IBV_WC_SUCCESS);
	need(!ibv_dereg_mr(mr));
}

/* The last byte of a message comes last, on the NICs that were tried. */
static void misuse_wait_for_byte(void)
{
	struct ibv_mr *mr = misuse_own_region();
	struct ibv_sge sge = { (uintptr_t)b.buf, BUF, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	u64 end = vt_now_ms() + (u64)LONG;

	need(!ibv_post_recv(b.qp, &wr, &bad));
	a.buf[BUF - 1] = 1;
	misuse_post(IBV_WR_SEND, BUF, a.mr->lkey);
	while (*(volatile u8 *)&b.buf[BUF - 1] != 1)
		need(vt_now_ms() < end);
	need(misuse_wait(a.scq) == IBV_WC_SUCCESS);
	need(misuse_wait(b.rcq) == IBV_WC_SUCCESS);
	need(!ibv_dereg_mr(mr));
}

static void misuse_receive_late(void)
{
	u64 end = vt_now_ms() + (u64)LONG;
	u64 naks = (u64)vt_counter(&dev_b, "rnr_naks_sent");

	misuse_post(IBV_WR_SEND, 64, a.mr->lkey);
	while ((u64)vt_counter(&dev_b, "rnr_naks_sent") == naks)
		need(vt_now_ms() < end);
	misuse_receive();
	need(misuse_wait(a.scq) == IBV_WC_SUCCESS);
	need(misuse_wait(b.rcq) == IBV_WC_SUCCESS);
}

/* The program believes that each send has a completion. */
static void misuse_poll_forever(void)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, 64, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;
	struct ibv_wc wc;

	a.buf[0] = 1;
	need(!ibv_post_send(a.qp, &wr, &bad));
	for (int i = 0; i < 1000000; i++)
		need(!ibv_poll_cq(a.scq, 1, &wc));
}

static struct ibv_qp *misuse_qp;
static pthread_barrier_t misuse_barrier;

static void *misuse_post_many(void *arg)
{
	struct ibv_recv_wr wr = {}, *bad;

	(void)arg;
	pthread_barrier_wait(&misuse_barrier);
	for (int i = 0; i < 2000; i++)
		ibv_post_recv(misuse_qp, &wr, &bad);
	return NULL;
}

static void misuse_two_threads(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {
		.pd = dev_a.pd, .td = ibv_alloc_td(dev_a.ctx, &td_attr),
	};
	struct ibv_pd *pd = ibv_alloc_parent_domain(dev_a.ctx, &attr);
	struct ibv_qp_init_attr init = {
		.send_cq = a.scq, .recv_cq = a.rcq, .qp_type = IBV_QPT_RC,
		.cap = { 1, 8192, 1, 1, 0 },
	};
	struct ibv_qp_attr to_init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};
	pthread_t one, other;

	need(attr.td && pd);
	misuse_qp = ibv_create_qp(pd, &init);
	need(misuse_qp);
	need(!ibv_modify_qp(misuse_qp, &to_init, IBV_QP_STATE | IBV_QP_PORT |
			    IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	need(!pthread_barrier_init(&misuse_barrier, NULL, 2));
	need(!pthread_create(&one, NULL, misuse_post_many, NULL));
	need(!pthread_create(&other, NULL, misuse_post_many, NULL));
	need(!pthread_join(one, NULL) && !pthread_join(other, NULL));
	need(!ibv_destroy_qp(misuse_qp) && !ibv_dealloc_pd(pd) && !ibv_dealloc_td(attr.td));
}

static void misuse_fork(bool use)
{
	struct ibv_recv_wr wr = {}, *bad;
	int status;
	pid_t child = fork();

	need(child >= 0);
	if (!child)
		_exit(use && ibv_post_recv(a.qp, &wr, &bad));
	need(waitpid(child, &status, 0) == child && !status);
}

static void misuse_fork_unprotected(void)
{
	misuse_fork(false);
}

static void misuse_fork_child(void)
{
	misuse_fork(true);
}

static void misuse_unmap(void)
{
	u8 *map = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(dev_a.pd, map, BUF, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)map, 64, mr ? mr->lkey : 0 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	need(map != MAP_FAILED && mr);
	misuse_receive();
	need(!ibv_post_send(a.qp, &wr, &bad));
	need(!munmap(map, BUF));
	need(misuse_wait(a.scq) == IBV_WC_SUCCESS);
	need(misuse_wait(b.rcq) == IBV_WC_SUCCESS);
	need(!ibv_dereg_mr(mr));
}

static void misuse_nothing(void)
{
	misuse_receive();
	misuse_post(IBV_WR_SEND, 64, a.mr->lkey);
	need(misuse_wait(a.scq) == IBV_WC_SUCCESS);
	need(misuse_wait(b.rcq) == IBV_WC_SUCCESS);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "nothing", misuse_nothing },
	{ "send-buffer-changed", misuse_change_buffer },
	{ "key-unknown", misuse_old_key },
	{ "send-queue-overflow", misuse_never_signal },
	{ "region-in-use", misuse_dereg_early },
	{ "leak", misuse_forget_cq },
	{ "use-after-destroy", misuse_late_post },
	{ "modify-attributes", misuse_lack_attributes },
	{ "receive-buffer-used", misuse_use_receive },
	{ "touch", misuse_wait_for_byte },
	{ "receive-late", misuse_receive_late },
	{ "poll-endless", misuse_poll_forever },
	{ "threads-overlap", misuse_two_threads },
	{ "fork-unprotected", misuse_fork_unprotected },
	{ "fork-child", misuse_fork_child },
	{ "buffer-unmapped", misuse_unmap },
};

int main(int argc, char **argv)
{
	struct vt_opts opts = VT_OPTS;

	for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		need(vt_open_both(&dev_a, &dev_b, VT_IPV4));
		need(!vt_end_create(&a, &dev_a, &opts, BUF));
		need(!vt_end_create(&b, &dev_b, &opts, BUF));
		need(!vt_connect(&a, &b));
		kinds[i].run();
		vt_end_destroy(&a);
		vt_end_destroy(&b);
		vt_close(&dev_a);
		vt_close(&dev_b);
		return 0;
	}
	fprintf(stderr, "usage: misuse CODE\n");
	return 2;
}
