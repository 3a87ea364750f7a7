// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions on demand: no page is pinned, and absent pages are faulted in.
 *
 *	odp [TEST]	the tests below
 *	odp hold	transfers without end, says "holds" and waits to be killed
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/cairndv.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(30000)
#define SIZE	(1u << 20)
#define PAGE	4096u
#define AT	(5 * PAGE + 123)
#define LEN	100001u
#define ODP	IBV_ACCESS_ON_DEMAND
#define ODP_RW	(ODP | VT_ACCESS)
/* names of rdma-core 58 */
#define ODP_SUPPORT_FLUSH		(1 << 6)
#define ODP_SUPPORT_ATOMIC_WRITE	(1 << 7)

static struct vt_dev a, b;

static u8 *odp_map(size_t len)
{
	u8 *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(mem != MAP_FAILED);
	return mem;
}

/* Two ends with ordinary buffers, and memory on demand at each. */
struct pair {
	struct vt_end a, b;
	u8 *at_a, *at_b;
	struct ibv_mr *mr_a, *mr_b;
};

static void pair_open_as(struct pair *pair, enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	must(!vt_end_create(&pair->a, &a, &opts, SIZE));
	must(!vt_end_create(&pair->b, &b, &opts, SIZE));
	must(!vt_connect(&pair->a, &pair->b));
	pair->at_a = odp_map(SIZE);
	pair->at_b = odp_map(SIZE);
	pair->mr_a = ibv_reg_mr(a.pd, pair->at_a, SIZE, ODP_RW);
	pair->mr_b = ibv_reg_mr(b.pd, pair->at_b, SIZE, ODP_RW);
	must(pair->mr_a && pair->mr_b);
}

static void pair_open(struct pair *pair)
{
	pair_open_as(pair, IBV_QPT_RC);
}

static void pair_close(struct pair *pair)
{
	ktap_eq(pair->mr_a ? ibv_dereg_mr(pair->mr_a) : 0, 0);
	ktap_eq(pair->mr_b ? ibv_dereg_mr(pair->mr_b) : 0, 0);
	munmap(pair->at_a, SIZE);
	munmap(pair->at_b, SIZE);
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
}

static void pair_again(struct pair *pair)
{
	vt_to_state(pair->a.qp, IBV_QPS_RESET);
	vt_to_state(pair->b.qp, IBV_QPS_RESET);
	must(!vt_connect(&pair->a, &pair->b));
}

static void odp_post(struct vt_end *end, enum ibv_wr_opcode opcode, const void *addr,
		     u32 len, u32 lkey, const void *to, u32 rkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = rkey;
	}
	must(!ibv_post_send(end->qp, &wr, &bad));
}

static void post_recv(struct vt_end *end, void *addr, u32 len, u32 lkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(end->qp, &wr, &bad));
}

static void odp_done(struct ibv_cq *cq, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	ktap_eq(wc.status, status);
}

static void offers(void)
{
	const u32 rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
		       IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
		       IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV |
		       ODP_SUPPORT_FLUSH | ODP_SUPPORT_ATOMIC_WRITE;
	struct ibv_device_attr_ex attr;

	must(!ibv_query_device_ex(a.ctx, NULL, &attr));
	ktap_eq(attr.odp_caps.general_caps,
		IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	ktap_eq(attr.odp_caps.per_transport_caps.rc_odp_caps, rc);
	ktap_eq(attr.odp_caps.per_transport_caps.uc_odp_caps, 0);
	ktap_eq(attr.odp_caps.per_transport_caps.ud_odp_caps,
		IBV_ODP_SUPPORT_SEND);
	ktap_eq(attr.xrc_odp_caps,
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV);
}

/* Neither registration nor a transfer pins pages, and registration touches none. */
static void not_pinned(void)
{
	const size_t len = 256u << 20;
	struct pair pair = {};
	struct ibv_mr *mr;
	u64 pages;
	long rss;
	u8 *mem;

	pair_open(&pair);
	pages = vt_counter(&b, "odp_pages");
	mem = odp_map(len);
	rss = vt_own_status("VmRSS");
	mr = ibv_reg_mr(b.pd, mem, len, ODP_RW);
	must(mr);
	ktap_ok(vt_own_status("VmRSS") < rss + 1024);
	ktap_eq(vt_counter(&b, "odp_pages"), pages);
	vt_fill(pair.a.buf, 3 * PAGE, 1);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, 3 * PAGE, pair.a.mr->lkey,
		 mem + len / 2, mr->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(mem + len / 2, 3 * PAGE, 1), -1);
	ktap_ok(vt_counter_reaches(&b, "odp_pages", pages + 3) >= pages + 3);
	ktap_ok(vt_own_status("VmRSS") < rss + 4096);
	ktap_eq(vt_own_status("VmLck"), 0);
	/* only the buffers of the ends are pinned */
	ktap_ok(vt_own_status("VmPin") <= 2 * (long)SIZE / 1024);
	ktap_eq(ibv_dereg_mr(mr), 0);
	munmap(mem, len);
	pair_close(&pair);
}

