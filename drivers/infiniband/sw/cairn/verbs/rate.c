// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The methods that read the rates of a QP, and that read and set congestion control.
 * modify_qp sets rate limits (verbs/modify.c).
 */
#include <rdma/uverbs_ioctl.h>
#include "verbs/dev.h"
#include "verbs/rate.h"
#include "verbs/xrc.h"

#define UVERBS_MODULE_NAME cairn
#include <rdma/uverbs_named_ioctl.h>

void cairn_rate_cc_init(struct cairn_dev *dev)
{
	dev->cc = (struct cairn_cc_params)CAIRN_DCQCN_DEFAULTS;
}

void cairn_rate_cc_init_qp(struct cairn_qp *qp)
{
	const struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	struct cairn_qpc *qpc = &qp->qpc;

	qp->cc = READ_ONCE(dev->cc_enabled) &&
		 qpc->transport != CAIRN_TRANSPORT_UD;
	qpc->cc.params = &dev->cc;
	qpc->cc.line_kbps = READ_ONCE(dev->line_kbps);
}

/* Process context. */
static void rate_set_qp_cc(struct cairn_qp *qp, bool on)
{
	mutex_lock(&qp->cold->modify_lock);
	qp->cc = on;
	cairn_exec_lock(&qp->exec);
	qp->qpc.attrs.cc = on;
	memset(qp->qpc.cc.rp, 0, sizeof(qp->qpc.cc.rp));
	qp->qpc.cc.cnps = 0;
	cairn_exec_unlock(&qp->exec);
	mutex_unlock(&qp->cold->modify_lock);
	/* The sides may be waiting for the old rate. */
	cairn_exec_kick(&qp->exec, CAIRN_REQ);
	cairn_exec_kick(&qp->exec, CAIRN_RESP);
}

static int rate_modify_qp_cc(struct ib_qp *ibqp, const struct cairn_cc *cc)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);

	if (memchr_inv(&cc->params, 0, sizeof(cc->params)) ||
	    qp->qpc.transport == CAIRN_TRANSPORT_UD)
		return -EINVAL;
	rate_set_qp_cc(qp, cc->flags & CAIRN_CC_ENABLED);
	return 0;
}

static int rate_modify_dev_cc(struct cairn_dev *dev, const struct cairn_cc *cc)
{
	if (!cairn_dev_may_administer(dev))
		return -EPERM;
	if (memchr_inv(cc->params.reserved, 0, sizeof(cc->params.reserved)) ||
	    !cairn_dcqcn_check(&cc->params))
		return -EINVAL;
	dev->cc = cc->params;
	WRITE_ONCE(dev->cc_enabled, cc->flags & CAIRN_CC_ENABLED);
	return 0;
}

/* Return: 0; -EINVAL: values, or a UD QP; -EPERM: CAP_NET_ADMIN is needed for the device.
 */
static int UVERBS_HANDLER(CAIRN_METHOD_MODIFY_CC)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_dev *dev = cairn_dev_of_caller(attrs);
	struct cairn_cc cc;
	struct ib_qp *qp;
	int err;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = uverbs_copy_from(&cc, attrs, CAIRN_ATTR_MODIFY_CC_IN);
	if (err)
		return err;
	if (cc.flags & ~CAIRN_CC_FLAGS || cc.reserved)
		return -EINVAL;
	qp = cairn_xrc_attr_qp(attrs, CAIRN_ATTR_MODIFY_CC_QP);
	if (IS_ERR(qp))
		return rate_modify_dev_cc(dev, &cc);
	return rate_modify_qp_cc(qp, &cc);
}

static int UVERBS_HANDLER(CAIRN_METHOD_QUERY_CC)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_dev *dev = cairn_dev_of_caller(attrs);
	struct cairn_cc cc = {};

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	cc.flags = READ_ONCE(dev->cc_enabled) ? CAIRN_CC_ENABLED : 0;
	cc.params = dev->cc;
	return uverbs_copy_to_struct_or_zero(attrs, CAIRN_ATTR_QUERY_CC_OUT,
					     &cc, sizeof(cc));
}

static int UVERBS_HANDLER(CAIRN_METHOD_QUERY_RATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = cairn_xrc_attr_qp(attrs, CAIRN_ATTR_QUERY_RATE_QP);
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	struct cairn_qp_rate rate = {};

	mutex_lock(&qp->cold->modify_lock);
	rate.rate_limit = qp->cold->rate.kbps;
	rate.max_burst_sz = qp->cold->rate.burst;
	rate.typical_pkt_sz = qp->cold->rate.typical;
	rate.static_rate = qp->path[CAIRN_REQ].kbps;
	rate.cc_flags = qp->cc ? CAIRN_CC_ENABLED : 0;
	mutex_unlock(&qp->cold->modify_lock);
	rate.cc_req_rate = READ_ONCE(qp->qpc.cc.rp[CAIRN_REQ].kbps);
	rate.cc_resp_rate = READ_ONCE(qp->qpc.cc.rp[CAIRN_RESP].kbps);
	return uverbs_copy_to_struct_or_zero(attrs, CAIRN_ATTR_QUERY_RATE_OUT,
					     &rate, sizeof(rate));
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_MODIFY_CC,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_MODIFY_CC_IN,
					       UVERBS_ATTR_TYPE(struct cairn_cc),
					       UA_MANDATORY),
			    UVERBS_ATTR_IDR(CAIRN_ATTR_MODIFY_CC_QP,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_WRITE, UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_QUERY_CC,
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_QUERY_CC_OUT,
						UVERBS_ATTR_MIN_SIZE(8),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_QUERY_RATE,
			    UVERBS_ATTR_IDR(CAIRN_ATTR_QUERY_RATE_QP,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_QUERY_RATE_OUT,
						UVERBS_ATTR_MIN_SIZE(8),
						UA_MANDATORY));

ADD_UVERBS_METHODS(rate_methods, CAIRN_OBJECT_DEVICE,
		   &UVERBS_METHOD(CAIRN_METHOD_MODIFY_CC),
		   &UVERBS_METHOD(CAIRN_METHOD_QUERY_CC),
		   &UVERBS_METHOD(CAIRN_METHOD_QUERY_RATE));

const struct uapi_definition cairn_rate_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_DEVICE, &rate_methods),
	{},
};
