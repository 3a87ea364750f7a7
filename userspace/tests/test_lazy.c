// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posts to a lazy lane: when they ring for all of them, and when for themselves. */
#include <errno.h>

#include "cq.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "send.h"

#define ALONE		4	/* doorbells for one post each, */
#define RING_NEXT	1024	/* and then posts that ring */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_cq_ex *cqx;	/* NULL: a plain queue */
static struct ibv_qp *qp;
static struct fake_ring *ring;

static void open_lazy(uint32_t depth, bool extended)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 };

	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	cqx = extended ? fake.ops.create_cq_ex(ctx, &attr) : NULL;
	cq = extended ? ibv_cq_ex_to_cq(cqx) : fake_cq(ctx, 4);
	ring = &fake.rings[fake.last_qid];
	fake.sq_depth = depth;
	fake.max_send_wr = depth;
	qp = fake_qp(pd, cq, IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	*fake_sq(qp)->asleep = CAIRN_LANE_LAZY;
}

static void close_lazy(void)
{
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
	ktap_eq(fake.contexts, 0);
}

static int post(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	int err = fake.ops.post_send(qp, &wr, &bad);

	ktap_ok(!err == !bad);
	return err;
}

static int post_extended(void)
{
	struct ibv_qp_ex *ex = &to_cqp(qp)->vqp.qp_ex;

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	return ibv_wr_complete(ex);
}

/* Poll once. Return: whether there is a completion. */
static bool finds_one(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;

	if (!cqx)
		return fake.ops.poll_cq(cq, 1, &wc);
	if (ibv_start_poll(cqx, &attr))
		return false;
	ibv_end_poll(cqx);
	return true;
}

/* So many doorbells until now, the last of them for all posts. */
static void expect_rings(int n)
{
	ktap_eq(fake.doorbells, n);
	ktap_ok(!n || fake.doorbell.qid == CAIRN_DOORBELL_ALL);
}

/* A poll that finds nothing rings, once. So do many posts. */
static void rings(void)
{
	struct cairn_cqe cqe = { .wr_id = 5 };
	int i;

	ktap_ok(!finds_one());
	expect_rings(0);
	for (i = 0; i < 63; i++)
		ktap_eq(post(), 0);
	fake_complete(ring, &cqe);
	ktap_ok(finds_one());
	expect_rings(0);
	ktap_ok(!finds_one());
	expect_rings(1);
	ktap_ok(!finds_one());
	expect_rings(1);
	for (i = 0; i < 64; i++) {
		expect_rings(1);
		ktap_eq(post(), 0);
	}
	expect_rings(2);
	ktap_ok(!finds_one());
	expect_rings(2);
	/* the lane took the post meanwhile, which the host does not know */
	ktap_eq(post(), 0);
	*fake_sq(qp)->asleep = CAIRN_LANE_ASLEEP;
	ktap_ok(!finds_one());
	expect_rings(3);
	*fake_sq(qp)->asleep = CAIRN_LANE_AWAKE;
	ktap_eq(post(), 0);
	ktap_ok(!finds_one());
	expect_rings(3);
	/* the device was removed: the post that rings fails */
	*fake_sq(qp)->asleep = CAIRN_LANE_LAZY;
	for (i = 0; i < 63; i++)
		ktap_eq(post(), 0);
	fake.ioctl_errors[0] = EIO;
	ktap_eq(post(), EIO);
}

static void complete_one(const struct cairn_doorbell *db)
{
	struct cairn_cqe cqe = { .wr_id = 6 };

	(void)db;
	fake_complete(ring, &cqe);
}

/* The device takes the posts of the queue. */
static void take_posts(void)
{
	fake_sq(qp)->dev->index = fake_sq(qp)->host->index;
}

/* The device executes posts in the doorbell: the poll that rings finds a completion. A
 * program that waits for each post rings with it, but for some posts.
 */
