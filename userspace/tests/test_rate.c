// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rate limits: what reaches the kernel. */
#include <errno.h>

#include "fake.h"
#include "ktap.h"
#include "qp.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void open_qp(void)
{
	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 16);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
}

static void close_qp(void)
{
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
}

static void limits(void)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = 83886, .max_burst_sz = 10400,
		.typical_pkt_sz = 1040,
	};

	open_qp();
	ktap_eq(fake.ops.modify_qp_rate_limit(qp, &attr), 0);
	ktap_eq(fake.rate_limit, 83886);
	ktap_eq(fake.rate.max_burst_sz, 10400);
	ktap_eq(fake.rate.typical_pkt_sz, 1040);
	memset(&attr, 0, sizeof(attr));
	ktap_eq(fake.ops.modify_qp_rate_limit(qp, &attr), 0);
	ktap_eq(fake.rate_limit, 0);
	ktap_eq(fake.rate.max_burst_sz, 0);
	close_qp();
}

static void errors(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1 };

	open_qp();
	fake.fail = "modify_qp_ex";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.modify_qp_rate_limit(qp, &attr), EINVAL);
	/* parts that this library does not know */
	fake.rate_limit = 77;
	attr.comp_mask = 1;
	ktap_eq(fake.ops.modify_qp_rate_limit(qp, &attr), EINVAL);
	ktap_eq(fake.rate_limit, 77);
	close_qp();
}

static void caps(void)
{
	struct ibv_device_attr_ex attr;

	open_qp();
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), 0);
	ktap_eq(attr.packet_pacing_caps.qp_rate_limit_min, 1);
	ktap_eq(attr.packet_pacing_caps.qp_rate_limit_max, 400000000);
	ktap_eq(attr.packet_pacing_caps.supported_qpts,
		1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD);
	/* a caller whose structure ends before or in the middle of them */
	memset(&attr, 0x55, sizeof(attr));
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, &attr,
			offsetof(struct ibv_device_attr_ex,
				 packet_pacing_caps) + 8), 0);
	ktap_eq(attr.packet_pacing_caps.qp_rate_limit_max, 0);
	ktap_eq(attr.packet_pacing_caps.supported_qpts, 0x55555555);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(limits),
	KTAP(errors),
	KTAP(caps),
};

KTAP_MAIN(tests)
