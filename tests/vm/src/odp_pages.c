// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions on demand of an unprivileged process, over pages that the kernel must not touch:
 * memory of memfd_secret() has left the kernel's direct map. Each way that leads to
 * such a page ends with an error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret	447
#endif
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack	453
#endif

#define LONG	vt_ms(30000)
#define PAGE	4096u
#define LEN	64u
#define NOBODY	65534
#define ODP_RW	(IBV_ACCESS_ON_DEMAND | VT_ACCESS)
#define FLUSH	IBV_ADVISE_MR_FLAG_FLUSH

static struct vt_dev a, b;

/* Two ends with ordinary buffers. The page between two ordinary ones of each is secret. */
struct pair {
	struct vt_end a, b;
	u8 *area_a, *area_b;
	u8 *at_a, *at_b;		/* the secret pages */
	struct ibv_mr *mr_a, *mr_b;	/* of the areas */
};

static u8 *pages_ordinary(void *at, u32 pages)
{
	u8 *mem = mmap(at, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1,
		       0);

	must(mem != MAP_FAILED);
	return mem;
}

/* Map a secret page, at @at if that is not NULL. */
static u8 *pages_secret(void *at)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	u8 *mem;

	must(fd >= 0 && !ftruncate(fd, PAGE));
	mem = mmap(at, PAGE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
	close(fd);
	must(mem != MAP_FAILED);
	return mem;
}

static u8 *pages_area(void)
{
	u8 *mem = pages_ordinary(NULL, 3);

	memset(mem, 1, PAGE);
	pages_secret(mem + PAGE);
	strcpy((char *)mem + PAGE, "secret");
	memset(mem + 2 * PAGE, 1, PAGE);
	return mem;
}

static void pair_open(struct pair *pair)
{
	struct vt_opts opts = VT_OPTS;

	must(!vt_end_create(&pair->a, &a, &opts, PAGE));
	must(!vt_end_create(&pair->b, &b, &opts, PAGE));
	must(!vt_connect(&pair->a, &pair->b));
	pair->area_a = pages_area();
	pair->area_b = pages_area();
	pair->at_a = pair->area_a + PAGE;
	pair->at_b = pair->area_b + PAGE;
	pair->mr_a = ibv_reg_mr(a.pd, pair->area_a, 3 * PAGE, ODP_RW);
	pair->mr_b = ibv_reg_mr(b.pd, pair->area_b, 3 * PAGE, ODP_RW);
	must(pair->mr_a && pair->mr_b);
}

static void pair_close(struct pair *pair)
{
	ktap_eq(ibv_dereg_mr(pair->mr_a), 0);
	ktap_eq(ibv_dereg_mr(pair->mr_b), 0);
	munmap(pair->area_a, 3 * PAGE);
	munmap(pair->area_b, 3 * PAGE);
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
}

static void pair_again(struct pair *pair)
{
	vt_to_state(pair->a.qp, IBV_QPS_RESET);
	vt_to_state(pair->b.qp, IBV_QPS_RESET);
	must(!vt_connect(&pair->a, &pair->b));
}

static void pages_post(struct vt_end *end, enum ibv_wr_opcode opcode, const void *addr,
		       u32 lkey, const void *to, u32 rkey)
{
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		      opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct ibv_sge sge = { (uintptr_t)addr, atomic ? 8 : LEN, lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	}, *bad;

	if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)to;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = rkey;
	}
	must(!ibv_post_send(end->qp, &wr, &bad));
}

static void post_recv(struct vt_end *end, void *addr, u32 lkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, LEN, lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(end->qp, &wr, &bad));
}

static void pages_done(struct ibv_cq *cq, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	ktap_eq(wc.status, status);
}

/* WRITE from an ordinary page of a to @to of b. */
static void write_to(struct pair *pair, void *to, u32 rkey,
		     enum ibv_wc_status status)
{
	pages_post(&pair->a, IBV_WR_RDMA_WRITE, pair->a.buf, pair->a.mr->lkey, to, rkey);
	pages_done(pair->a.scq, status);
	if (status)
		pair_again(pair);
}

static void pinned(void)
{
	u8 *mem = pages_area();

	REFUSED_MR(ibv_reg_mr(a.pd, mem + PAGE, PAGE, VT_ACCESS), EFAULT);
	REFUSED_MR(ibv_reg_mr(a.pd, mem, 3 * PAGE, VT_ACCESS), EFAULT);
	munmap(mem, 3 * PAGE);
}

/* A peer names the page. */
static void named_by_peers(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct pair pair = {};
	u64 errors;
	u32 i;

	pair_open(&pair);
	errors = vt_counter(&b, "odp_fault_errors");
	for (i = 0; i < 4; i++) {
		pages_post(&pair.a, opcodes[i], pair.a.buf, pair.a.mr->lkey, pair.at_b,
			   pair.mr_b->rkey);
		pages_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
		pair_again(&pair);
	}
	ktap_eq(vt_counter(&b, "odp_fault_errors"), errors + 4);
	ktap_ok(!strcmp((char *)pair.at_b, "secret"));
	pair_close(&pair);
}

