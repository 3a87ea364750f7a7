// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send and receive rings of another size. Posted requests survive, all attributes or
 * none change, and no thread posts while the device changes over.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "srq.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static struct fake_ring *sq, *rq;

static void open_qp(uint32_t start)
{
	fake_reset();
	fake.start_index = start;
	ctx = fake_open();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 64);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	sq = fake_sq(qp);
	rq = fake_rq(qp);
}

static void close_qp(void)
{
	ktap_eq(fake.prepared, 0);
	ktap_eq(fake.maps, 7);	/* three rings, queue info, ready map, flags */
	fake.ops.destroy_qp(qp);
	fake.ops.destroy_cq(cq);
	fake.ops.dealloc_pd(pd);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
}

static int send(uint64_t id)
{
	struct ibv_sge sge = { .addr = ~id, .length = 1 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .opcode = IBV_WR_SEND, .sg_list = &sge,
		.num_sge = 1,
	};

	return fake.ops.post_send(qp, &wr, &bad);
}

static int recv(uint64_t id)
{
	struct ibv_sge sge = { .addr = ~id, .length = 1 };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
	};

	return srq ? fake.ops.post_srq_recv(srq, &wr, &bad) :
		     fake.ops.post_recv(qp, &wr, &bad);
}

/* The device takes ids from..to - 1 in order, and no more. */
static void take_sends(uint64_t from, uint64_t to)
{
	while (from < to) {
		const struct cairn_send_wqe *wqe = fake_unit(sq, sq->dev->index);

		ktap_ok(sq->dev->index != sq->host->index);
		ktap_eq(wqe->wr_id, from);
		ktap_eq(wqe->sge[0].addr, ~from);
		from++;
		sq->dev->index += wqe->units;
	}
}

static void take_recvs(uint64_t from, uint64_t to)
{
	while (from < to) {
		const struct cairn_recv_wqe *wqe = fake_unit(rq, rq->dev->index);

		ktap_ok(rq->dev->index != rq->host->index);
		ktap_eq(wqe->wr_id, from);
		ktap_eq(wqe->sge[0].addr, ~from);
		from++;
		rq->dev->index += rq->desc.stride;
	}
}

static int resize(uint32_t send_wr, uint32_t recv_wr, struct ibv_qp_cap *cap)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr },
	};
	int err = fake.ops.modify_qp(qp, &attr, IBV_QP_CAP);

	if (cap)
		*cap = attr.cap;
	return err;
}

static uint64_t fill_sends(uint64_t id)
{
	while (!send(id))
		id++;
	return id;
}

static uint64_t fill_recvs(uint64_t id)
{
	while (!recv(id))
		id++;
	return id;
}

/* Full rings across the wrap of the index, larger and back. */
static void grow_and_shrink(void)
{
	struct ibv_qp_cap cap;
	uint64_t s, r;

	open_qp(0xffffffd0);
	s = fill_sends(0);
	r = fill_recvs(0);
	ktap_eq(s, 16);
	ktap_eq(r, 16);
	ktap_eq(resize(60, 33, &cap), 0);
	ktap_eq(cap.max_send_wr, 64);
	ktap_eq(cap.max_recv_wr, 64);
	ktap_eq(cap.max_send_sge, CAIRN_MAX_SGE);
	ktap_eq(cap.max_recv_sge, 3);
	ktap_eq(cap.max_inline_data, CAIRN_MAX_INLINE);
	ktap_eq(sq->desc.depth, 256);
	ktap_eq(rq->desc.depth, 64);
	/* As many as cap allows, although the ring has room for four times as many. */
	ktap_eq(fill_sends(s), 64);
	ktap_eq(fill_recvs(r), 64);
	take_sends(0, 48);
	take_recvs(0, 60);
	ktap_eq(resize(16, 4, NULL), 0);
	take_sends(48, 64);
	take_recvs(60, 64);
	ktap_eq(fill_sends(0), 16);
	ktap_eq(fill_recvs(0), 4);
	take_sends(0, 16);
	take_recvs(0, 4);
	close_qp();
}

/* 0 and the present size change nothing and make no system call. */
static void only_what_differs(void)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = 9 }, .min_rnr_timer = 1,
	};

	open_qp(0);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP | IBV_QP_MIN_RNR_TIMER),
		0);
	ktap_eq(fake.modify_mask, IBV_QP_MIN_RNR_TIMER);
	ktap_eq(sq->dev->generation, 0);
	attr.cap.max_send_wr = 17;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP | IBV_QP_MIN_RNR_TIMER),
		0);
	ktap_eq(fake.modify_mask, IBV_QP_CAP | IBV_QP_MIN_RNR_TIMER);
	ktap_eq(sq->dev->generation, 1);
	ktap_eq(rq->dev->generation, 0);
	ktap_eq(rq->desc.depth, 16);
	close_qp();
}

