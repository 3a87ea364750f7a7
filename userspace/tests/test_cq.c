// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: conversion, polling, arming, resizing, extended poll. */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cq.h"
#include "fake.h"
#include "ktap.h"

static struct ibv_context *ctx;
static struct ibv_cq *cq;
static struct ibv_cq_ex *cqx;
static struct fake_ring *ring;

#define ALL_WC_FLAGS	(IBV_WC_STANDARD_FLAGS |			\
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |		\
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static void open_cq(int cqe, uint32_t start)
{
	fake_reset();
	ctx = fake_open();
	fake.start_index = start;
	cq = fake_cq(ctx, cqe);
	cqx = NULL;
	ring = &fake.rings[fake.last_qid];
}

static void open_cq_ex(uint32_t cqe, uint64_t wc_flags, bool single)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = cqe, .wc_flags = wc_flags };

	if (single) {
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	fake_reset();
	ctx = fake_open();
	fake.start_index = 0xfffffffe;
	cqx = fake.ops.create_cq_ex(ctx, &attr);
	cq = ibv_cq_ex_to_cq(cqx);
	ring = &fake.rings[fake.last_qid];
}

static void close_cq(void)
{
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
	ktap_eq(fake.contexts, 0);
}

static struct cairn_cqe any_cqe(void)
{
	return (struct cairn_cqe){
		.wr_id = ktap_rand(),
		.qpn = (uint32_t)ktap_rand(),
		.byte_len = (uint32_t)ktap_rand(),
		.imm_or_key = (uint32_t)ktap_rand(),
		.src_qp = (uint32_t)ktap_rand(),
		.vendor_err = (uint32_t)ktap_rand(),
		.timestamp = ktap_rand(),
		.sl = (uint8_t)ktap_below(8),
	};
}

/* mlx5's report of a datagram: IPv4 or IPv6 in UDP. */
static uint8_t sl_of(const struct cairn_cqe *cqe)
{
	if (!(cqe->flags & CAIRN_CQE_GRH))
		return cqe->sl;
	return cqe->flags & CAIRN_CQE_IPV4 ? 0xa : 0x9;
}

static void check_wc(const struct ibv_wc *wc, const struct cairn_cqe *cqe,
		     int status, int opcode, unsigned int flags)
{
	ktap_eq(wc->wr_id, cqe->wr_id);
	ktap_eq(wc->status, status);
	ktap_eq(wc->opcode, opcode);
	ktap_eq(wc->vendor_err, cqe->vendor_err);
	ktap_eq(wc->byte_len, cqe->byte_len);
	ktap_eq(wc->imm_data, cqe->imm_or_key);
	ktap_eq(wc->qp_num, cqe->qpn);
	ktap_eq(wc->src_qp, cqe->src_qp);
	ktap_eq(wc->wc_flags, flags);
	ktap_eq(wc->pkey_index, 0);
	ktap_eq(wc->slid, 0);
	ktap_eq(wc->sl, sl_of(cqe));
	ktap_eq(wc->dlid_path_bits, 0);
}

static struct ibv_wc poll_one(const struct cairn_cqe *cqe)
{
	struct ibv_wc wc;

