// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The methods that change and show the fault rules of a device (fault/rules.h), and the
 * faults that need no packet.
 */
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "fault/rules.h"
#include "verbs/cq.h"
#include "verbs/dev.h"
#include "verbs/fault.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

#define UVERBS_MODULE_NAME cairn_fault
#include <rdma/uverbs_named_ioctl.h>

/* The device of a caller with the right to lose and change its packets. The administrator of its
 * network namespace can do so in other ways, too, as by a qdisc. Return: -EPERM without
 * the capability, or the error of ib_uverbs_get_ucontext().
 */
static struct cairn_nic *fault_nic(struct uverbs_attr_bundle *attrs)
{
	struct cairn_dev *dev = cairn_dev_of_caller(attrs);

	if (IS_ERR(dev))
		return ERR_CAST(dev);
	return cairn_dev_may_administer(dev) ? &dev->nic : ERR_PTR(-EPERM);
}

/* At most 100 a second of all devices, and not beyond the budget of this one. */
static DEFINE_MUTEX(fault_device_mutex);

static int fault_tell_device(struct cairn_nic *nic, u8 detail)
{
	static const enum ib_event_type types[] = {
		[CAIRN_FAULT_PORT_ERR] = IB_EVENT_PORT_ERR,
		[CAIRN_FAULT_PORT_ACTIVE] = IB_EVENT_PORT_ACTIVE,
		[CAIRN_FAULT_DEVICE_FATAL] = IB_EVENT_DEVICE_FATAL,
		[CAIRN_FAULT_PKEY_CHANGE] = IB_EVENT_PKEY_CHANGE,
		[CAIRN_FAULT_LID_CHANGE] = IB_EVENT_LID_CHANGE,
		[CAIRN_FAULT_SM_CHANGE] = IB_EVENT_SM_CHANGE,
		[CAIRN_FAULT_CLIENT_REREGISTER] = IB_EVENT_CLIENT_REREGISTER,
	};
	struct ib_event event = {
		.device = &container_of(nic, struct cairn_dev, nic)->ibdev,
		.element.port_num = 1,
		.event = types[detail],
	};
	int err = 0;

	if (!mutex_trylock(&fault_device_mutex))
		return -EBUSY;
	if (cairn_event_wait(&to_cairn_dev(event.device)->events)) {
		cairn_nic_count(nic, CAIRN_CTR_ASYNC_EVENTS_WITHHELD, 1);
		err = -EBUSY;
	} else {
		ib_dispatch_event(&event);
	}
	usleep_range(10000, 11000);
	mutex_unlock(&fault_device_mutex);
	return err;
}

static int fault_tell_queue(struct cairn_qp *qp, u8 detail)
{
	struct ib_cq *cq = qp->ibqp.recv_cq;
	struct ib_srq *srq = qp->ibqp.srq;

	if (detail == CAIRN_FAULT_CQ_ERR) {
		if (cq)
			cairn_cq_error(to_cairn_cq(cq));
		return cq ? 0 : -ENOENT;
	}
	if (srq)
		cairn_srq_event(to_cairn_srq(srq), detail == CAIRN_FAULT_SRQ_ERR ?
				CAIRN_SRQ_ERROR : CAIRN_SRQ_LIMIT);
	return srq ? 0 : -ENOENT;
}

static int fault_tell_qp(struct cairn_qp *qp, u8 detail)
{
	static const u8 events[] = {
		[CAIRN_FAULT_COMM_EST] = CAIRN_ASYNC_COMM_EST,
		[CAIRN_FAULT_SQ_DRAINED] = CAIRN_ASYNC_SQ_DRAINED,
		[CAIRN_FAULT_QP_REQ_ERR] = CAIRN_ASYNC_QP_REQ_ERR,
		[CAIRN_FAULT_QP_ACCESS_ERR] = CAIRN_ASYNC_QP_ACCESS_ERR,
		[CAIRN_FAULT_LAST_WQE_REACHED] = CAIRN_ASYNC_LAST_WQE_REACHED,
	};

	if (detail >= ARRAY_SIZE(events))
		return fault_tell_queue(qp, detail);
	cairn_qp_async(qp, events[detail]);
	return 0;
}

static int fault_end_qp(struct cairn_qp *qp)
{
	bool ended;

	cairn_exec_lock(&qp->exec);
	ended = cairn_qpc_break(&qp->qpc);
	cairn_exec_unlock(&qp->exec);
	return ended ? 0 : -EINVAL;
}

/* A queue pair that is found has its queues until the read section ends. All rdma_cm
 * connections of the device need the GSI's, so that one is spared.
 */
static int fault_now_qp(struct cairn_nic *nic, const struct cairn_fault_rule *rule)
{
	struct cairn_exec *exec;
	struct cairn_qp *qp;
	int err = -ENOENT;

	rcu_read_lock();
	exec = cairn_table_find(&nic->qp_table, rule->qpn);
	if (exec) {
		qp = container_of(exec, struct cairn_qp, exec);
		err = qp->ibqp.qp_type == IB_QPT_GSI ? -EINVAL :
		      rule->act == CAIRN_FAULT_QP_FATAL ?
			      fault_end_qp(qp) : fault_tell_qp(qp, rule->detail);
	}
	rcu_read_unlock();
	return err;
}

static int fault_now(struct cairn_nic *nic, const struct cairn_fault_rule *rule)
{
	int err = cairn_match_check(rule);

	if (err)
		return err;
	return rule->qpn ? fault_now_qp(nic, rule) :
			   fault_tell_device(nic, rule->detail);
}

static int UVERBS_HANDLER(CAIRN_METHOD_ADD_FAULT)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = fault_nic(attrs);
	struct cairn_fault_rule rule;
	int err;

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	err = uverbs_copy_from(&rule, attrs, CAIRN_ATTR_ADD_FAULT_RULE);
	if (err)
		return err;
	return rule.direction == CAIRN_FAULT_NOW ? fault_now(nic, &rule) :
						   cairn_fault_add(nic, &rule);
}

static int UVERBS_HANDLER(CAIRN_METHOD_CLEAR_FAULTS)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = fault_nic(attrs);

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	cairn_fault_clear(nic);
	return 0;
}

static int UVERBS_HANDLER(CAIRN_METHOD_LIST_FAULTS)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = fault_nic(attrs);
	struct cairn_fault_list *list;
	int err;

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	cairn_fault_list(nic, list);
	err = uverbs_copy_to_struct_or_zero(attrs, CAIRN_ATTR_LIST_FAULTS_OUT,
					    list, sizeof(*list));
	kfree(list);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_ADD_FAULT,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_ADD_FAULT_RULE,
					       UVERBS_ATTR_TYPE(struct cairn_fault_rule),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_CLEAR_FAULTS);

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_LIST_FAULTS,
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_LIST_FAULTS_OUT,
						UVERBS_ATTR_MIN_SIZE(8),
						UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_FAULT,
			      &UVERBS_METHOD(CAIRN_METHOD_ADD_FAULT),
			      &UVERBS_METHOD(CAIRN_METHOD_CLEAR_FAULTS),
			      &UVERBS_METHOD(CAIRN_METHOD_LIST_FAULTS));

const struct uapi_definition cairn_fault_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_FAULT),
	{},
};
