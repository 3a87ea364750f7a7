// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The inline rule: conversion of scatter/gather lists. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"

#define KEY	0x00345678u
#define IOVA	0x10000000ull
#define LEN	1000u

static struct ibv_context *ctx;
static struct ibv_pd *pd, *other_pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct fake_ring *sq;
static struct ibv_mr *mr;
static uint8_t mem[LEN];

static struct ibv_qp *new_qp(uint32_t inline_data, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .pd = pd,
		.cap = {
			.max_send_wr = 16, .max_send_sge = 8,
			.max_inline_data = inline_data,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};
	struct ibv_qp *new;

	new = fake.ops.create_qp_ex(ctx, &attr);
	new->state = IBV_QPS_RTS;
	return new;
}

static void open_all(uint32_t inline_data)
{
	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	other_pd = fake_pd(ctx);
	cq = fake_cq(ctx, 16);
	qp = new_qp(inline_data, IBV_QP_EX_WITH_SEND |
				 IBV_QP_EX_WITH_RDMA_READ);
	sq = fake_sq(qp);
	for (size_t i = 0; i < LEN; i++)
		mem[i] = (uint8_t)(i * 3 + 1);
	fake.mr_key = KEY;
	mr = fake.ops.reg_mr(pd, mem, LEN, IOVA, 0);
}

static void close_all(void)
{
	if (mr)
		ktap_eq(fake.ops.dereg_mr(cairn_container_of(mr,
				struct verbs_mr, ibv_mr)), 0);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(other_pd), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
}

static int dereg(void)
{
	return fake.ops.dereg_mr(cairn_container_of(mr, struct verbs_mr,
						    ibv_mr));
}

/* The WQE of one posted request; the next begins behind it. */
static const struct cairn_send_wqe *post(struct ibv_send_wr *wr)
{
	uint32_t index = sq->host->index;
	const struct cairn_send_wqe *wqe = fake_unit(sq, index);
	struct ibv_send_wr *bad;

	ktap_eq(fake.ops.post_send(qp, wr, &bad), 0);
	ktap_eq(sq->host->index, index + wqe->units);
	/* nothing is outstanding: the ring stays empty */
	sq->dev->index = sq->host->index;
	return wqe;
}

static const struct cairn_send_wqe *post_sge(enum ibv_wr_opcode opcode,
					     unsigned int flags, uint64_t at,
					     uint32_t len, uint32_t key)
{
	struct ibv_sge sge = { at, len, key };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = flags,
	};

	return post(&wr);
}

static bool is_inline(const struct cairn_send_wqe *wqe)
{
	bool in = wqe->flags & CAIRN_WQE_INLINE;

	ktap_eq(wqe->num_sge, !in);
	return in;
}

/* A SEND of @len bytes from the middle of the region. */
static bool inlines(uint32_t len)
{
	const struct cairn_send_wqe *wqe;

	wqe = post_sge(IBV_WR_SEND, 0, IOVA + 100, len, KEY);
	if (!is_inline(wqe)) {
		ktap_eq(wqe->sge[0].addr, IOVA + 100);
		ktap_eq(wqe->sge[0].length, len);
		ktap_eq(wqe->sge[0].lkey, KEY);
		ktap_eq(wqe->units, 1);
		return false;
	}
	ktap_eq(wqe->inline_len, len);
	ktap_eq(wqe->units, (32 + len + 63) / 64);
	ktap_ok(!memcmp(wqe->inline_data, mem + 100, len));
	return true;
}

/* 64 bytes, or less if the program asked for less. */
static void by_default(void)
{
	static const struct {
		uint32_t asked, threshold;
	} cases[] = { { 0, 0 }, { 1, 1 }, { 40, 40 }, { 64, 64 }, { 512, 64 } };

	for (size_t i = 0; i < 5; i++) {
		open_all(cases[i].asked);
		if (cases[i].threshold) {
			ktap_ok(inlines(cases[i].threshold));
			ktap_ok(inlines(1));
			ktap_ok(inlines(0));
		}
		ktap_ok(!inlines(cases[i].threshold + 1));
		close_all();
	}
}

static void by_environment(void)
{
	static const struct {
		const char *value;
		uint32_t threshold;
	} cases[] = {
		{ "0", 0 }, { "7", 7 }, { "100", 100 }, { "512", 512 },
		{ "99999", 512 }, { "", 64 }, { "x", 64 }, { "8k", 64 },
	};

	for (size_t i = 0; i < 8; i++) {
		setenv("CAIRN_INLINE_THRESHOLD", cases[i].value, 1);
		open_all(512);
		if (cases[i].threshold)
			ktap_ok(inlines(cases[i].threshold));
		ktap_ok(!inlines(cases[i].threshold + 1));
		close_all();
	}
	unsetenv("CAIRN_INLINE_THRESHOLD");
}

