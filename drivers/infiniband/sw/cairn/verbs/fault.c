// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The methods that change and show the fault rules of a device (fault/rules.h). */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "fault/rules.h"
#include "verbs/dev.h"
#include "verbs/fault.h"
#include "verbs/verbs.h"

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

static int UVERBS_HANDLER(CAIRN_METHOD_ADD_FAULT)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = fault_nic(attrs);
	struct cairn_fault_rule rule;
	int err;

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	err = uverbs_copy_from(&rule, attrs, CAIRN_ATTR_ADD_FAULT_RULE);
	return err ? err : cairn_fault_add(nic, &rule);
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