static void one_after_the_other(void)
{
	int i, before, for_all = 0;

	fake.on_doorbell = complete_one;
	for (i = 0; i < 2 * (ALONE + RING_NEXT); i++) {
		before = fake.doorbells;
		ktap_eq(post(), 0);
		for_all += fake.doorbells == before;
		ktap_ok(fake.doorbells == before || fake.doorbell.qid == fake_sq(qp)->desc.qid);
		ktap_ok(finds_one());
		ktap_eq(fake.doorbells, before + 1);
		take_posts();
	}
	ktap_eq(for_all, 2 * ALONE);
	/* Two at a time wait, and so does one between them. */
	for (i = 0; i < 100; i++) {
		before = fake.doorbells;
		ktap_eq(post(), 0);
		ktap_eq(i % 2 ? 0 : post(), 0);
		ktap_eq(fake.doorbells, before);
		ktap_ok(finds_one());
		ktap_eq(fake.doorbells, before + 1);
		take_posts();
	}
}

/* A post that finds no room rings for those that use it: the program may poll for none. */
static void rings_when_full(int (*post_one)(void))
{
	int i;

	for (i = 0; i < 16; i++)
		ktap_eq(post_one(), 0);
	expect_rings(0);
	ktap_eq(post_one(), ENOMEM);
	expect_rings(1);
	ktap_eq(post_one(), ENOMEM);
	expect_rings(1);
}

static void polls(void)
{
	open_lazy(256, false);
	rings();
	close_lazy();
}

static void polls_extended(void)
{
	open_lazy(256, true);
	rings();
	close_lazy();
}

static void alone(void)
{
	open_lazy(256, false);
	one_after_the_other();
	close_lazy();
}

static void alone_extended(void)
{
	open_lazy(256, true);
	one_after_the_other();
	close_lazy();
}

static void full_queue(void)
{
	open_lazy(16, false);
	rings_when_full(post);
	close_lazy();
}

static void full_queue_extended(void)
{
	open_lazy(16, false);
	rings_when_full(post_extended);
	close_lazy();
}

/* A group looks for room in each of its queues before it posts to any. */
static void full_queue_of_a_group(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	int i;

	open_lazy(16, false);
	for (i = 0; i < 15; i++)
		ktap_eq(post(), 0);
	ktap_eq(cairn_send_check(qp, &wr), 0);
	ktap_eq(post(), 0);
	expect_rings(0);
	ktap_eq(cairn_send_check(qp, &wr), ENOMEM);
	expect_rings(1);
	close_lazy();
}

/* The program asks for an event, and will sleep. */
static void armed(void)
{
	open_lazy(16, false);
	ktap_eq(post(), 0);
	ktap_eq(fake.ops.req_notify_cq(cq, 0), 0);
	expect_rings(1);
	ktap_eq(fake.ops.req_notify_cq(cq, 0), 0);
	expect_rings(1);
	close_lazy();
}

/* Posts are served before an object ends that they may name. */
static void before_the_end(void)
{
	struct ibv_ah_attr ah_attr = {};
	static char text[8];
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	open_lazy(16, false);
	ah = fake.ops.create_ah(pd, &ah_attr);
	mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_1);
	mr = fake.ops.reg_mr(pd, text, sizeof(text), (uintptr_t)text, 0);
	ktap_eq(post(), 0);
	expect_rings(0);
	ktap_eq(fake.ops.destroy_ah(ah), 0);
	expect_rings(1);
	ktap_eq(post(), 0);
	ktap_eq(fake.ops.dealloc_mw(mw), 0);
	expect_rings(2);
	ktap_eq(post(), 0);
	ktap_eq(fake.ops.rereg_mr((struct verbs_mr *)mr, IBV_REREG_MR_CHANGE_ACCESS, pd,
				  NULL, 0, 0), 0);
	expect_rings(3);
	ktap_eq(post(), 0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	expect_rings(4);
	close_lazy();
}

static const struct ktap_test tests[] = {
	KTAP(polls),
	KTAP(polls_extended),
	KTAP(alone),
	KTAP(alone_extended),
	KTAP(full_queue),
	KTAP(full_queue_extended),
	KTAP(full_queue_of_a_group),
	KTAP(armed),
	KTAP(before_the_end),
};

KTAP_MAIN(tests)