static void by_call(void)
{
	static const struct verbs_device_ops other;
	struct verbs_device vdev = { .ops = &other };
	struct ibv_device *ours;

	open_all(300);
	ktap_eq(cairndv_set_inline_threshold(qp, 300), 0);
	ktap_ok(inlines(300));
	ktap_ok(!inlines(301));
	ktap_eq(cairndv_set_inline_threshold(qp, 301), EINVAL);
	ktap_ok(inlines(300));
	ktap_eq(cairndv_set_inline_threshold(qp, 0), 0);
	ktap_ok(!inlines(1));
	ours = ctx->device;
	ctx->device = &vdev.device;
	ktap_eq(cairndv_set_inline_threshold(qp, 1), EOPNOTSUPP);
	ctx->device = ours;
	close_all();
}

/* Requests that the device would refuse reach the device. */
static void unknown_stays_a_list(void)
{
	struct ibv_mr *foreign;

	open_all(512);
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA, 8, KEY + 1)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA, 8, 0)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA, 8, ~0u)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA, 8, KEY ^ 0x80)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA - 1, 8, KEY)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA + LEN - 7, 8, KEY)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA + LEN + 1, 0, KEY)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, (uintptr_t)mem, 8, KEY)));
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, ~0ull, 8, KEY)));
	ktap_ok(is_inline(post_sge(IBV_WR_SEND, 0, IOVA + LEN - 8, 8, KEY)));
	fake.mr_key = KEY + 256;
	foreign = fake.ops.reg_mr(other_pd, mem, LEN, IOVA, 0);
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, 0, IOVA, 8, KEY + 256)));
	ktap_eq(fake.ops.dereg_mr(cairn_container_of(foreign, struct verbs_mr,
						     ibv_mr)), 0);
	close_all();
}

static void only_what_may_be(void)
{
	open_all(512);
	ktap_ok(is_inline(post_sge(IBV_WR_RDMA_WRITE, 0, IOVA, 8, KEY)));
	ktap_ok(is_inline(post_sge(IBV_WR_SEND_WITH_IMM, 0, IOVA, 8, KEY)));
	ktap_ok(is_inline(post_sge(CAIRNDV_WR_WRITE_PERSIST, 0, IOVA, 8, KEY)));
	ktap_ok(!is_inline(post_sge(IBV_WR_RDMA_READ, 0, IOVA, 8, KEY)));
	ktap_eq(post_sge(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, IOVA, 8,
			 KEY)->flags, 0);
	/* a READ may still write to that memory */
	ktap_ok(!is_inline(post_sge(IBV_WR_SEND, IBV_SEND_FENCE, IOVA, 8,
				    KEY)));
	/* without a list there is nothing to decide */
	ktap_eq(post(&(struct ibv_send_wr){ .opcode = IBV_WR_SEND })->flags, 0);
	close_all();
}

/* Posts a list of one entry. The device does not finish it. */
static const struct cairn_send_wqe *leave(enum ibv_wr_opcode opcode,
					  unsigned int flags)
{
	uint32_t done = sq->dev->index;
	const struct cairn_send_wqe *wqe;

	wqe = post_sge(opcode, flags, IOVA, 8, KEY);
	sq->dev->index = done;
	return wqe;
}

/* A fence holds back all requests from it on, so a READ before it may bring their data. */
static void behind_a_fence(void)
{
	uint32_t fence;

	open_all(512);
	leave(IBV_WR_RDMA_READ, 0);
	ktap_ok(is_inline(leave(IBV_WR_SEND, 0)));
	fence = sq->host->index;
	leave(IBV_WR_SEND, IBV_SEND_FENCE);
	ktap_ok(!is_inline(leave(IBV_WR_SEND, 0)));
	ktap_ok(!is_inline(leave(IBV_WR_RDMA_WRITE, 0)));
	sq->dev->index = fence;
	ktap_ok(!is_inline(leave(IBV_WR_SEND, 0)));
	sq->dev->index = fence + 1;
	ktap_ok(is_inline(leave(IBV_WR_SEND, 0)));
	/* a fence that is reset */
	leave(IBV_WR_SEND, IBV_SEND_FENCE);
	sq->dev->index = sq->host->index;
	ktap_ok(is_inline(leave(IBV_WR_SEND, 0)));
	close_all();
}