/* All operations of one side with absent memory, and then with present memory. */
static void transfers(void)
{
	struct pair pair = {};
	u32 round;

	pair_open(&pair);
	for (round = 0; round < 4; round++) {
		u8 *from = pair.at_a + AT, *to = pair.at_b + AT;
		u8 *back = pair.at_a + AT + 2 * LEN;

		if (round == 2) {
			must(!madvise(pair.at_a, SIZE, MADV_DONTNEED));
			must(!madvise(pair.at_b, SIZE, MADV_DONTNEED));
		}
		vt_fill(from, LEN, round);
		odp_post(&pair.a, IBV_WR_RDMA_WRITE, from, LEN, pair.mr_a->lkey, to,
			 pair.mr_b->rkey);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		ktap_eq(vt_check(to, LEN, round), -1);
		ktap_eq(to[-1] | to[LEN], 0);
		odp_post(&pair.a, IBV_WR_RDMA_READ, back, LEN, pair.mr_a->lkey, to,
			 pair.mr_b->rkey);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		ktap_eq(vt_check(back, LEN, round), -1);
		vt_fill(from, LEN, round + 10);
		post_recv(&pair.b, to + 2 * LEN, LEN, pair.mr_b->lkey);
		odp_post(&pair.a, IBV_WR_SEND, from, LEN, pair.mr_a->lkey, NULL, 0);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		odp_done(pair.b.rcq, IBV_WC_SUCCESS);
		ktap_eq(vt_check(to + 2 * LEN, LEN, round + 10), -1);
	}
	ktap_ok(vt_counter(&a, "odp_faults") && vt_counter(&b, "odp_faults"));
	ktap_ok(vt_counter(&a, "odp_invalidations"));
	pair_close(&pair);
}

/* Pages that the CPU did not touch before. */
static void untouched(void)
{
	struct pair pair = {};
	u64 *word, *got;
	u32 i;

	pair_open(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_READ, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b + AT,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	for (i = 0; i < LEN && !pair.a.buf[i]; i++)
		;
	ktap_eq(i, LEN);
	word = (u64 *)(pair.at_b + 200 * PAGE);
	got = (u64 *)(pair.at_a + 200 * PAGE);
	for (i = 0; i < 3; i++) {
		odp_post(&pair.a, IBV_WR_ATOMIC_FETCH_AND_ADD, got, 8, pair.mr_a->lkey,
			 word, pair.mr_b->rkey);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		ktap_eq(*word, 5 * (i + 1));
		ktap_eq(*got, 5 * i);
	}
	pair_close(&pair);
}

static void odp_start(struct vt_end *end)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(end->qp);

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED;
}

static void odp_flush(struct vt_end *end, void *to, u32 rkey, u8 level)
{
	odp_start(end);
	must(!cairndv_wr_flush(ibv_qp_to_qp_ex(end->qp), rkey, (uintptr_t)to, LEN,
			       CAIRNDV_FLUSH_GLOBAL, level));
	must(!ibv_wr_complete(ibv_qp_to_qp_ex(end->qp)));
}

static void odp_write_word(struct vt_end *end, void *to, u32 rkey, u64 word)
{
	odp_start(end);
	ibv_wr_atomic_write(ibv_qp_to_qp_ex(end->qp), rkey, (uintptr_t)to, &word);
	must(!ibv_wr_complete(ibv_qp_to_qp_ex(end->qp)));
}

