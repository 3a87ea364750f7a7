// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lets a device count objects that it does not have. A test reaches limits of millions of
 * objects so, or of much memory. "DEVICE KIND MORE" in the parameter "taken" adds MORE,
 * which may be negative. The parameter then reads as the number of that kind. The kind
 * "kept" is bytes of packets ahead of a gap.
 */
#include <linux/module.h>
#include <linux/string.h>
#include "find_dev.h"
#include "verbs/verbs.h"

static const char * const kinds[] = {
	[CAIRN_SHARE_PD] = "pd", [CAIRN_SHARE_XRCD] = "xrcd",
	[CAIRN_SHARE_AH] = "ah", [CAIRN_SHARE_MR] = "mr",
	[CAIRN_SHARE_CQ] = "cq", [CAIRN_SHARE_QP] = "qp",
	[CAIRN_SHARE_SRQ] = "srq", [CAIRN_SHARE_WAITING] = "waiting",
};

static int taken_last;

static int taken_add(struct cairn_nic *nic, size_t index, int more)
{
	if (index == ARRAY_SIZE(kinds))
		return atomic64_add_return(more, &nic->held.total);
	return atomic_add_return(more, &nic->shares.taken[index]);
}

static int taken_set(const char *value, const struct kernel_param *param)
{
	char name[IB_DEVICE_NAME_MAX], kind[8];
	struct ib_device *ibdev;
	size_t index = 0;
	int more;

	if (sscanf(value, "%63s %7s %d", name, kind, &more) != 3)
		return -EINVAL;
	while (index < ARRAY_SIZE(kinds) && (!kinds[index] || strcmp(kinds[index], kind)))
		index++;
	if (index == ARRAY_SIZE(kinds) && strcmp(kind, "kept"))
		return -EINVAL;
	ibdev = find_dev(name);
	if (!ibdev)
		return -ENODEV;
	taken_last = taken_add(&to_cairn_dev(ibdev)->nic, index, more);
	ib_device_put(ibdev);
	return 0;
}

static const struct kernel_param_ops taken_ops = {
	.set = taken_set,
	.get = param_get_int,
};
module_param_cb(taken, &taken_ops, &taken_last, 0600);
MODULE_PARM_DESC(taken, "DEVICE KIND MORE: that many more objects are counted");

MODULE_DESCRIPTION("test: devices with many objects");
MODULE_LICENSE("Dual BSD/GPL");