	memset(&wc, 0xff, sizeof(wc));
	fake_complete(ring, cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
	ktap_eq(ring->host->index, ring->dev->index);
	return wc;
}

static const struct {
	uint8_t cqe;
	int wc;
} opcodes[] = {
	{ 0, IBV_WC_SEND },
	{ 1, IBV_WC_RDMA_WRITE },
	{ 2, IBV_WC_RDMA_READ },
	{ 3, IBV_WC_COMP_SWAP },
	{ 4, IBV_WC_FETCH_ADD },
	{ 5, IBV_WC_BIND_MW },
	{ 6, IBV_WC_LOCAL_INV },
	{ 8, IBV_WC_RDMA_WRITE },	/* WRITE_PERSIST */
	{ 16, IBV_WC_RECV },
	{ 17, IBV_WC_RECV_RDMA_WITH_IMM },
	{ 18, IBV_WC_RECV },	/* host flush wanted */
	{ 19, IBV_WC_RECV },	/* durable */
	{ 20, IBV_WC_SEND },		/* unknown: at least not a receive */
	{ 255, IBV_WC_SEND },
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void convert_opcodes(void)
{
	open_cq(16, 0);
	for (size_t i = 0; i < NR(opcodes); i++) {
		struct cairn_cqe cqe = any_cqe();
		struct ibv_wc wc;

		cqe.opcode = opcodes[i].cqe;
		wc = poll_one(&cqe);
		check_wc(&wc, &cqe, IBV_WC_SUCCESS, opcodes[i].wc, 0);
	}
	close_cq();
}

static const struct {
	uint8_t cqe;
	int wc;
} statuses[] = {
	{ CAIRN_CQE_SUCCESS, IBV_WC_SUCCESS },
	{ CAIRN_CQE_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR },
	{ CAIRN_CQE_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ CAIRN_CQE_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ CAIRN_CQE_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR },
	{ CAIRN_CQE_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR },
	{ CAIRN_CQE_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR },
	{ CAIRN_CQE_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR },
	{ CAIRN_CQE_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR },
	{ CAIRN_CQE_REM_OP_ERR, IBV_WC_REM_OP_ERR },
	{ CAIRN_CQE_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR },
	{ CAIRN_CQE_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR },
	{ CAIRN_CQE_FATAL_ERR, IBV_WC_FATAL_ERR },
};

static void convert_statuses(void)
{
	open_cq(16, 0);
	for (size_t i = 0; i < NR(statuses); i++) {
		struct cairn_cqe cqe = any_cqe();
		struct ibv_wc wc;

		cqe.status = statuses[i].cqe;
		wc = poll_one(&cqe);
		check_wc(&wc, &cqe, statuses[i].wc, IBV_WC_SEND, 0);
	}
	close_cq();
}

static void convert_flags(void)
{
	open_cq(16, 0);
	for (uint16_t f = 0; f < 64; f++) {
		struct cairn_cqe cqe = any_cqe();
		struct ibv_wc wc;

		cqe.opcode = CAIRN_CQE_RECV;
		cqe.flags = f;
		wc = poll_one(&cqe);
		check_wc(&wc, &cqe, IBV_WC_SUCCESS, IBV_WC_RECV,
			 (f & 1 ? IBV_WC_GRH : 0u) |
			 (f & 2 ? IBV_WC_WITH_IMM : 0u) |
			 (f & 4 ? IBV_WC_WITH_INV : 0u));
	}
	close_cq();
}

/* A host flush of a message with immediate data is no plain receive. */
static void convert_flush_with_immediate(void)
{
	struct cairn_cqe cqe = any_cqe();
	struct ibv_wc wc;

	open_cq(16, 0);
	cqe.opcode = CAIRN_CQE_RECV_PERSIST;
	cqe.flags = CAIRN_CQE_WITH_IMM;
	wc = poll_one(&cqe);
	check_wc(&wc, &cqe, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM,
		 IBV_WC_WITH_IMM);
	close_cq();
}

static void empty(void)
{
	struct ibv_wc wc;

	open_cq(4, 9);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 0);
	ktap_eq(fake.ops.poll_cq(cq, 0, &wc), 0);
	ktap_eq(fake.ops.poll_cq(cq, -1, &wc), 0);
	ktap_eq(ring->host->index, 9);
	close_cq();
}

/* Batches of every size, around the ring and around 2^32. */
static void batches(void)
{
	struct ibv_wc wc[20];
	uint64_t next = 0, want = 0;

	open_cq(16, 0xffffffc0);
	for (int round = 0; round < 500; round++) {
		int add = (int)ktap_below(17);
		int ask = (int)ktap_below(20);
		int n;

		while (add-- && ring->dev->index - ring->host->index < 16) {
			struct cairn_cqe cqe = { .wr_id = next++ };

			fake_complete(ring, &cqe);
		}
		n = fake.ops.poll_cq(cq, ask, wc);
		ktap_eq(n, (uint64_t)ask < next - want ? (uint64_t)ask :
							 next - want);
		for (int i = 0; i < n; i++)
			ktap_eq(wc[i].wr_id, want++);
		ktap_eq(ring->host->index, (uint32_t)(0xffffffc0 + want));
	}
	close_cq();
}

/* Completions wait for room: the device is told when there is some. */
static void completions_that_wait(void)
{
	struct cairn_cqe cqe = { .wr_id = 5 };
	struct ibv_wc wc[4];

	open_cq(4, 0);
	ktap_eq(fake.ops.poll_cq(cq, 2, wc), 0);
	for (int i = 0; i < 4; i++)
		fake_complete(ring, &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, wc), 1);
	ktap_eq(fake.looks, 0);
	ring->dev->wakeup = 1;
	ktap_eq(fake.ops.poll_cq(cq, 2, wc), 2);
	ktap_eq(fake.looks, 1);
	ktap_eq(fake.looked_at, cq->handle);
	ktap_eq(fake.ops.poll_cq(cq, 2, wc), 1);
	ktap_eq(fake.looks, 2);
	/* No room was made. */
	ktap_eq(fake.ops.poll_cq(cq, 2, wc), 0);
	ktap_eq(fake.looks, 2);
	close_cq();
}

