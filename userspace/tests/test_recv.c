// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive queues, of a QP and shared. */
#include <errno.h>

#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "srq.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static struct fake_ring *rq;
static struct ibv_recv_wr *bad;

static void open_ctx(uint32_t start)
{
	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 16);
	fake.start_index = start;
	qp = NULL;
	srq = NULL;
	bad = NULL;
}

static void open_qp(uint32_t wrs, uint32_t sges, uint32_t start)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = wrs,
			 .max_send_sge = 1, .max_recv_sge = sges },
	};

	open_ctx(start);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = fake.ops.create_qp(pd, &attr);
	qp->state = IBV_QPS_INIT;
	rq = fake_rq(qp);
}

static void open_srq(uint32_t wrs, uint32_t sges, uint32_t start)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = wrs, .max_sge = sges },
	};

	open_ctx(start);
	srq = fake.ops.create_srq(pd, &attr);
	rq = &fake.rings[to_csrq(srq)->rq.queue.ring.qid];
}

static void close_all(void)
{
	if (qp)
		ktap_eq(fake.ops.destroy_qp(qp), 0);
	if (srq)
		ktap_eq(fake.ops.destroy_srq(srq), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
}

static int post(struct ibv_recv_wr *wr)
{
	return srq ? fake.ops.post_srq_recv(srq, wr, &bad) :
		     fake.ops.post_recv(qp, wr, &bad);
}

static struct ibv_recv_wr any_wr(struct ibv_sge *sge, int num_sge)
{
	struct ibv_recv_wr wr = {
		.wr_id = ktap_rand(),
		.sg_list = sge,
		.num_sge = num_sge,
	};

	for (int i = 0; i < num_sge; i++)
		sge[i] = (struct ibv_sge){ ktap_rand(), (uint32_t)ktap_rand(),
					   (uint32_t)ktap_rand() };
	return wr;
}

static void check_wqe(uint32_t index, const struct ibv_recv_wr *wr)
{
	uint8_t got[CAIRN_MAX_WQE_UNITS * 64] = {};
	uint8_t want[CAIRN_MAX_WQE_UNITS * 64] = {};
	size_t used = 16 + (size_t)wr->num_sge * 16;

	memcpy(want, &wr->wr_id, 8);
	want[8] = (uint8_t)wr->num_sge;
	if (wr->num_sge)
		memcpy(want + 16, wr->sg_list, used - 16);
	for (uint32_t u = 0; u < rq->desc.stride; u++)
		memcpy(got + u * 64, fake_unit(rq, index + u), 64);
	ktap_eq(memcmp(got, want, used), 0);
}

/* Every stride, from every slot, across the end of the ring and of 2^32. */
static void layout_run(void (*open)(uint32_t, uint32_t, uint32_t))
{
	struct ibv_sge sge[CAIRN_MAX_SGE];

	for (uint32_t sges = 1; sges <= CAIRN_MAX_SGE; sges++) {
		uint32_t index = 0xffffffa0;
		uint32_t stride = (sges + 4) / 4;

		open(4, sges, index);
		ktap_eq(rq->desc.stride, stride);
		memset(rq->units, 0xff, rq->desc.ring_bytes);
		for (int i = 0; i < 200; i++) {
			struct ibv_recv_wr wr =
				any_wr(sge, (int)ktap_below(sges + 1));

			ktap_eq(post(&wr), 0);
			check_wqe(index, &wr);
			index += stride;
			ktap_eq(rq->host->index, index);
			rq->dev->index = index;
		}
		close_all();
	}
}

static void layout_qp(void)
{
	layout_run(open_qp);
}

static void layout_srq(void)
{
	layout_run(open_srq);
}

static void full_run(void (*open)(uint32_t, uint32_t, uint32_t))
{
	struct ibv_recv_wr wr = {};

	open(5, 3, 7);		/* 8 units */
	for (int i = 0; i < 8; i++)
		ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), ENOMEM);
	ktap_ok(bad == &wr);
	rq->dev->index++;
	ktap_eq(post(&wr), 0);
	ktap_eq(rq->host->index, 16);
	close_all();
	open(5, 7, 7);		/* stride 2: 16 units */
	for (int i = 0; i < 8; i++)
		ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), ENOMEM);
	rq->dev->index++;	/* half of one is not enough */
	ktap_eq(post(&wr), ENOMEM);
	rq->dev->index++;
	ktap_eq(post(&wr), 0);
	close_all();
}

