// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Thread domains and parent domains: their meaning and their end. */
#include <errno.h>
#include <stdlib.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "pd.h"
#include "qp.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_td *td;

static void open_all(void)
{
	struct ibv_td_init_attr attr = {};

	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	td = fake.ops.alloc_td(ctx, &attr);
	ktap_ok(td);
}

static void close_all(void)
{
	ktap_eq(fake.ops.dealloc_td(td), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.objects, 0);
}

static struct ibv_pd *parent(struct ibv_pd *of, struct ibv_td *thread,
			     uint32_t comp_mask)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = of, .td = thread, .comp_mask = comp_mask,
	};

	return fake.ops.alloc_parent_domain(ctx, &attr);
}

/* No object ends before the objects made of it. */
static void order_of_ends(void)
{
	struct ibv_pd *first, *second;

	open_all();
	first = parent(pd, td, 0);
	second = parent(pd, NULL, IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT);
	ktap_ok(first && second);
	ktap_eq(first->handle, pd->handle);
	ktap_ok(cairn_pd_base(first) == pd && cairn_pd_base(second) == pd);
	ktap_ok(cairn_pd_single(first) && !cairn_pd_single(second));
	ktap_eq(fake.ops.dealloc_td(td), EBUSY);
	ktap_eq(fake.ops.dealloc_pd(pd), EBUSY);
	ktap_eq(fake.ops.dealloc_pd(first), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), EBUSY);
	ktap_eq(fake.ops.dealloc_pd(second), 0);
	close_all();
}

/* ... nor does a parent domain. Objects that were not made do not count. */
static void end_of_parent(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_qp_init_attr qp_attr = { .qp_type = IBV_QPT_RC };
	struct ibv_pd *both;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	open_all();
	both = parent(pd, td, 0);
	attr.parent_domain = both;
	fake.fail = "create_cq";
	fake.fail_err = ENOMEM;
	ktap_ok(!fake.ops.create_cq_ex(ctx, &attr));
	cq = ibv_cq_ex_to_cq(fake.ops.create_cq_ex(ctx, &attr));
	qp_attr.send_cq = cq;
	qp_attr.recv_cq = cq;
	fake.fail = "create_qp";
	ktap_ok(!fake.ops.create_qp(both, &qp_attr));
	qp = fake_qp(both, cq, IBV_QPT_RC, 0);
	ktap_eq(fake.ops.dealloc_pd(both), EBUSY);
	ktap_eq(fake.ops.dealloc_td(td), EBUSY);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.dealloc_pd(both), EBUSY);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(both), 0);
	close_all();
}

static void refused(void)
{
	struct ibv_td_init_attr attr = { .comp_mask = 1 };
	struct ibv_pd *good;

	open_all();
	ktap_ok(!fake.ops.alloc_td(ctx, &attr));
	ktap_eq(errno, EOPNOTSUPP);
	ktap_ok(!parent(NULL, td, 0));
	ktap_eq(errno, EINVAL);
	ktap_ok(!parent(pd, td, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS));
	ktap_eq(errno, EOPNOTSUPP);
	ktap_ok(!parent(pd, td, 1u << 31));
	ktap_eq(errno, EOPNOTSUPP);
	good = parent(pd, td, 0);
	ktap_ok(!parent(good, NULL, 0));
	ktap_eq(errno, EINVAL);
	ktap_eq(fake.ops.dealloc_pd(good), 0);
	close_all();
}

/* Posting takes a queue's lock, unless the program promised one thread. */
static void locks(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_pd *both;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];

	open_all();
	both = parent(pd, td, 0);
	cq = fake_cq(ctx, 4);
	qp[0] = fake_qp(pd, cq, IBV_QPT_RC, 0);
	qp[1] = fake_qp(both, cq, IBV_QPT_RC, 0);
	ktap_ok(to_cqp(qp[0])->pd == pd && to_cqp(qp[1])->pd == pd);
	ktap_ok(!to_cqp(qp[0])->sq.single && !to_cqp(qp[0])->rq.queue.single);
	ktap_ok(to_cqp(qp[1])->sq.single && to_cqp(qp[1])->rq.queue.single);
	/* the lock is held: a post that takes it would not return */
	pthread_spin_lock(&to_cqp(qp[1])->sq.lock);
	ktap_eq(fake.ops.post_send(qp[1], &wr, &bad), 0);
	ktap_eq(fake_sq(qp[1])->host->index, 1);
	pthread_spin_unlock(&to_cqp(qp[1])->sq.lock);
	for (int i = 0; i < 2; i++)
		ktap_eq(fake.ops.destroy_qp(qp[i]), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(both), 0);
	close_all();
}

static const struct ktap_test tests[] = {
	KTAP(order_of_ends),
	KTAP(end_of_parent),
	KTAP(refused),
	KTAP(locks),
};

KTAP_MAIN(tests)