static void completions_that_wait_extended(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct cairn_cqe cqe = { .wr_id = 5 };

	open_cq_ex(4, 0, false);
	fake_complete(ring, &cqe);
	fake_complete(ring, &cqe);
	ring->dev->wakeup = 1;
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ktap_eq(fake.looks, 0);
	ibv_end_poll(cqx);
	ktap_eq(fake.looks, 1);
	ring->dev->wakeup = 0;
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ibv_end_poll(cqx);
	ktap_eq(fake.looks, 1);
	close_cq();
}

static bool finds_nothing(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;

	if (cqx)
		return ibv_start_poll(cqx, &attr) == ENOENT;
	return !fake.ops.poll_cq(cq, 1, &wc);
}

/* Return: polls that find nothing until one makes a system call. */
static uint32_t polls_to_yield(void)
{
	uint32_t polls = 1;

	fake.ioctl_bytes[0] = 0;	/* of the length of a call */
	do
		ktap_ok(finds_nothing());
	while (!fake.ioctl_bytes[0] && ++polls < 1000000);
	return polls;
}

/* Polls that find nothing leave the CPU to others: the sooner and longer, the more often
 * others want it. A completion begins the count anew.
 */
static void yields_of(void)
{
	static const uint32_t busy[][2] = {
		{ 1024, 10 }, { 512, 20 }, { 256, 40 }, { 128, 80 }, { 64, 100 },
		{ 32, 100 }, { 16, 100 }, { 16, 100 },
	};
	static const uint32_t alone[] = { 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192,
					  16384, 16384 };
	struct cairn_cqe cqe = { .wr_id = 5 };
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		ktap_eq(polls_to_yield(), busy[i][0]);
		ktap_eq(fake.yield_us, busy[i][1]);
	}
	for (i = 0; i < 15; i++)
		ktap_ok(finds_nothing());
	fake_complete(ring, &cqe);
	if (!cqx) {
		ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
	} else {
		ktap_ok(!finds_nothing());
		ibv_end_poll(cqx);
	}
	fake.ioctl_errors[0] = EAGAIN;
	ktap_eq(polls_to_yield(), 16);
	for (i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		fake.ioctl_errors[0] = EAGAIN;
		ktap_eq(polls_to_yield(), alone[i]);
	}
	/* its sleep is short again */
	ktap_eq(polls_to_yield(), 16384);
	ktap_eq(fake.yield_us, 10);
	/* a module without the method is not asked again */
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(polls_to_yield(), 8192);
	ktap_eq(polls_to_yield(), 1000000);
}

static void yields(void)
{
	open_cq(4, 0);
	yields_of();
	close_cq();
}

static void yields_extended(void)
{
	open_cq_ex(4, 0, false);
	yields_of();
	close_cq();
}

static uint32_t arm(int solicited_only)
{
	ktap_eq(fake.ops.req_notify_cq(cq, solicited_only), 0);
	return ring->host->arm;
}

/* Completions that are not polled raise an event: the device is asked to look. */
static void arming_a_queue_with_completions(void)
{
	struct cairn_cqe cqe = {};
	struct ibv_wc wc;

	open_cq(4, 0);
	arm(0);
	ktap_eq(fake.looks, 0);
	fake_complete(ring, &cqe);
	arm(1);
	ktap_eq(fake.looks, 1);
	arm(0);
	ktap_eq(fake.looks, 2);
	ktap_eq(fake.looked_at, cq->handle);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
	arm(0);
	ktap_eq(fake.looks, 2);
	ring->dev->wakeup = 1;
	arm(0);
	ktap_eq(fake.looks, 3);
	close_cq();
}

static void arming(void)
{
	open_cq(4, 0);
	ktap_eq(ring->host->arm, 0);
	ktap_eq(arm(1), 1 << 2 | CAIRN_ARM_SOLICITED);
	ktap_eq(arm(0), 2 << 2 | CAIRN_ARM_NEXT);
	/* stays: no event was seen */
	ktap_eq(arm(1), 3 << 2 | CAIRN_ARM_NEXT);
	fake.ops.cq_event(cq);
	/* the event may have answered the first */
	ktap_eq(arm(1), 4 << 2 | CAIRN_ARM_NEXT);
	fake.ops.cq_event(cq);
	/* two events: the second answered the second, or a later one */
	ktap_eq(arm(1), 5 << 2 | CAIRN_ARM_SOLICITED);
	ktap_eq(arm(0), 6 << 2 | CAIRN_ARM_NEXT);
	for (int i = 3; i <= 6; i++)
		fake.ops.cq_event(cq);
	ktap_eq(arm(1), 7 << 2 | CAIRN_ARM_SOLICITED);
	close_cq();
}