static void flush_open(struct pair *pair, int mr_access)
{
	struct vt_opts opts = VT_OPTS;

	must(!vt_end_create_ex(&pair->a, &a, &opts, SIZE, IBV_QP_EX_WITH_ATOMIC_WRITE));
	must(!vt_end_create(&pair->b, &b, &opts, SIZE));
	pair->b.o.access |= CAIRNDV_ACCESS_FLUSH_GLOBAL;
	must(!vt_connect(&pair->a, &pair->b));
	pair->at_a = odp_map(SIZE);
	pair->at_b = odp_map(SIZE);
	pair->mr_b = ibv_reg_mr(b.pd, pair->at_b, SIZE, ODP_RW | mr_access);
	must(pair->mr_b);
}

/* ATOMIC WRITE to pages that are not present, and FLUSH for visibility, which needs none. */
static void words_and_flush(void)
{
	struct pair pair = {};
	u32 i;

	flush_open(&pair, CAIRNDV_ACCESS_FLUSH_GLOBAL);
	for (i = 0; i < 6; i++) {
		u64 *word = (u64 *)(pair.at_b + i % 3 * 50 * PAGE + 40);

		if (i == 3)
			must(!madvise(pair.at_b, SIZE, MADV_DONTNEED));
		odp_flush(&pair.a, word, pair.mr_b->rkey, CAIRNDV_FLUSH_RANGE);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		odp_write_word(&pair.a, word, pair.mr_b->rkey, 77 + i);
		odp_flush(&pair.a, NULL, pair.mr_b->rkey, CAIRNDV_FLUSH_MR);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		ktap_eq(*word, 77 + i);
		ktap_eq(word[-1] | word[1], 0);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
	}
	pair_close(&pair);

	/* the right is the region's */
	flush_open(&pair, 0);
	odp_flush(&pair.a, pair.at_b, pair.mr_b->rkey, CAIRNDV_FLUSH_RANGE);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_close(&pair);
}

/* Pages are only read at first: later writes do not go to a page that others share.
 */
static void read_then_written(void)
{
	struct pair pair = {};

	pair_open(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_READ, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b + AT,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	vt_fill(pair.a.buf, LEN, 3);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b + AT,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.at_b + AT, LEN, 3), -1);
	pair_close(&pair);
}

struct thief {
	u8 *mem;
	size_t len;
	atomic_bool stop;
	u32 rounds;
};

static void *odp_steal(void *arg)
{
	struct thief *thief = arg;
	u32 i = 0;

	while (!thief->stop) {
		size_t off = (i * 7 * PAGE) % thief->len;

		madvise(thief->mem + off, 4 * PAGE, MADV_DONTNEED);
		i++;
		sched_yield();
	}
	thief->rounds = i;
	return NULL;
}

/* A thread discards pages while they are written and read. Their neighbours in the same
 * messages are right, and in the end all pages are.
 */
static void taken_away(void)
{
	const u32 quiet = SIZE / 2, len = SIZE / 4;
	struct thief thief = {};
	struct pair pair = {};
	pthread_t thread;
	u32 i;

	pair_open(&pair);
	thief.mem = pair.at_b;
	thief.len = quiet - 4 * PAGE;
	must(!pthread_create(&thread, NULL, odp_steal, &thief));
	for (i = 0; i < 40 && !ktap.failures; i++) {
		u8 *to = pair.at_b + quiet - len / 2;

		vt_fill(pair.a.buf, len, i);
		odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, len, pair.a.mr->lkey, to,
			 pair.mr_b->rkey);
		odp_post(&pair.a, IBV_WR_RDMA_READ, pair.a.buf + SIZE / 2, len,
			 pair.a.mr->lkey, to, pair.mr_b->rkey);
		post_recv(&pair.b, pair.at_b + quiet - 3 * PAGE, 6 * PAGE,
			  pair.mr_b->lkey);
		odp_post(&pair.a, IBV_WR_SEND, pair.a.buf, 100, pair.a.mr->lkey, NULL, 0);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		odp_done(pair.b.rcq, IBV_WC_SUCCESS);
		ktap_ok(!memcmp(pair.a.buf + len / 2, pair.at_b + quiet, len / 2));
		ktap_ok(!memcmp(pair.a.buf + len / 2, pair.a.buf + SIZE / 2 + len / 2,
				len / 2));
	}
	thief.stop = true;
	pthread_join(thread, NULL);
	ktap_ok(thief.rounds);
	vt_fill(pair.a.buf, SIZE, 99);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, SIZE, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.at_b, SIZE, 99), -1);
	pair_close(&pair);
}

