// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device leaves: it is unregistered, or moves to another network namespace. ib_uverbs
 * waits for system calls and then destroys the objects of processes one after another.
 * Callers that wait for pages, and a million user QPs with long send queues, would make
 * that slow. So the calls and the QPs end before, here.
 *
 * Clients are removed in the reverse order of their registration. ib_uverbs was registered
 * before this one.
 */
#include "device/mcast.h"
#include "mem/advise.h"
#include "verbs/leave.h"
#include "verbs/ops.h"
#include "verbs/qp.h"

/* ib_device_ops.enable_driver: the device comes, perhaps after it has left another
 * namespace. No client knows it yet, so no process finds it as it was when it left.
 */
static int leave_enable_driver(struct ib_device *ibdev)
{
	struct cairn_dev *dev = to_cairn_dev(ibdev);

	cairn_mcast_open(&dev->nic.mcast);
	WRITE_ONCE(dev->leaving, false);
	return 0;
}

const struct ib_device_ops cairn_leave_ops = {
	.enable_driver = leave_enable_driver,
};

/* Devices of other drivers are not removed here. */
static int leave_device_comes(struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == (enum rdma_driver_id)CAIRN_DRIVER_ID ?
		       0 : -EOPNOTSUPP;
}

static void leave_device_leaves(struct ib_device *ibdev, void *data)
{
	struct cairn_dev *dev = to_cairn_dev(ibdev);

	WRITE_ONCE(dev->leaving, true);
	cairn_advise_leave(dev);
	/* The grace period of the QPs is also that of the groups. */
	cairn_mcast_close(&dev->nic.mcast);
	cairn_qps_retire(dev);
}

static struct ib_client leave_client = {
	.name = "cairn",
	.add = leave_device_comes,
	.remove = leave_device_leaves,
};

int cairn_leave_start(void)
{
	return ib_register_client(&leave_client);
}

void cairn_leave_stop(void)
{
	ib_unregister_client(&leave_client);
}