/* The event answered a request, but not the one that still waits. */
static void arm_behind_event(void)
{
	open_cq(4, 0);
	ktap_eq(arm(0), 1 << 2 | CAIRN_ARM_NEXT);
	/* the device answers; before the event is read, a thread asks for one more */
	ktap_eq(arm(0), 2 << 2 | CAIRN_ARM_NEXT);
	fake.ops.cq_event(cq);
	ktap_eq(arm(1), 3 << 2 | CAIRN_ARM_NEXT);
	fake.ops.cq_event(cq);
	ktap_eq(arm(1), 4 << 2 | CAIRN_ARM_SOLICITED);
	close_cq();
}

/* The order of most programs: an event, and the next request. */
static void arm_in_turns(void)
{
	open_cq(4, 0);
	for (uint32_t seq = 1; seq < 100; seq += 2) {
		ktap_eq(arm(0), seq << 2 | CAIRN_ARM_NEXT);
		fake.ops.cq_event(cq);
		ktap_eq(arm(1), (seq + 1) << 2 | CAIRN_ARM_SOLICITED);
		fake.ops.cq_event(cq);
	}
	close_cq();
}

static void arm_sequence_wraps(void)
{
	open_cq(4, 0);
	to_ccq(cq)->arm_seq = 0x3ffffffe;
	ktap_eq(arm(1), 0xfffffffe);
	ktap_eq(arm(1), CAIRN_ARM_SOLICITED);
	ktap_eq(arm(1), 1 << 2 | CAIRN_ARM_SOLICITED);
	close_cq();
}

/* A program may arm during an extended poll: arming must not take its lock. */
static void arm_inside_poll(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct cairn_cqe cqe = {};

	open_cq_ex(4, 0, false);
	fake_complete(ring, &cqe);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ktap_eq(arm(0), 1 << 2 | CAIRN_ARM_NEXT);
	ibv_end_poll(cqx);
	close_cq();
}

static void fill(uint64_t from, uint64_t to)
{
	while (from < to) {
		struct cairn_cqe cqe = { .wr_id = from++ };

		fake_complete(ring, &cqe);
	}
}

static void expect_ids(uint64_t from, uint64_t to)
{
	struct ibv_wc wc;

	while (from < to) {
		ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
		ktap_eq(wc.wr_id, from++);
	}
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 0);
}

static void resize(void)
{
	struct ibv_wc wc;

	open_cq(8, 0xfffffffd);
	fill(0, 7);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
	ktap_eq(fake.ops.resize_cq(cq, 64), 0);
	ktap_eq(cq->cqe, 64);
	fill(7, 40);
	expect_ids(1, 40);
	fill(40, 42);
	ktap_eq(fake.ops.resize_cq(cq, 4), 0);
	fill(42, 44);
	expect_ids(40, 44);
	/* a resize to the same size makes no call */
	ktap_eq(ring->dev->generation, 2);
	ktap_eq(fake.ops.resize_cq(cq, 3), 0);
	ktap_eq(ring->dev->generation, 2);
	fill(44, 46);
	expect_ids(44, 46);
	ktap_eq(fake.maps, 3);	/* the ring and two pages of queue info */
	close_cq();
}

static void resize_refused(void)
{
	open_cq(8, 0);
	fill(0, 3);
	fake.fail = "resize_cq";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.resize_cq(cq, 64), EINVAL);
	ktap_eq(fake.prepared, 0);
	fake.fail = "prepare";
	fake.fail_err = ENOMEM;
	ktap_eq(fake.ops.resize_cq(cq, 64), ENOMEM);
	ktap_eq(fake.ops.resize_cq(cq, 0), EINVAL);
	ktap_eq(cq->cqe, 8);
	expect_ids(0, 3);
	close_cq();
}

static void misalign(struct cairn_ring_desc *desc)
{
	desc->ring_offset |= 1;
}

/* The new ring cannot be mapped: the old one is kept. */
static void resize_not_mapped(void)
{
	open_cq(8, 0);
	fill(0, 3);
	fake.edit = misalign;
	ktap_eq(fake.ops.resize_cq(cq, 64), EINVAL);
	ktap_eq(fake.prepared, 0);
	ktap_eq(ring->dev->generation, 0);
	expect_ids(0, 3);
	close_cq();
}