static void nothing_changed(uint64_t s)
{
	ktap_eq(fake.prepared, 0);
	ktap_eq(sq->dev->generation, 0);
	ktap_eq(rq->dev->generation, 0);
	ktap_eq(fill_sends(s), 16);
	take_sends(s, 16);
	ktap_eq(fill_sends(0), 16);
	take_sends(0, 16);
}

static void misalign(struct cairn_ring_desc *desc)
{
	desc->ring_offset |= 1;
}

static void other_queue(struct cairn_ring_desc *desc)
{
	desc->qid++;
}

static void misalign_recv(struct cairn_ring_desc *desc)
{
	if (desc->stride)
		misalign(desc);
}

static void refused(void)
{
	static void (*const edits[])(struct cairn_ring_desc *desc) = {
		misalign, misalign_recv, other_queue,
	};
	static const char *const commands[] = { "prepare", "modify_qp" };
	struct ibv_qp_attr attr = { .cap = { .max_send_sge = 33 } };

	for (unsigned int i = 0; i < 3; i++) {
		open_qp(7);
		ktap_eq(send(0), 0);
		fake.edit = edits[i];
		ktap_ok(resize(64, 64, NULL) != 0);
		take_sends(0, 1);
		nothing_changed(0);
		close_qp();
	}
	for (unsigned int i = 0; i < 2; i++) {
		open_qp(7);
		fake.fail = commands[i];
		fake.fail_err = ENOMEM;
		ktap_eq(resize(64, 64, NULL), ENOMEM);
		nothing_changed(0);
		close_qp();
	}
	open_qp(7);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP), EINVAL);
	attr.cap = (struct ibv_qp_cap){ .max_recv_sge = 4 };
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP), EINVAL);
	attr.cap = (struct ibv_qp_cap){ .max_inline_data = 513 };
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP), EINVAL);
	nothing_changed(0);
	close_qp();
}

/* More requests are posted than would fit. */
static void too_small(void)
{
	open_qp(0);
	for (uint64_t i = 0; i < 12; i++)
		ktap_eq(send(i), 0);
	ktap_eq(resize(2, 0, NULL), EINVAL);
	take_sends(0, 12);
	nothing_changed(0);
	close_qp();
}

static void shared(void)
{
	struct ibv_srq_init_attr init = { .attr = { 8, 3, 0 } };
	struct ibv_srq_attr attr = { .max_wr = 64, .srq_limit = 5 };

	open_qp(0xfffffff0);
	srq = fake.ops.create_srq(pd, &init);
	rq = &fake.rings[fake.last_qid];
	ktap_eq(fill_recvs(0), 8);
	ktap_eq(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		0);
	ktap_eq(fake.modify_mask, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
	ktap_eq(fill_recvs(8), 64);
	take_recvs(0, 40);
	attr.max_wr = 16;
	ktap_eq(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	ktap_eq(fake.prepared, 0);
	take_recvs(40, 50);
	ktap_eq(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	ktap_eq(fill_recvs(64), 66);
	take_recvs(50, 66);
	attr.max_wr = 0;
	ktap_eq(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = 13;
	ktap_eq(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		0);
	ktap_eq(fake.modify_mask, IBV_SRQ_LIMIT);
	fake.ops.destroy_srq(srq);
	srq = NULL;
	close_qp();
}

/* A poster beside a resizing thread: the device sees every request once. */
#define POSTS	20000

static atomic_bool posted_all;

static void *poster(void *arg)
{
	(void)arg;
	for (uint64_t id = 0; id < POSTS;)
		if (!send(id))
			id++;
		else
			sched_yield();
	posted_all = true;
	return NULL;
}

static void while_posting(void)
{
	pthread_t thread;
	uint64_t id = 0;
	int failed = 0;

	open_qp(0xffff0000);
	pthread_create(&thread, NULL, poster, NULL);
	while (!posted_all) {
		uint32_t n = __atomic_load_n(&sq->host->index,
					     __ATOMIC_ACQUIRE) - sq->dev->index;

		n = n ? ktap_below(n) : 0;
		take_sends(id, id + n);
		id += n;
		failed += resize(1u << ktap_below(6), 0, NULL) != 0;
		/* the fake never frees memory for rings */
		fake.next_offset = 0x800000 + (sq->desc.ring_offset ==
					       0x800000 ? 0x100000 : 0);
	}
	pthread_join(thread, NULL);
	take_sends(id, POSTS);
	ktap_eq(sq->dev->index, sq->host->index);
	ktap_ok(sq->dev->generation > 10);
	printf("# %u rings, %d refused\n", sq->dev->generation, failed);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(grow_and_shrink),
	KTAP(only_what_differs),
	KTAP(refused),
	KTAP(too_small),
	KTAP(shared),
	KTAP(while_posting),
};

KTAP_MAIN(tests)