/* The same with memory of the requester: sources, and destinations of READs. */
static void taken_away_here(void)
{
	struct thief thief = {};
	struct pair pair = {};
	pthread_t thread;
	u32 i;

	pair_open(&pair);
	thief.mem = pair.at_a;
	thief.len = SIZE / 2 - 4 * PAGE;
	vt_fill(pair.b.buf, SIZE, 5);
	must(!pthread_create(&thread, NULL, odp_steal, &thief));
	for (i = 0; i < 40 && !ktap.failures; i++) {
		odp_post(&pair.a, IBV_WR_RDMA_READ, pair.at_a, SIZE, pair.mr_a->lkey,
			 pair.b.buf, pair.b.mr->rkey);
		odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.at_a + SIZE / 4, SIZE / 2,
			 pair.mr_a->lkey, pair.at_b, pair.mr_b->rkey);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		ktap_ok(!memcmp(pair.at_a + SIZE / 2, pair.b.buf + SIZE / 2,
				SIZE / 2));
		ktap_ok(!memcmp(pair.at_b + SIZE / 4, pair.b.buf + SIZE / 2,
				SIZE / 4));
	}
	thief.stop = true;
	pthread_join(thread, NULL);
	pair_close(&pair);
}

/* An unmapped page is an error of the request that named it; its neighbours work. */
static void unmapped(void)
{
	struct pair pair = {};
	u8 *gone_a, *gone_b;

	pair_open(&pair);
	gone_a = pair.at_a + SIZE / 2;
	gone_b = pair.at_b + SIZE / 2;
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, gone_a, LEN, pair.mr_a->lkey, gone_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	must(!munmap(gone_a, SIZE / 2));
	must(!munmap(gone_b, SIZE / 2));
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.at_a, LEN, pair.mr_a->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.at_a, LEN, pair.mr_a->lkey, gone_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_again(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_READ, pair.at_a, LEN, pair.mr_a->lkey,
		 gone_b - PAGE, pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_again(&pair);
	odp_post(&pair.a, IBV_WR_ATOMIC_FETCH_AND_ADD, pair.at_a, 8, pair.mr_a->lkey,
		 gone_b, pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_again(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, gone_a, 8, pair.mr_a->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_LOC_PROT_ERR);
	pair_again(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_READ, gone_a, LEN, pair.mr_a->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_LOC_PROT_ERR);
	pair_again(&pair);
	post_recv(&pair.b, gone_b, LEN, pair.mr_b->lkey);
	odp_post(&pair.a, IBV_WR_SEND, pair.at_a, LEN, pair.mr_a->lkey, NULL, 0);
	odp_done(pair.a.scq, IBV_WC_REM_OP_ERR);
	odp_done(pair.b.rcq, IBV_WC_LOC_PROT_ERR);
	ktap_ok(vt_counter_reaches(&b, "odp_fault_errors", 3) >= 3);
	pair_close(&pair);
}

/* Rights of the mapping count beside those of the region. */
static void mapped_for_reading(void)
{
	struct pair pair = {};

	pair_open(&pair);
	vt_fill(pair.at_b, SIZE, 6);
	must(!mprotect(pair.at_b, SIZE, PROT_READ));
	odp_post(&pair.a, IBV_WR_RDMA_READ, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.a.buf, LEN, 6), -1);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_close(&pair);
}

/* After a new mapping at the same address, the region is the new memory. */
static void mapped_anew(void)
{
	struct pair pair = {};

	pair_open(&pair);
	memset(pair.at_b, 1, SIZE);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	must(mmap(pair.at_b, SIZE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == pair.at_b);
	vt_fill(pair.a.buf, LEN, 7);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.at_b, LEN, 7), -1);
	ktap_eq(pair.at_b[LEN], 0);
	pair_close(&pair);
}

/* A child keeps the old contents; the region is the parent's memory. */
static void forked(void)
{
	struct pair pair = {};
	int go[2], status;
	pid_t child;
	char c;

	pair_open(&pair);
	vt_fill(pair.a.buf, LEN, 8);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	must(!pipe(go));
	child = fork();
	if (!child) {
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		_exit(vt_check(pair.at_b, LEN, 8) != -1);
	}
	vt_fill(pair.a.buf, LEN, 9);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, pair.at_b,
		 pair.mr_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.at_b, LEN, 9), -1);
	ktap_eq(write(go[1], "", 1), 1);
	ktap_eq(waitpid(child, &status, 0), child);
	ktap_ok(WIFEXITED(status) && !WEXITSTATUS(status));
	close(go[0]);
	close(go[1]);
	pair_close(&pair);
}

