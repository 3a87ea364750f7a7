// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rate limits: the commands to the kernel. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "fixture_qp.h"

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

/* The plain verb has the rate only, alone or with other attributes. */
static void by_modify_qp(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .rate_limit = 4000,
		.cap = { .max_send_wr = 256 },
	};

	open_qp();
	fake.rate.max_burst_sz = 77;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_RATE_LIMIT), 0);
	ktap_eq(fake.modify_mask, IBV_QP_RATE_LIMIT);
	ktap_eq(fake.rate_limit, 4000);
	ktap_eq(fake.rate.max_burst_sz, 0);
	attr.rate_limit = 5000;
	ktap_eq(fake.ops.modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_RATE_LIMIT), 0);
	ktap_eq(fake.modify_mask, IBV_QP_STATE | IBV_QP_RATE_LIMIT);
	ktap_eq(fake.rate_limit, 5000);
	attr.rate_limit = 6000;
	ktap_eq(fake.ops.modify_qp(qp, &attr,
				   IBV_QP_CAP | IBV_QP_RATE_LIMIT), 0);
	ktap_eq(fake.modify_mask, IBV_QP_CAP | IBV_QP_RATE_LIMIT);
	ktap_eq(fake.rate_limit, 6000);
	ktap_eq(to_cqp(qp)->sq.max_wr, 256);
	fake.fail = "modify_qp_ex";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_RATE_LIMIT), EINVAL);
	close_qp();
}

static void errors(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1 };

	open_qp();
	fake.fail = "modify_qp_ex";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.modify_qp_rate_limit(qp, &attr), EINVAL);
	/* unknown members */
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

static void read_back(void)
{
	struct cairndv_qp_attr attr;

	open_qp();
	qp->handle = 77;
	fake.qp_rate = (struct cairn_qp_rate){
		.rate_limit = 1, .max_burst_sz = 2, .typical_pkt_sz = 3,
		.static_rate = 4, .cc_flags = CAIRN_CC_ENABLED,
		.cc_req_rate = 5, .cc_resp_rate = 6,
	};
	ktap_eq(cairndv_query_qp(qp, &attr, sizeof(attr)), 0);
	ktap_eq(fake.method_qp, 77);
	ktap_eq(attr.rate_limit, 1);
	ktap_eq(attr.max_burst_sz, 2);
	ktap_eq(attr.typical_pkt_sz, 3);
	ktap_eq(attr.static_rate, 4);
	ktap_eq(attr.cc_enabled, 1);
	ktap_eq(attr.cc_rate, 5);
	ktap_eq(attr.cc_response_rate, 6);
	/* an older module */
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_query_qp(qp, &attr, sizeof(attr)), 0);
	ktap_eq(attr.rate_limit, 0);
	ktap_eq(attr.sq.state, CAIRNDV_QUEUE_READY);
	fake.ioctl_errors[0] = EIO;
	ktap_eq(cairndv_query_qp(qp, &attr, sizeof(attr)), EIO);
	close_qp();
}

static void congestion_control(void)
{
	struct cairndv_cc_attr attr, again;
	uint32_t i, *v = &fake.cc.params.cnp_interval_us;

	open_qp();
	fake.cc.flags = CAIRN_CC_ENABLED;
	for (i = 0; i < 9; i++)
		v[i] = 100 + i;
	ktap_eq(cairndv_query_cc(ctx, &attr, sizeof(attr)), 0);
	ktap_eq(attr.enabled, 1);
	for (i = 0; i < 9; i++)
		ktap_eq((&attr.cnp_interval_us)[i], 100 + i);
	memset(&fake.cc, 0, sizeof(fake.cc));
	ktap_eq(cairndv_modify_cc(ctx, &attr, sizeof(attr)), 0);
	ktap_eq(fake.method_qp, 0);
	ktap_eq(cairndv_query_cc(ctx, &again, sizeof(again)), 0);
	ktap_ok(!memcmp(&attr, &again, sizeof(attr)));
	attr.comp_mask = 1;
	ktap_eq(cairndv_modify_cc(ctx, &attr, sizeof(attr)), EINVAL);
	attr.comp_mask = 0;
	ktap_eq(cairndv_modify_cc(ctx, &attr, sizeof(attr) - 4), EINVAL);
	fake.ioctl_errors[0] = EPERM;
	ktap_eq(cairndv_modify_cc(ctx, &attr, sizeof(attr)), EPERM);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_query_cc(ctx, &attr, sizeof(attr)), EOPNOTSUPP);

	qp->handle = 78;
	ktap_eq(cairndv_modify_qp_cc(qp, true), 0);
	ktap_eq(fake.method_qp, 78);
	ktap_eq(fake.cc.flags, CAIRN_CC_ENABLED);
	ktap_eq(fake.cc.params.alpha_us, 0);
	ktap_eq(cairndv_modify_qp_cc(qp, false), 0);
	ktap_eq(fake.cc.flags, 0);
	fake.ioctl_errors[0] = EINVAL;
	ktap_eq(cairndv_modify_qp_cc(qp, true), EINVAL);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(limits),
	KTAP(by_modify_qp),
	KTAP(errors),
	KTAP(caps),
	KTAP(read_back),
	KTAP(congestion_control),
};

KTAP_MAIN(tests)