static void extended_behind_a_fence(void)
{
	const struct cairn_send_wqe *wqe;
	struct ibv_qp_ex *ex;

	open_all(512);
	ex = &to_cqp(qp)->vqp.qp_ex;
	wqe = fake_unit(sq, 0);
	ibv_wr_start(ex);
	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_sge(ex, KEY, IOVA, 8);
	ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_send(ex);
	ex->wr_flags = 0;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, KEY, IOVA, 8);
	ktap_eq(ibv_wr_complete(ex), 0);
	ktap_ok(!is_inline(wqe + 2));
	close_all();
}

static void lists(void)
{
	struct ibv_sge sge[5];
	struct ibv_send_wr wr = { .sg_list = sge, .opcode = IBV_WR_SEND };
	const struct cairn_send_wqe *wqe;

	open_all(512);
	for (uint32_t i = 0; i < 5; i++)
		sge[i] = (struct ibv_sge){ IOVA + 90 * i, 16, KEY };
	wr.num_sge = 4;
	wqe = post(&wr);
	ktap_ok(wqe->flags & CAIRN_WQE_INLINE);
	ktap_eq(wqe->inline_len, 64);
	for (uint32_t i = 0; i < 4; i++)
		ktap_ok(!memcmp((const uint8_t *)wqe + 32 + 16 * i,
				mem + 90 * i, 16));
	/* one byte more, one key that is not known, one piece more */
	sge[3].length = 17;
	ktap_eq(post(&wr)->num_sge, 4);
	sge[3].length = 16;
	sge[2].lkey++;
	ktap_eq(post(&wr)->num_sge, 4);
	sge[2].lkey--;
	for (uint32_t i = 0; i < 5; i++)
		sge[i].length = 1;
	wr.num_sge = 5;
	ktap_eq(post(&wr)->num_sge, 5);
	/* lengths that a sum of 32 bits would lose */
	sge[0].length = 0x80000000;
	sge[1].length = 0x80000001;
	wr.num_sge = 2;
	ktap_eq(post(&wr)->num_sge, 2);
	close_all();
}

/* A region is unknown as soon as its deregistration begins, and after a change. */
static void regions_end(void)
{
	struct verbs_mr *vmr;
	uint32_t ticket;

	open_all(512);
	fake.fail = "dereg_mr";
	fake.fail_err = EBUSY;
	ktap_eq(dereg(), EBUSY);
	ktap_ok(inlines(8));
	fake.ioctl_errors[0] = EAGAIN;
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), EAGAIN);
	ktap_ok(inlines(8));
	vmr = cairn_container_of(mr, struct verbs_mr, ibv_mr);
	ktap_eq(fake.ops.rereg_mr(vmr, IBV_REREG_MR_CHANGE_ACCESS, pd, mem, LEN,
				  0), 0);
	ktap_ok(!inlines(8));
	ktap_eq(dereg(), 0);
	ktap_ok(!inlines(8));
	mr = fake.ops.reg_mr(pd, mem, LEN, IOVA, 0);
	ktap_ok(inlines(8));
	ktap_eq(dereg(), 0);
	ktap_ok(!inlines(8));
	/* a failed registration adds no key */
	fake.fail = "reg_mr";
	fake.fail_err = ENOMEM;
	mr = fake.ops.reg_mr(pd, mem, LEN, IOVA, 0);
	ktap_ok(!mr);
	ktap_ok(!inlines(8));
	mr = fake.ops.reg_dmabuf_mr(pd, 0, LEN, IOVA, 3, 0);
	mr->lkey = KEY;
	ktap_ok(!inlines(8));
	/* on demand: it may be unmapped, which the device has to report */
	ktap_eq(dereg(), 0);
	mr = fake.ops.reg_mr(pd, mem, LEN, IOVA, IBV_ACCESS_ON_DEMAND);
	ktap_ok(!inlines(8));
	close_all();
}

static bool inlines_key(uint32_t key)
{
	return is_inline(post_sge(IBV_WR_SEND, 0, IOVA, 8, key));
}

/* Return: 0 if this child takes only its own regions for its memory. */
static int child_posts(void)
{
	struct ibv_mr *own;

	if (inlines_key(KEY))
		return 1;
	fake.mr_key = KEY + 256;
	own = fake.ops.reg_mr(pd, mem, LEN, IOVA, 0);
	if (!inlines_key(KEY + 256) || inlines_key(KEY))
		return 2;
	fake.fail = "dereg_mr";
	fake.fail_err = EBUSY;
	if (dereg() != EBUSY || inlines_key(KEY))
		return 5;
	/* the parent's ends, and another one has its key */
	fake.mr_key = KEY;
	if (dereg() || !fake.ops.reg_mr(pd, mem, LEN, IOVA, 0) || !inlines_key(KEY))
		return 3;
	mr = own;
	return dereg() || inlines_key(KEY + 256) ? 4 : 0;
}