/* Data written to a mapped file is in the file. */
static void file(void)
{
	int fd = memfd_create("cairn-odp", 0);
	struct pair pair = {};
	struct ibv_mr *mr;
	u8 *mem, *copy;

	pair_open(&pair);
	copy = malloc(LEN);
	must(fd >= 0 && !ftruncate(fd, SIZE));
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(mem != MAP_FAILED);
	mr = ibv_reg_mr(b.pd, mem, SIZE, ODP_RW);
	must(mr);
	vt_fill(pair.a.buf, LEN, 11);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, mem + AT,
		 mr->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(pread(fd, copy, LEN, AT), LEN);
	ktap_eq(vt_check(copy, LEN, 11), -1);
	/* behind the end of the file accesses fail */
	must(!ftruncate(fd, PAGE));
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN, pair.a.mr->lkey, mem + AT,
		 mr->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_dereg_mr(mr), 0);
	munmap(mem, SIZE);
	close(fd);
	free(copy);
	pair_close(&pair);
}

/* One region for all memory, including later mappings. */
static void implicit(void)
{
	struct ibv_mr *at_a, *at_b;
	struct pair pair = {};
	u8 *mem, *late;

	pair_open(&pair);
	at_a = ibv_reg_mr(a.pd, NULL, SIZE_MAX, ODP_RW);
	at_b = ibv_reg_mr(b.pd, NULL, SIZE_MAX, ODP_RW);
	must(at_a && at_b);
	mem = odp_map(SIZE);
	late = malloc(SIZE);
	vt_fill(mem, SIZE, 12);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, mem + 1, SIZE - 1, at_a->lkey, late + 1,
		 at_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_ok(!memcmp(mem + 1, late + 1, SIZE - 1));
	memset(mem, 0, SIZE);
	odp_post(&pair.a, IBV_WR_RDMA_READ, mem + 1, SIZE - 1, at_a->lkey, late + 1,
		 at_b->rkey);
	odp_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_ok(!memcmp(mem + 1, late + 1, SIZE - 1));
	munmap(mem, SIZE);
	free(late);
	/* neither page 0 nor the kernel's memory belongs to the process */
	odp_post(&pair.a, IBV_WR_RDMA_READ, pair.a.buf, 8, pair.a.mr->lkey, (void *)64,
		 at_b->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_again(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_READ, pair.a.buf, 8, pair.a.mr->lkey,
		 (void *)0xffff888000100000, at_b->rkey);
	odp_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	pair_again(&pair);
	odp_post(&pair.a, IBV_WR_RDMA_WRITE, (void *)-4096L, 8, at_a->lkey, pair.b.buf,
		 pair.b.mr->rkey);
	odp_done(pair.a.scq, IBV_WC_LOC_PROT_ERR);
	ktap_eq(ibv_dereg_mr(at_a), 0);
	ktap_eq(ibv_dereg_mr(at_b), 0);
	pair_close(&pair);
}

static int odp_advise(struct ibv_mr *mr, enum ibv_advise_mr_advice advice,
		      u32 flags, const void *at, u32 len)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)at, len, mr->lkey },
		{ (uintptr_t)at, 1, mr->lkey },
	};

	return ibv_advise_mr(mr->pd, advice, flags, sge, 2);
}