/* Completions 0.. of the QPNs given, in this order. */
static void fill_of(const uint32_t *qpns, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_cqe cqe = { .wr_id = i, .qpn = qpns[i] };

		fake_complete(ring, &cqe);
	}
}

static void expect_only(const uint64_t *ids, size_t n)
{
	struct ibv_wc wc;

	for (size_t i = 0; i < n; i++) {
		ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
		ktap_eq(wc.wr_id, ids[i]);
	}
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 0);
	ktap_eq(ring->host->index, ring->dev->index);
}

static void forgotten_qps(void)
{
	static const uint32_t qpns[] = { 1, 2, 1, 3, 2, 1 };
	static const uint64_t both[] = { 3 }, again[] = { 0, 1, 2, 3, 4, 5 };

	open_cq(8, 0xfffffffd);
	fill_of(qpns, 6);
	cairn_cq_forget_qp(cq, 1);
	cairn_cq_forget_qp(cq, 2);
	cairn_cq_forget_qp(cq, 9);
	/* the list survives a new ring */
	ktap_eq(fake.ops.resize_cq(cq, 64), 0);
	expect_only(both, 1);
	/* a later QP with the same number is another one */
	fill_of(qpns, 6);
	expect_only(again, 6);
	ktap_ok(!to_ccq(cq)->discards);
	cairn_cq_forget_qp(cq, 1);
	ktap_ok(!to_ccq(cq)->discards);
	/* all skipped: the device gets the room back, the list is freed */
	fill_of(qpns, 1);
	cairn_cq_forget_qp(cq, 1);
	expect_only(NULL, 0);
	fill_of(qpns, 1);
	cairn_cq_forget_qp(cq, 1);
	close_cq();
}

static void forgotten_qps_extended(void)
{
	static const uint32_t qpns[] = { 1, 2, 1, 3, 1, 1 };
	struct ibv_poll_cq_attr attr = {};
	uint32_t start;

	open_cq_ex(8, 0, false);
	start = ring->dev->index;
	fill_of(qpns, 6);
	cairn_cq_forget_qp(cq, 1);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ktap_eq(cqx->wr_id, 1);
	ktap_eq(ibv_next_poll(cqx), 0);
	ktap_eq(cqx->wr_id, 3);
	ktap_eq(ibv_next_poll(cqx), ENOENT);
	ktap_eq(cqx->wr_id, 3);
	/* the first was free when it was forgotten */
	ktap_eq(ring->host->index, start + 1);
	ibv_end_poll(cqx);
	ktap_eq(ring->host->index, start + 6);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	/* two QPs, forgotten at different times, behind the current one */
	fill_of(qpns, 6);
	cairn_cq_forget_qp(cq, 1);
	cairn_cq_forget_qp(cq, 3);
	fill_of(qpns + 3, 1);
	cairn_cq_forget_qp(cq, 3);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ktap_eq(cqx->wr_id, 1);
	ktap_eq(ibv_next_poll(cqx), ENOENT);
	ktap_eq(ibv_next_poll(cqx), ENOENT);
	ktap_eq(cqx->wr_id, 1);
	ibv_end_poll(cqx);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	fill_of(qpns, 1);
	cairn_cq_forget_qp(cq, 1);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	ktap_eq(ring->host->index, ring->dev->index);
	close_cq();
}

static bool cq_is_full(void)
{
	return ring->dev->index - ring->host->index == ring->desc.depth;
}

/* Discarded completions take no room, even before a poll. */
static void forgotten_qps_make_room(void)
{
	static const uint32_t same[] = { 1, 1, 1, 1 }, mixed[] = { 1, 2, 1, 1 };
	static const uint64_t live[] = { 1 };
	uint32_t start;

	open_cq(4, 0xfffffffd);
	fill_of(same, 4);
	ktap_ok(cq_is_full());
	cairn_cq_forget_qp(cq, 1);
	ktap_eq(ring->host->index, ring->dev->index);
	/* behind one that is to be shown they have to stay */
	start = ring->dev->index;
	fill_of(mixed, 4);
	cairn_cq_forget_qp(cq, 1);
	ktap_eq(ring->host->index, start + 1);
	expect_only(live, 1);
	close_cq();
}

