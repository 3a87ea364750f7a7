// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The methods by which an administrator tunes a device: how long its lanes poll for
 * posts, which packets are handed over instead of sent through the IP stack, and which
 * regions of persistent memory have NIC flush.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>
#include "device/fabric.h"
#include "verbs/dev.h"
#include "verbs/tuning.h"
#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME cairn_tuning
#include <rdma/uverbs_named_ioctl.h>

/* The device of a caller that may tune it. Settings affect all processes that use the
 * device, so they need a capability in the initial user namespace. Return: -EPERM
 * without it, or the error of ib_uverbs_get_ucontext().
 */
static struct cairn_nic *tuning_nic(struct uverbs_attr_bundle *attrs)
{
	struct cairn_dev *dev = cairn_dev_of_caller(attrs);

	if (IS_ERR(dev))
		return ERR_CAST(dev);
	return capable(CAP_NET_ADMIN) ? &dev->nic : ERR_PTR(-EPERM);
}

/* The setting costs CPU time of the host. Return: 0; -EPERM; -EINVAL: time or reserved
 * bits.
 */
static int UVERBS_HANDLER(CAIRN_METHOD_SET_IDLE)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = tuning_nic(attrs);
	struct cairn_set_idle req;
	int err;

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	err = uverbs_copy_from(&req, attrs, CAIRN_ATTR_SET_IDLE);
	if (err)
		return err;
	if (req.us == CAIRN_IDLE_DEFAULT)
		req.us = CAIRN_IDLE_US;
	if (req.reserved || req.us > CAIRN_IDLE_MAX_US)
		return -EINVAL;
	WRITE_ONCE(nic->idle_us, req.us);
	return 0;
}

/* The input of each method that sets a mode. */
struct tuning_mode {
	u32 mode;
	u32 reserved;
};

static_assert(sizeof(struct tuning_mode) == sizeof(struct cairn_set_loopback) &&
	      sizeof(struct tuning_mode) == sizeof(struct cairn_set_capture) &&
	      sizeof(struct tuning_mode) == sizeof(struct cairn_set_persistent));

/* Set @setting to the mode in @attr. Return: 0; -EPERM; -EINVAL: beyond @last, or
 * reserved bits.
 */
static int tuning_set_mode(struct uverbs_attr_bundle *attrs, u16 attr, u32 last,
			   u32 *setting)
{
	struct tuning_mode req;
	int err;

	err = uverbs_copy_from(&req, attrs, attr);
	if (err)
		return err;
	if (req.reserved || req.mode > last)
		return -EINVAL;
	WRITE_ONCE(*setting, req.mode);
	return 0;
}

/* Loopback packets bypass packet filters and captures. */
static int UVERBS_HANDLER(CAIRN_METHOD_SET_LOOPBACK)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = tuning_nic(attrs);

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	return tuning_set_mode(attrs, CAIRN_ATTR_SET_LOOPBACK,
			       CAIRN_LOOPBACK_HOST, &nic->loopback);
}

/* Is it a name, with zeros behind it? */
static bool tuning_is_name(const char *name)
{
	size_t length = strnlen(name, CAIRN_FABRIC_NAME), k;

	for (k = 0; k < length; k++)
		/* isalnum() knows the letters of Latin-1 */
		if (!isascii(name[k]) ||
		    (!isalnum(name[k]) && !strchr("._-", name[k])))
			return false;
	return length < CAIRN_FABRIC_NAME &&
	       !memchr_inv(name + length, 0, CAIRN_FABRIC_NAME - length);
}

/* A fabric bypasses the packet filters between network namespaces. Return: 0; -EPERM;
 * -EINVAL: no name; -ENOMEM.
 */
static int UVERBS_HANDLER(CAIRN_METHOD_SET_FABRIC)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = tuning_nic(attrs);
	struct cairn_set_fabric req;
	int err;

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	err = uverbs_copy_from(&req, attrs, CAIRN_ATTR_SET_FABRIC);
	if (err)
		return err;
	if (!tuning_is_name(req.name))
		return -EINVAL;
	if (req.name[0])
		return cairn_fabric_join(nic, req.name);
	cairn_fabric_leave(nic);
	return 0;
}

/* It hides packets from captures. */
static int UVERBS_HANDLER(CAIRN_METHOD_SET_CAPTURE)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = tuning_nic(attrs);

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	return tuning_set_mode(attrs, CAIRN_ATTR_SET_CAPTURE,
			       CAIRN_CAPTURE_KEEP, &nic->capture);
}

/* It makes writes by peers slower. */
static int UVERBS_HANDLER(CAIRN_METHOD_SET_PERSISTENT)(struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = tuning_nic(attrs);

	if (IS_ERR(nic))
		return PTR_ERR(nic);
	return tuning_set_mode(attrs, CAIRN_ATTR_SET_PERSISTENT,
			       CAIRN_PERSISTENT_AUTO, &nic->persistent);
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_SET_PERSISTENT,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_SET_PERSISTENT,
					       UVERBS_ATTR_TYPE(struct cairn_set_persistent),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_SET_FABRIC,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_SET_FABRIC,
					       UVERBS_ATTR_TYPE(struct cairn_set_fabric),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_SET_CAPTURE,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_SET_CAPTURE,
					       UVERBS_ATTR_TYPE(struct cairn_set_capture),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_SET_LOOPBACK,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_SET_LOOPBACK,
					       UVERBS_ATTR_TYPE(struct cairn_set_loopback),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_SET_IDLE,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_SET_IDLE,
					       UVERBS_ATTR_TYPE(struct cairn_set_idle),
					       UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_TUNING,
			      &UVERBS_METHOD(CAIRN_METHOD_SET_IDLE),
			      &UVERBS_METHOD(CAIRN_METHOD_SET_LOOPBACK),
			      &UVERBS_METHOD(CAIRN_METHOD_SET_FABRIC),
			      &UVERBS_METHOD(CAIRN_METHOD_SET_CAPTURE),
			      &UVERBS_METHOD(CAIRN_METHOD_SET_PERSISTENT));

const struct uapi_definition cairn_tuning_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_TUNING),
	{},
};