/* Advised pages are present when a message comes. */
static void advised(void)
{
	static const struct {
		enum ibv_advise_mr_advice advice;
		u32 flags;
	} forms[] = {
		{ IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH },
		{ IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH },
		{ IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
		  IBV_ADVISE_MR_FLAG_FLUSH },
		{ IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0 },
		{ IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
		{ IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0 },
	};
	struct pair pair = {};
	u32 i;

	for (i = 0; i < 6; i++) {
		bool writes = forms[i].advice ==
			      IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
		u64 faults, pages;

		pair = (struct pair){};
		pair_open(&pair);
		if (!writes)
			vt_fill(pair.at_b, SIZE, i);
		faults = vt_counter(&b, "odp_faults");
		pages = vt_counter(&b, "odp_pages");
		ktap_eq(odp_advise(pair.mr_b, forms[i].advice, forms[i].flags,
				   pair.at_b, SIZE), 0);
		if (!forms[i].flags)
			vt_counter_reaches(&b, "odp_pages",
					   pages + SIZE / PAGE);
		ktap_ok(vt_counter_reaches(&b, "odp_pages", pages + SIZE / PAGE) >=
			pages + SIZE / PAGE);
		odp_post(&pair.a, writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			 pair.a.buf, SIZE, pair.a.mr->lkey, pair.at_b, pair.mr_b->rkey);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		ktap_ok(!memcmp(pair.a.buf, pair.at_b, SIZE));
		ktap_eq(vt_counter(&b, "odp_faults"), faults);
		pair_close(&pair);
	}
}

/* Advice that may not fault has no effect. */
static void advised_not_to_fault(void)
{
	struct pair pair = {};
	u64 pages;

	pair_open(&pair);
	pages = vt_counter(&b, "odp_pages");
	ktap_eq(odp_advise(pair.mr_b, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
			   IBV_ADVISE_MR_FLAG_FLUSH, pair.at_b, SIZE), 0);
	ktap_eq(vt_counter(&b, "odp_pages"), pages);
	pair_close(&pair);
}

static void advised_badly(void)
{
	const u32 flush = IBV_ADVISE_MR_FLAG_FLUSH;
	struct ibv_mr *mr;
	struct pair pair = {};
	struct ibv_sge sge;

	pair_open(&pair);
	sge = (struct ibv_sge){ (uintptr_t)pair.at_b, 8, pair.mr_b->lkey ^ 1 };
	ktap_eq(ibv_advise_mr(b.pd, 0, flush, &sge, 1), ENOENT);
	sge.lkey = 0;
	ktap_eq(ibv_advise_mr(b.pd, 0, flush, &sge, 1), ENOENT);
	ktap_eq(odp_advise(pair.b.mr, 0, flush, pair.b.buf, 8), EINVAL);
	ktap_eq(odp_advise(pair.mr_b, 0, flush, pair.at_b + SIZE, 8), EFAULT);
	ktap_eq(odp_advise(pair.mr_b, 0, 0, pair.at_b - 1, 8), EFAULT);
	ktap_ok(odp_advise(pair.mr_b, 17, flush, pair.at_b, 8));
	ktap_ok(odp_advise(pair.mr_b, 0, 6, pair.at_b, 8));
	must(!munmap(pair.at_b, PAGE));
	ktap_eq(odp_advise(pair.mr_b, 0, flush, pair.at_b, 8), EFAULT);
	ktap_eq(odp_advise(pair.mr_b, 0, 0, pair.at_b, 8), 0);
	mr = ibv_reg_mr(b.pd, pair.at_b, SIZE, ODP | IBV_ACCESS_REMOTE_READ);
	must(mr);
	ktap_eq(odp_advise(mr, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, flush,
			   pair.at_b + PAGE, 8), EPERM);
	ktap_eq(odp_advise(mr, 0, flush, pair.at_b + PAGE, 8), 0);
	ktap_eq(ibv_dereg_mr(mr), 0);
	pair_close(&pair);
}

static void refused(void)
{
	struct pair pair = {};
	int persistent;

	pair_open(&pair);
	/* as pinned: EINVAL, or EOPNOTSUPP of a kernel without persistent memory */
	must(!ibv_reg_mr(a.pd, pair.at_a, SIZE, VT_ACCESS | CAIRNDV_ACCESS_PERSISTENT));
	persistent = errno;
	ktap_ok(persistent == EINVAL || persistent == EOPNOTSUPP);
	REFUSED_MR(ibv_reg_mr(a.pd, pair.at_a, SIZE, ODP_RW | IBV_ACCESS_MW_BIND),
		EOPNOTSUPP);
	/* NIC flush and FLUSH for durability want persistent memory; host flush is not to be had */
	REFUSED_MR(ibv_reg_mr(a.pd, pair.at_a, SIZE,
			      ODP_RW | CAIRNDV_ACCESS_FLUSH_GLOBAL |
			      CAIRNDV_ACCESS_FLUSH_PERSISTENT), EOPNOTSUPP);
	REFUSED_MR(ibv_reg_mr(a.pd, pair.at_a, SIZE, ODP_RW | CAIRNDV_ACCESS_PERSISTENT),
		   persistent);
	REFUSED_MR(ibv_reg_mr(a.pd, pair.at_a, SIZE, ODP_RW | CAIRNDV_ACCESS_PERSISTENT_HOST),
		   EOPNOTSUPP);
	REFUSED_MR(ibv_reg_mr(a.pd, pair.at_a, 0, ODP_RW), EINVAL);
	REFUSED_MR(ibv_reg_mr(a.pd, (void *)-8192L, PAGE, ODP_RW), EOVERFLOW);
	REFUSED_MR(ibv_reg_mr(a.pd, pair.at_a, 1L << 62, ODP_RW), EOVERFLOW);
	ktap_ok(ibv_rereg_mr(pair.mr_a, IBV_REREG_MR_CHANGE_ACCESS, a.pd, NULL, 0,
			     IBV_ACCESS_REMOTE_READ));
	pair_close(&pair);
}

/* After deregistration or munmap() has returned, no packet writes to the memory. */
static void released(void)
{
	int round, i, n, cut = 0;

	for (round = 0; round < 40 && cut < 5; round++) {
		struct pair pair = {};

		pair_open(&pair);
		memset(pair.a.buf, 0x3a, SIZE);
		for (n = 0; n < 60; n++)
			odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.a.buf, LEN,
				 pair.a.mr->lkey, pair.at_b, pair.mr_b->rkey);
		if (round % 2) {
			must(!ibv_dereg_mr(pair.mr_b));
			pair.mr_b = NULL;
		} else {
			must(!munmap(pair.at_b, SIZE));
			must(mmap(pair.at_b, SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				  0) == pair.at_b);
			must(!ibv_dereg_mr(pair.mr_b));
			pair.mr_b = NULL;
		}
		memset(pair.at_b, 0xc5, SIZE);
		cut += vt_any_failed(pair.a.scq, 60, LONG);
		for (i = 0; i < (int)SIZE && pair.at_b[i] == 0xc5; i++)
			;
		ktap_eq(i, SIZE);
		pair_close(&pair);
	}
	ktap_ok(cut);
}