/* The device does not get entries of a poll in progress. */
static void forgotten_inside_poll(void)
{
	static const uint32_t qpns[] = { 2, 1, 1, 3 };
	struct ibv_poll_cq_attr attr = {};
	uint32_t start;

	open_cq_ex(4, 0, true);
	start = ring->dev->index;
	fill_of(qpns, 4);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	cairn_cq_forget_qp(cq, 1);
	cairn_cq_forget_qp(cq, 2);
	ktap_eq(ring->host->index, start);
	ktap_eq(cqx->wr_id, 0);
	ibv_end_poll(cqx);
	ktap_eq(ring->host->index, start + 1);
	cairn_cq_forget_qp(cq, 9);
	ktap_eq(ring->host->index, start + 3);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ktap_eq(cqx->wr_id, 3);
	ibv_end_poll(cqx);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	close_cq();
}

static size_t count_discards(void)
{
	const struct cairn_cq_discard *discard = to_ccq(cq)->discards;
	size_t n = 0;

	for (; discard; discard = discard->next)
		n++;
	return n;
}

/* One entry of the list for a queue pair, however often it is reset. */
static void forgotten_again(void)
{
	static const uint32_t qpns[] = { 2, 1, 3 };
	static const uint64_t live[] = { 0 };

	open_cq(8, 0);
	fill_of(qpns, 3);
	for (int i = 0; i < 10; i++) {
		cairn_cq_forget_qp(cq, 1);
		cairn_cq_forget_qp(cq, 3);
	}
	ktap_eq(count_discards(), 2);
	/* later completions are discarded, too */
	fill_of(qpns + 1, 1);
	cairn_cq_forget_qp(cq, 1);
	ktap_eq(count_discards(), 2);
	expect_only(live, 1);
	close_cq();
}

