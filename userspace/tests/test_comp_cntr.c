// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters: what each call asks of the kernel. The installed library may have
 * no calls for them, so the tests make the provider's own.
 */
#include <errno.h>

#include "comp_cntr.h"
#include "fake.h"
#include "ktap.h"

#define FAKE_OPS	0x3f

static struct ibv_context *ctx;
static struct verbs_comp_cntr *cntr;

static struct verbs_comp_cntr *create(void)
{
	struct verbs_comp_cntr_init_attr attr = {};

	return cairn_create_comp_cntr(ctx, &attr);
}

static void open_all(void)
{
	fake_reset();
	ctx = fake_open();
	cntr = create();
	ktap_ok(cntr);
	ktap_eq(fake.objects, 1);
}

static void close_all(void)
{
	ktap_eq(cairn_destroy_comp_cntr(cntr), 0);
	ktap_eq(fake.objects, 0);
	fake_close(ctx);
}

static void lifetime(void)
{
	open_all();
	ktap_ok(cntr->context == ctx);
	ktap_eq(cntr->handle, FAKE_CNTR);
	/* it is attached: nothing is freed */
	fake.ioctl_errors[0] = EBUSY;
	ktap_eq(cairn_destroy_comp_cntr(cntr), EBUSY);
	ktap_eq(cntr->handle, FAKE_CNTR);
	close_all();
}

static void values(void)
{
	uint64_t value = 0;

	open_all();
	fake.cntr[0] = 1ull << 40;
	fake.cntr[1] = 7;
	ktap_eq(cairn_read_comp_cntr(cntr, &value), 0);
	ktap_ok(value == 1ull << 40);
	ktap_eq(cairn_read_err_comp_cntr(cntr, &value), 0);
	ktap_eq(value, 7);
	ktap_eq(cairn_set_comp_cntr(cntr, 1ull << 33), 0);
	ktap_eq(cairn_inc_comp_cntr(cntr, 2), 0);
	ktap_ok(fake.cntr[0] == (1ull << 33) + 2);
	ktap_eq(fake.cntr[1], 7);
	ktap_eq(cairn_inc_err_comp_cntr(cntr, 3), 0);
	ktap_eq(fake.cntr[1], 10);
	ktap_eq(cairn_set_err_comp_cntr(cntr, 0), 0);
	ktap_eq(fake.cntr[1], 0);
	ktap_ok(fake.cntr[0] == (1ull << 33) + 2);
	close_all();
}

/* A program may wait by reading: it rings for posts whose lane is lazy. */
static void read_rings(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint64_t value;

	open_all();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 4);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	*fake_sq(qp)->asleep = CAIRN_LANE_LAZY;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), 0);
	ktap_eq(fake.doorbells, 0);
	ktap_eq(cairn_read_comp_cntr(cntr, &value), 0);
	ktap_eq(fake.doorbells, 1);
	ktap_eq(fake.doorbell.qid, CAIRN_DOORBELL_ALL);
	ktap_eq(cairn_read_comp_cntr(cntr, &value), 0);
	ktap_eq(fake.doorbells, 1);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	close_all();
}

static void attach(void)
{
	struct verbs_qp_attach_comp_cntr_attr attr = { .op_mask = 1 | 1 << 5 };
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	open_all();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 4);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	ktap_eq(cairn_qp_attach_comp_cntr(qp, cntr, &attr), 0);
	ktap_eq(fake.cntr_qp, qp->handle);
	ktap_eq(fake.cntr_ops, 1 | 1 << 5);
	/* the kernel is not asked about these */
	fake.cntr_ops = 0;
	attr.op_mask = FAKE_OPS + 1;
	ktap_eq(cairn_qp_attach_comp_cntr(qp, cntr, &attr), EOPNOTSUPP);
	attr.op_mask = 1;
	attr.comp_mask = 1;
	ktap_eq(cairn_qp_attach_comp_cntr(qp, cntr, &attr), EINVAL);
	ktap_eq(fake.cntr_ops, 0);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	close_all();
}

static void capabilities(void)
{
	struct verbs_comp_cntr_caps caps[2] = {};

	open_all();
	ktap_eq(cairn_query_comp_cntr_caps(ctx, caps, sizeof(caps[0])), 0);
	ktap_eq(caps[0].max_counters, 5);
	ktap_ok(caps[0].max_value == 1ull << 40);
	ktap_eq(caps[0].supported_qp_attach_ops, FAKE_OPS);
	/* a newer program's structure, and one that is too small */
	ktap_eq(cairn_query_comp_cntr_caps(ctx, caps, sizeof(caps)), 0);
	ktap_eq(caps[1].max_counters, 0);
	ktap_eq(cairn_query_comp_cntr_caps(ctx, caps, sizeof(caps[0]) - 1), EINVAL);
	close_all();
}

/* The device does not count bytes, and there are no flags. */
static void unknown_attributes(void)
{
	struct verbs_comp_cntr_init_attr attr[] = {
		{ .type = 1 }, { .flags = 1 }, { .comp_mask = 1 },
	};

	open_all();
	for (size_t i = 0; i < sizeof(attr) / sizeof(attr[0]); i++) {
		errno = 0;
		ktap_ok(!cairn_create_comp_cntr(ctx, &attr[i]));
		ktap_eq(errno, EOPNOTSUPP);
	}
	ktap_eq(fake.objects, 1);
	close_all();
}

/* It does not know the objects, and calls that are interrupted are made again. */
static void an_older_kernel(void)
{
	struct verbs_comp_cntr_caps caps = {};

	open_all();
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairn_query_comp_cntr_caps(ctx, &caps, sizeof(caps)), EOPNOTSUPP);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	errno = 0;
	ktap_ok(!create());
	ktap_eq(errno, EOPNOTSUPP);
	fake.ioctl_errors[0] = ENOMEM;
	ktap_ok(!create());
	ktap_eq(errno, ENOMEM);
	fake.ioctl_errors[0] = EINTR;
	ktap_eq(cairn_set_comp_cntr(cntr, 5), 0);
	ktap_eq(fake.cntr[0], 5);
	close_all();
}

static const struct ktap_test tests[] = {
	KTAP(lifetime),
	KTAP(values),
	KTAP(read_rings),
	KTAP(attach),
	KTAP(capabilities),
	KTAP(unknown_attributes),
	KTAP(an_older_kernel),
};

KTAP_MAIN(tests)