static void full_qp(void)
{
	full_run(open_qp);
}

static void full_srq(void)
{
	full_run(open_srq);
}

static void bad_in_the_middle(void)
{
	struct ibv_sge sge[4] = {};
	struct ibv_recv_wr wr[3] = {
		{ .next = &wr[1], .sg_list = sge, .num_sge = 3 },
		{ .next = &wr[2], .sg_list = sge, .num_sge = 4 },
		{ .sg_list = sge, .num_sge = 3 },
	};

	open_qp(8, 3, 0);
	ktap_eq(post(wr), EINVAL);
	ktap_ok(bad == &wr[1]);
	ktap_eq(rq->host->index, 1);
	wr[1].num_sge = -1;
	ktap_eq(post(wr), EINVAL);
	ktap_eq(rq->host->index, 2);
	wr[1].num_sge = 0;
	ktap_eq(post(wr), 0);
	ktap_eq(rq->host->index, 5);
	close_all();
}

static void states(void)
{
	struct ibv_recv_wr wr = {};

	open_qp(8, 3, 0);
	for (int s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		qp->state = (enum ibv_qp_state)s;
		ktap_eq(post(&wr), s == IBV_QPS_RESET ? EINVAL : 0);
	}
	close_all();
}

/* Only a QP that flushes asks for doorbells. */
static void doorbells(void)
{
	struct ibv_recv_wr wr = {};

	open_qp(8, 3, 40);
	ktap_eq(post(&wr), 0);
	ktap_eq(fake.doorbells, 0);
	rq->dev->wakeup = 1;
	ktap_eq(post(&wr), 0);
	ktap_eq(fake.doorbells, 1);
	ktap_eq(fake.doorbell.qid, rq->desc.qid);
	ktap_eq(fake.doorbell.index, 42);
	close_all();

	open_srq(8, 3, 0);
	ktap_eq(post(&wr), 0);
	ktap_eq(fake.doorbells, 0);
	close_all();
}

static void qp_with_srq(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct ibv_recv_wr wr = {};

	open_srq(8, 3, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.srq = srq;
	qp = fake.ops.create_qp(pd, &attr);
	qp->state = IBV_QPS_RTS;
	ktap_eq(fake.ops.post_recv(qp, &wr, &bad), EINVAL);
	ktap_ok(bad == &wr);
	close_all();
}

static void reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_recv_wr wr = {};

	open_qp(8, 3, 0);
	for (int i = 0; i < 8; i++)
		ktap_eq(post(&wr), 0);
	rq->dev->index = 2;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
	ktap_eq(rq->host->index, 2);
	for (int i = 0; i < 8; i++)
		ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), ENOMEM);
	close_all();
}

static void srq_commands(void)
{
	struct ibv_srq_attr attr = { .max_wr = 8 };
	struct ibv_srq_init_attr init = { .attr = { 8, 3, 0 } };

	open_srq(8, 3, 0);
	ktap_eq(fake.ops.modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	ktap_eq(fake.ops.query_srq(srq, &attr), 0);
	fake.fail = "destroy_srq";
	fake.fail_err = EBUSY;
	ktap_eq(fake.ops.destroy_srq(srq), EBUSY);
	fake.fail = "create_srq";
	fake.fail_err = ENOSPC;
	errno = 0;
	ktap_ok(!fake.ops.create_srq(pd, &init));
	ktap_eq(errno, ENOSPC);
	close_all();
}

static const struct ktap_test tests[] = {
	KTAP(layout_qp),
	KTAP(layout_srq),
	KTAP(full_qp),
	KTAP(full_srq),
	KTAP(bad_in_the_middle),
	KTAP(states),
	KTAP(doorbells),
	KTAP(qp_with_srq),
	KTAP(reset),
	KTAP(srq_commands),
};

KTAP_MAIN(tests)