static void reset_and_destroy_forget(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct fake_ring *recv_ring;
	struct cairn_cqe cqe = {};
	struct ibv_cq *recv_cq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	open_cq(8, 0);
	recv_cq = fake_cq(ctx, 8);
	recv_ring = &fake.rings[fake.last_qid];
	pd = fake_pd(ctx);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	qp->recv_cq = recv_cq;
	cqe.qpn = qp->qp_num;
	for (int destroy = 0; destroy < 2; destroy++) {
		fake_complete(ring, &cqe);
		fake_complete(recv_ring, &cqe);
		ktap_eq(destroy ? fake.ops.destroy_qp(qp) :
			fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
		ktap_eq(ring->host->index, ring->dev->index);
		ktap_eq(recv_ring->host->index, recv_ring->dev->index);
		ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 0);
		ktap_eq(fake.ops.poll_cq(recv_cq, 1, &wc), 0);
	}
	ktap_eq(fake.ops.destroy_cq(recv_cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	close_cq();
}

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The clocks of this program. A reading now and then takes long. */
static struct {
	uint64_t now;
	int64_t step;
	unsigned int slow;	/* 0: the kernel's clocks */
} clocks;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t ns;

	if (!clocks.slow)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	clocks.now += ktap_below(clocks.slow) ? 20 : 3600000;
	ns = clocks.now;
	if (clock == CLOCK_REALTIME)
		ns += 1000000000 + (uint64_t)clocks.step;
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

static uint64_t wallclock_of(uint64_t timestamp)
{
	struct ibv_poll_cq_attr attr = {};
	struct cairn_cqe cqe = { .timestamp = timestamp };
	uint64_t ns;

	fake_complete(ring, &cqe);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ns = ibv_wc_read_completion_wallclock_ns(cqx);
	ibv_end_poll(cqx);
	return ns;
}

/* As exact as the clocks can be read, and always in order. */
static void wallclock_does_not_go_back(void)
{
	uint64_t last = 0;

	open_cq_ex(4, ALL_WC_FLAGS, false);
	clocks.now = 77;
	clocks.slow = 3;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t ns = wallclock_of(i);

		ktap_ok(ns > last);
		ktap_ok(ns + 100 > 1000000000 + i && ns < 1000000100 + i);
		last = ns;
	}
	clocks.slow = 0;
	close_cq();
}

static void wallclock_follows_a_step(void)
{
	open_cq_ex(4, ALL_WC_FLAGS, false);
	clocks.slow = 1000;
	wallclock_of(1);
	clocks.step = -500000000;
	for (uint64_t i = 0; i < 20; i++)
		wallclock_of(i);
	ktap_ok(wallclock_of(7) < 500000200);
	clocks.step = 0;
	clocks.slow = 0;
	close_cq();
}

static void check_fields(const struct cairn_cqe *cqe)
{
	ktap_eq(cqx->wr_id, cqe->wr_id);
	ktap_eq(cqx->status, cqe->status);
	ktap_eq(ibv_wc_read_opcode(cqx), IBV_WC_RECV);
	ktap_eq(ibv_wc_read_vendor_err(cqx), cqe->vendor_err);
	ktap_eq(ibv_wc_read_byte_len(cqx), cqe->byte_len);
	ktap_eq(ibv_wc_read_imm_data(cqx), cqe->imm_or_key);
	ktap_eq(ibv_wc_read_invalidated_rkey(cqx), cqe->imm_or_key);
	ktap_eq(ibv_wc_read_qp_num(cqx), cqe->qpn);
	ktap_eq(ibv_wc_read_src_qp(cqx), cqe->src_qp);
	ktap_eq(ibv_wc_read_wc_flags(cqx), IBV_WC_GRH);
	ktap_eq(ibv_wc_read_slid(cqx), 0);
	ktap_eq(ibv_wc_read_sl(cqx), sl_of(cqe));
	ktap_eq(ibv_wc_read_dlid_path_bits(cqx), 0);
	ktap_eq(ibv_wc_read_completion_ts(cqx), cqe->timestamp);
}

static void extended_fields(void)
{
	struct ibv_poll_cq_attr attr = {};

	open_cq_ex(4, ALL_WC_FLAGS, false);
	/* the kernel takes the time only when told to */
	ktap_eq(fake.cq_attr.wc_flags,
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	ktap_eq(fake.cq_attr.comp_mask, 0);
	for (int i = 0; i < 20; i++) {
		struct cairn_cqe cqe = any_cqe();
		uint64_t before, ts;

		cqe.opcode = CAIRN_CQE_RECV;
		cqe.flags = CAIRN_CQE_GRH | (i % 2 ? CAIRN_CQE_IPV4 : 0);
		cqe.status = (uint8_t)ktap_below(2);
		if (i == 0)
			cqe.timestamp = monotonic_ns();
		before = realtime_ns();
		fake_complete(ring, &cqe);
		ktap_eq(ibv_start_poll(cqx, &attr), 0);
		check_fields(&cqe);
		ts = ibv_wc_read_completion_wallclock_ns(cqx);
		if (i == 0)
			ktap_ok(ts + 1000000000 > before &&
				ts < before + 1000000000);
		ibv_end_poll(cqx);
		ktap_eq(ring->host->index, ring->dev->index);
	}
	close_cq();
}

static void extended_batches(void)
{
	struct ibv_poll_cq_attr attr = {};
	uint32_t start;

	open_cq_ex(8, 0, false);
	start = ring->dev->index;
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	fill(0, 5);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	for (uint64_t i = 0; i < 3; i++) {
		ktap_eq(cqx->wr_id, i);
		ktap_eq(ibv_next_poll(cqx), 0);
	}
	/* not free for the device before end_poll */
	ktap_eq(ring->host->index, start);
	ibv_end_poll(cqx);
	ktap_eq(ring->host->index, start + 4);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ktap_eq(cqx->wr_id, 4);
	ktap_eq(ibv_next_poll(cqx), ENOENT);
	ktap_eq(cqx->wr_id, 4);
	ktap_eq(ibv_next_poll(cqx), ENOENT);
	fill(5, 6);
	ktap_eq(ibv_next_poll(cqx), 0);
	ktap_eq(cqx->wr_id, 5);
	ibv_end_poll(cqx);
	ktap_eq(ring->host->index, start + 6);
	/* and the plain poll goes on from there */
	fill(6, 8);
	expect_ids(6, 8);
	close_cq();
}

static void extended_errors(void)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	open_cq_ex(8, 0, false);
	ktap_eq(ibv_start_poll(cqx, &attr), EINVAL);
	attr.comp_mask = 0;
	fill(0, 1);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ibv_end_poll(cqx);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);	/* lock released */
	close_cq();
}

static void extended_only_what_was_asked(void)
{
	open_cq_ex(8, 0, false);
	ktap_eq(fake.cq_attr.wc_flags, 0);
	ktap_ok(cqx->read_opcode && cqx->read_vendor_err &&
		cqx->read_wc_flags);
	ktap_ok(!cqx->read_byte_len && !cqx->read_imm_data &&
		!cqx->read_qp_num && !cqx->read_src_qp && !cqx->read_slid &&
		!cqx->read_sl && !cqx->read_dlid_path_bits &&
		!cqx->read_completion_ts && !cqx->read_cvlan &&
		!cqx->read_flow_tag && !cqx->read_tm_info &&
		!cqx->read_completion_wallclock_ns);
	close_cq();
}