/* Regions of the parent are the parent's memory, of which the child has a copy at best. */
static void child_of_a_fork(void)
{
	int status = -1;
	pid_t child;

	open_all(512);
	ktap_ok(inlines(8));
	child = fork();
	if (!child)
		_exit(child_posts());
	ktap_eq(waitpid(child, &status, 0), child);
	ktap_eq(status, 0);
	/* the parent goes on where it was */
	sq->host->index = to_cqp(qp)->sq.ring.index;
	sq->dev->index = sq->host->index;
	ktap_ok(inlines(8));
	close_all();
}

/* Until wr_complete nothing is posted, and the program may write its buffers. */
static void extended_late(void)
{
	const struct ibv_sge other = { IOVA + 100, 30, KEY };
	const struct cairn_send_wqe *wqe;
	struct ibv_qp_ex *ex;
	uint8_t text[] = "text";

	open_all(512);
	ex = &to_cqp(qp)->vqp.qp_ex;
	ibv_wr_start(ex);
	for (int i = 0; i < 14; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, KEY, IOVA + (unsigned int)i * 8, 8);
	}
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 1, &other);
	ibv_wr_set_inline_data(ex, text, 4);
	memset(mem, 0xa5, sizeof(mem));
	text[0] = 0xa5;
	ktap_eq(ibv_wr_complete(ex), 0);
	wqe = fake_unit(sq, 0);
	for (int i = 0; i < 14; i++, wqe++) {
		ktap_ok(is_inline(wqe));
		ktap_eq(wqe->inline_len, 8);
		ktap_ok(!memcmp(wqe->inline_data, mem, 8));
	}
	ktap_ok(!memcmp(wqe->inline_data, "text", 4));
	/* what was aborted is not posted later */
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, KEY, IOVA, 8);
	ibv_wr_abort(ex);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, text, 4);
	ktap_eq(ibv_wr_complete(ex), 0);
	wqe = fake_unit(sq, 15);
	ktap_ok(!memcmp(wqe->inline_data, text, 4));
	close_all();
}

static void extended(void)
{
	const struct cairn_send_wqe *wqe;
	struct ibv_qp_ex *ex;

	open_all(512);
	ex = &to_cqp(qp)->vqp.qp_ex;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, KEY, IOVA + 5, 60);
	/* the last one counts */
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, KEY, IOVA + 5, 60);
	ibv_wr_set_sge(ex, KEY, IOVA + 6, 65);
	ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_send(ex);
	ex->wr_flags = 0;
	ibv_wr_set_sge(ex, KEY, IOVA, 8);
	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_sge(ex, KEY, IOVA, 8);
	ktap_eq(ibv_wr_complete(ex), 0);
	wqe = fake_unit(sq, 0);
	ktap_ok(is_inline(wqe));
	ktap_eq(wqe->inline_len, 60);
	ktap_eq(wqe->units, 2);
	ktap_ok(!memcmp(wqe->inline_data, mem + 5, 60));
	wqe += 2;
	ktap_ok(!is_inline(wqe));
	ktap_eq(wqe->units, 1);
	ktap_eq(wqe->inline_len, 0);
	ktap_eq(wqe->sge[0].length, 65);
	ktap_ok(!is_inline(++wqe));
	ktap_ok(!is_inline(++wqe));
	ktap_eq(sq->host->index, 5);
	close_all();
}

static volatile bool stop;

static void *come_and_go(void *arg)
{
	while (!stop) {
		mr = fake.ops.reg_mr(pd, mem, LEN, IOVA, 0);
		ktap_eq(dereg(), 0);
	}
	mr = fake.ops.reg_mr(pd, mem, LEN, IOVA, 0);
	return arg;
}

/* Posts while the region comes and goes: one or the other, never half. */
static void races(void)
{
	pthread_t thread;
	int seen = 0;

	open_all(512);
	ktap_eq(dereg(), 0);
	stop = false;
	ktap_eq(pthread_create(&thread, NULL, come_and_go, NULL), 0);
	for (int i = 0; i < 200000; i++)
		seen += inlines(32);
	stop = true;
	pthread_join(thread, NULL);
	printf("# %d of 200000 inline\n", seen);
	ktap_ok(inlines(32));
	close_all();
}

static const struct ktap_test tests[] = {
	KTAP(by_default),
	KTAP(by_environment),
	KTAP(by_call),
	KTAP(unknown_stays_a_list),
	KTAP(only_what_may_be),
	KTAP(behind_a_fence),
	KTAP(extended_behind_a_fence),
	KTAP(lists),
	KTAP(regions_end), KTAP(child_of_a_fork),
	KTAP(extended_late), KTAP(extended),
	KTAP(races),
};

KTAP_MAIN(tests)
