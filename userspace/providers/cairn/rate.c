// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Direct verbs for rate limits and congestion control. */
#include <errno.h>

#include "dv.h"
#include "method.h"
#include "rate.h"

int cairn_rate_query(struct ibv_qp *qp, struct cairndv_qp_attr *attr)
{
	struct cairn_qp_rate rate = {};
	int err = cairn_method_qp(qp, CAIRN_METHOD_QUERY_RATE,
				  CAIRN_ATTR_QUERY_RATE_QP,
				  cairn_method_attr(CAIRN_ATTR_QUERY_RATE_OUT,
						    &rate, sizeof(rate)));

	if (err == EPROTONOSUPPORT)
		return 0;
	attr->rate_limit = rate.rate_limit;
	attr->max_burst_sz = rate.max_burst_sz;
	attr->typical_pkt_sz = rate.typical_pkt_sz;
	attr->static_rate = rate.static_rate;
	attr->cc_enabled = rate.cc_flags & CAIRN_CC_ENABLED;
	attr->cc_rate = rate.cc_req_rate;
	attr->cc_response_rate = rate.cc_resp_rate;
	return err;
}

int cairndv_query_cc(struct ibv_context *ctx, struct cairndv_cc_attr *attr,
		     size_t size)
{
	struct cairndv_cc_attr known = {};
	struct cairn_cc cc = {};
	int err;

	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	err = cairn_method(ctx, CAIRN_METHOD_QUERY_CC, CAIRN_ATTR_QUERY_CC_OUT,
			   &cc, sizeof(cc));
	if (err)
		return cairn_method_error(err);
	known.enabled = cc.flags & CAIRN_CC_ENABLED;
	known.cnp_interval_us = cc.params.cnp_interval_us;
	known.alpha_us = cc.params.alpha_us;
	known.g_shift = cc.params.g_shift;
	known.increase_us = cc.params.increase_us;
	known.increase_kbytes = cc.params.increase_kbytes;
	known.recovery_steps = cc.params.recovery_steps;
	known.additive_kbps = cc.params.additive_kbps;
	known.hyper_kbps = cc.params.hyper_kbps;
	known.min_kbps = cc.params.min_kbps;
	cairn_dv_fill(attr, size, &known, sizeof(known));
	return 0;
}

int cairndv_modify_cc(struct ibv_context *ctx,
		      const struct cairndv_cc_attr *attr, size_t size)
{
	struct cairn_cc cc = {};
	int err;

	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	if (size != sizeof(*attr) || attr->comp_mask || attr->enabled > 1 ||
	    attr->reserved)
		return EINVAL;
	cc.flags = attr->enabled ? CAIRN_CC_ENABLED : 0;
	cc.params.cnp_interval_us = attr->cnp_interval_us;
	cc.params.alpha_us = attr->alpha_us;
	cc.params.g_shift = attr->g_shift;
	cc.params.increase_us = attr->increase_us;
	cc.params.increase_kbytes = attr->increase_kbytes;
	cc.params.recovery_steps = attr->recovery_steps;
	cc.params.additive_kbps = attr->additive_kbps;
	cc.params.hyper_kbps = attr->hyper_kbps;
	cc.params.min_kbps = attr->min_kbps;
	err = cairn_method(ctx, CAIRN_METHOD_MODIFY_CC,
			   CAIRN_ATTR_MODIFY_CC_IN, &cc, sizeof(cc));
	return cairn_method_error(err);
}

int cairndv_modify_qp_cc(struct ibv_qp *qp, bool enabled)
{
	struct cairn_cc cc = { .flags = enabled ? CAIRN_CC_ENABLED : 0 };
	int err;

	if (!cairn_dv_owns(qp->context))
		return EOPNOTSUPP;
	err = cairn_method_qp(qp, CAIRN_METHOD_MODIFY_CC,
			      CAIRN_ATTR_MODIFY_CC_QP,
			      cairn_method_attr(CAIRN_ATTR_MODIFY_CC_IN, &cc,
						sizeof(cc)));
	return cairn_method_error(err);
}