static void extended_refused(void)
{
	struct ibv_cq_init_attr_ex attrs[] = {
		{ .cqe = 4, .wc_flags = IBV_WC_EX_WITH_CVLAN },
		{ .cqe = 4, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG },
		{ .cqe = 4, .wc_flags = IBV_WC_EX_WITH_TM_INFO },
		{ .cqe = 4, .wc_flags = 1ull << 40 },
		{ .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		  .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
		{ .cqe = 4, .comp_mask = 1u << 31 },
	};

	open_cq(4, 0);
	for (size_t i = 0; i < NR(attrs); i++) {
		errno = 0;
		ktap_ok(!fake.ops.create_cq_ex(ctx, &attrs[i]));
		ktap_eq(errno, EOPNOTSUPP);
	}
	fake.fail = "create_cq";
	fake.fail_err = ENOMEM;
	attrs[0].wc_flags = 0;
	ktap_ok(!fake.ops.create_cq_ex(ctx, &attrs[0]));
	ktap_eq(errno, ENOMEM);
	close_cq();
}

/* Polls while the lock is held. */
static void poll_without_lock(void)
{
	struct ibv_poll_cq_attr attr = {};

	pthread_spin_lock(&to_ccq(cq)->queue.lock);
	fill(0, 2);
	ktap_eq(ibv_start_poll(cqx, &attr), 0);
	ibv_end_poll(cqx);
	expect_ids(1, 2);
	pthread_spin_unlock(&to_ccq(cq)->queue.lock);
}

/* With one thread the lock is not used. */
static void single_threaded(void)
{
	open_cq_ex(8, 0, true);
	poll_without_lock();
	close_cq();
}

/* Nor with a parent domain that has a thread domain. Another domain is none. */
static void in_a_parent_domain(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_parent_domain_init_attr init = {};
	struct ibv_td_init_attr td = {};
	int i;

	for (i = 0; i < 2; i++) {
		fake_reset();
		ctx = fake_open();
		init.pd = fake.ops.alloc_pd(ctx);
		init.td = i ? fake.ops.alloc_td(ctx, &td) : NULL;
		attr.parent_domain = fake.ops.alloc_parent_domain(ctx, &init);
		fake.start_index = 0xfffffffe;
		cqx = fake.ops.create_cq_ex(ctx, &attr);
		cq = ibv_cq_ex_to_cq(cqx);
		ring = &fake.rings[fake.last_qid];
		ktap_eq(to_ccq(cq)->single_threaded, i);
		if (i)
			poll_without_lock();
		ktap_eq(fake.ops.destroy_cq(cq), 0);
		ktap_eq(fake.ops.dealloc_pd(attr.parent_domain), 0);
		ktap_eq(i ? fake.ops.dealloc_td(init.td) : 0, 0);
		attr.parent_domain = i ? init.pd : NULL;
		errno = 0;
		ktap_ok(!fake.ops.create_cq_ex(ctx, &attr));
		ktap_eq(errno, EINVAL);
		ktap_eq(fake.ops.dealloc_pd(init.pd), 0);
		fake_close(ctx);
	}
}

static const struct ktap_test tests[] = {
	KTAP(convert_opcodes),
	KTAP(convert_statuses),
	KTAP(convert_flags),
	KTAP(convert_flush_with_immediate),
	KTAP(empty),
	KTAP(batches),
	KTAP(completions_that_wait),
	KTAP(completions_that_wait_extended),
	KTAP(yields),
	KTAP(yields_extended),
	KTAP(arming_a_queue_with_completions),
	KTAP(wallclock_does_not_go_back),
	KTAP(wallclock_follows_a_step),
	KTAP(arming),
	KTAP(arm_behind_event),
	KTAP(arm_in_turns),
	KTAP(arm_sequence_wraps),
	KTAP(arm_inside_poll),
	KTAP(resize),
	KTAP(resize_refused),
	KTAP(resize_not_mapped),
	KTAP(forgotten_qps),
	KTAP(forgotten_qps_extended),
	KTAP(forgotten_qps_make_room),
	KTAP(forgotten_inside_poll),
	KTAP(forgotten_again),
	KTAP(reset_and_destroy_forget),
	KTAP(extended_fields),
	KTAP(extended_batches),
	KTAP(extended_errors),
	KTAP(extended_only_what_was_asked),
	KTAP(extended_refused),
	KTAP(single_threaded),
	KTAP(in_a_parent_domain),
};

KTAP_MAIN(tests)