/* A work request of the process names the page. */
static void named_here(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct pair pair = {};
	u32 i;

	pair_open(&pair);
	for (i = 0; i < 4; i++) {
		post_recv(&pair.b, pair.b.buf, pair.b.mr->lkey);
		pages_post(&pair.a, opcodes[i], pair.at_a, pair.mr_a->lkey, pair.b.buf,
			   pair.b.mr->rkey);
		pages_done(pair.a.scq, IBV_WC_LOC_PROT_ERR);
		pair_again(&pair);
	}
	post_recv(&pair.b, pair.at_b, pair.mr_b->lkey);
	pages_post(&pair.a, IBV_WR_SEND, pair.a.buf, pair.a.mr->lkey, NULL, 0);
	pages_done(pair.a.scq, IBV_WC_REM_OP_ERR);
	pages_done(pair.b.rcq, IBV_WC_LOC_PROT_ERR);
	ktap_ok(!strcmp((char *)pair.at_a, "secret"));
	ktap_ok(!strcmp((char *)pair.at_b, "secret"));
	pair_close(&pair);
}

/* A fault brings neighbouring pages along, but not secret ones. */
static void neighbours(void)
{
	struct pair pair = {};

	pair_open(&pair);
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_SUCCESS);
	write_to(&pair, pair.area_b + 2 * PAGE, pair.mr_b->rkey, IBV_WC_SUCCESS);
	write_to(&pair, pair.at_b, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	write_to(&pair, pair.at_b - LEN / 2, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_SUCCESS);
	pair_close(&pair);
}

static void advised(void)
{
	struct pair pair = {};
	struct ibv_sge sge;

	pair_open(&pair);
	sge = (struct ibv_sge){ (uintptr_t)pair.area_b, 3 * PAGE, pair.mr_b->lkey };
	ktap_eq(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, FLUSH, &sge,
			      1), EFAULT);
	ktap_eq(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, FLUSH,
			      &sge, 1), EFAULT);
	ktap_eq(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
			      FLUSH, &sge, 1), 0);
	write_to(&pair, pair.at_b, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_SUCCESS);
	pair_close(&pair);
}

static void implicit(void)
{
	struct pair pair = {};
	struct ibv_mr *all;

	pair_open(&pair);
	all = ibv_reg_mr(b.pd, NULL, SIZE_MAX, ODP_RW);
	must(all);
	write_to(&pair, pair.at_b, all->rkey, IBV_WC_REM_ACCESS_ERR);
	write_to(&pair, pair.area_b, all->rkey, IBV_WC_SUCCESS);
	ktap_eq(ibv_dereg_mr(all), 0);
	pair_close(&pair);
}

/* Ordinary memory is used first, and secret memory replaces it. */
static void replaced(void)
{
	struct pair pair = {};
	u8 *other;

	pair_open(&pair);
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_SUCCESS);
	pages_secret(pair.area_b);
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	pair.area_b[0] = 1;
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	write_to(&pair, pair.area_b + 2 * PAGE, pair.mr_b->rkey, IBV_WC_SUCCESS);
	other = pages_secret(NULL);
	other[0] = 1;
	must(mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    pair.area_b + 2 * PAGE) == pair.area_b + 2 * PAGE);
	write_to(&pair, pair.area_b + 2 * PAGE, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	/* and back */
	pages_ordinary(pair.area_b, 1);
	write_to(&pair, pair.area_b, pair.mr_b->rkey, IBV_WC_SUCCESS);
	pair_close(&pair);
}

/* The page is in no page table of this process before the device asks for it. */
static void faulted_in_by_a_child(void)
{
	struct pair pair = {};
	int status = -1;
	pid_t child;

	pair_open(&pair);
	pages_secret(pair.at_b);
	child = fork();
	if (!child) {
		pair.at_b[0] = 1;
		_exit(0);
	}
	waitpid(child, &status, 0);
	ktap_eq(status, 0);
	write_to(&pair, pair.at_b, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	/* nor in the file */
	pages_secret(pair.at_b);
	write_to(&pair, pair.at_b, pair.mr_b->rkey, IBV_WC_REM_ACCESS_ERR);
	pair_close(&pair);
}

/* Only call instructions may write to a shadow stack. */
static void shadow_stack(void)
{
	long at = syscall(SYS_map_shadow_stack, 0, PAGE, 0);
	struct pair pair = {};
	struct ibv_mr *mr;

	if (at == -1) {
		printf("# no shadow stacks: %s\n", strerror(errno));
		return;
	}
	pair_open(&pair);
	mr = ibv_reg_mr(b.pd, (void *)at, PAGE, ODP_RW);
	must(mr);
	write_to(&pair, (void *)at, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_dereg_mr(mr), 0);
	munmap((void *)at, PAGE);
	pair_close(&pair);
}

#define TESTS(X)							\
	X(pinned) X(named_by_peers) X(named_here) X(neighbours)		\
	X(advised) X(implicit) X(replaced) X(faulted_in_by_a_child)	\
	X(shadow_stack)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);

	if (fd < 0) {
		puts("KTAP version 1\n1..1\nok 1 - secret memory # SKIP the kernel has none");
		return 0;
	}
	close(fd);
	if (setuid(NOBODY))
		return vt_bail();
	return vt_run_on(&a, &b, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
