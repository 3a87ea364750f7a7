// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The method that returns the capabilities of a device to a process. */
#include <rdma/uverbs_ioctl.h>
#include "lane/watch.h"
#include "persist/domain.h"
#include "verbs/caps.h"
#include "verbs/dev.h"
#include "verbs/limits.h"
#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME cairn_caps
#include <rdma/uverbs_named_ioctl.h>

void cairn_caps_get(struct cairn_device_caps *caps)
{
	*caps = (struct cairn_device_caps){
		.persist_domains = CAIRN_DOMAIN_HOST,
		.persist_modes = CAIRN_PERSIST_MODE_DEFAULT |
				 CAIRN_PERSIST_MODE_EARLY |
				 CAIRN_PERSIST_MODE_IMM |
				 CAIRN_PERSIST_MODE_DONE,
		.persist_atomic_unit = sizeof(u64),
		.max_persist_outstanding = CAIRN_MAX_PENDING,
		.max_msg = CAIRN_MAX_MSG,
	};

	if (cairn_domain_can_writeback())
		caps->persist_domains |= CAIRN_DOMAIN_PMEM |
					 CAIRN_DOMAIN_EMULATED;
}

static int UVERBS_HANDLER(CAIRN_METHOD_QUERY_DEVICE)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_dev *dev = cairn_dev_of_caller(attrs);
	struct cairn_device_caps caps;
	struct cairn_nic *nic;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	nic = &dev->nic;
	cairn_caps_get(&caps);
	caps.idle_us = READ_ONCE(nic->idle_us);
	caps.loopback = READ_ONCE(nic->loopback);
	cairn_fabric_name(nic, caps.fabric);
	caps.capture = READ_ONCE(nic->capture);
	caps.persistent = READ_ONCE(nic->persistent);
	return uverbs_copy_to_struct_or_zero(attrs,
					     CAIRN_ATTR_QUERY_DEVICE_CAPS,
					     &caps, sizeof(caps));
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_QUERY_DEVICE,
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_QUERY_DEVICE_CAPS,
						UVERBS_ATTR_STRUCT(struct cairn_device_caps,
								   persist_modes),
						UA_MANDATORY));

ADD_UVERBS_METHODS(caps_methods, CAIRN_OBJECT_DEVICE,
		   &UVERBS_METHOD(CAIRN_METHOD_QUERY_DEVICE));

const struct uapi_definition cairn_caps_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_DEVICE, &caps_methods),
	{},
};