/* Messages may be lost here. But no queue pair hangs, and arrived data are right. */
static void unreliable(void)
{
	struct pair pair = {};
	struct ibv_wc wc;
	u32 i, came = 0;

	pair_open_as(&pair, IBV_QPT_UC);
	for (i = 0; i < 20; i++) {
		vt_fill(pair.at_a + i * PAGE, 3000, i);
		post_recv(&pair.b, pair.at_b + i * PAGE, 3000, pair.mr_b->lkey);
		odp_post(&pair.a, IBV_WR_SEND, pair.at_a + i * PAGE, 3000, pair.mr_a->lkey,
			 NULL, 0);
		odp_done(pair.a.scq, IBV_WC_SUCCESS);
		if (vt_poll(pair.b.rcq, &wc, 1, vt_ms(100)))
			continue;
		came++;
		ktap_eq(wc.status, IBV_WC_SUCCESS);
		ktap_eq(wc.byte_len, 3000);
	}
	ktap_ok(came);
	pair_close(&pair);
}

#define TESTS(X)							\
	X(offers) X(not_pinned) X(transfers) X(untouched)		\
	X(words_and_flush)						\
	X(read_then_written) X(taken_away) X(taken_away_here)		\
	X(unmapped) X(mapped_for_reading) X(mapped_anew) X(forked)	\
	X(file) X(implicit) X(advised) X(advised_not_to_fault)		\
	X(advised_badly) X(refused) X(released) X(unreliable)
VT_TESTS(TESTS)

/* Traffic beside a thread that discards pages, until the test ends it. */
static int hold(void)
{
	struct thief thief = {};
	struct pair pair = {};
	pthread_t thread;
	struct ibv_wc wc;

	if (!vt_open_both(&a, &b, VT_IPV4) || setjmp(vt_leave))
		return 1;
	pair_open(&pair);
	thief.mem = pair.at_b;
	thief.len = SIZE - 4 * PAGE;
	must(!pthread_create(&thread, NULL, odp_steal, &thief));
	must(ibv_reg_mr(b.pd, NULL, SIZE_MAX, ODP_RW));
	puts("holds");
	fflush(stdout);
	for (;;) {
		odp_post(&pair.a, IBV_WR_RDMA_WRITE, pair.at_a, SIZE, pair.mr_a->lkey,
			 pair.at_b, pair.mr_b->rkey);
		if (vt_poll(pair.a.scq, &wc, 1, LONG) || wc.status)
			pause();
	}
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;

	if (only && !strcmp(only, "hold"))
		return hold();
	return vt_run_on(&a, &b, VT_IPV4, only);
}
