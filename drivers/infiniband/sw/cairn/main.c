// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module start and stop. verbs/ and net/ call each other by the functions passed here. */
#include <linux/module.h>
#include <net/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include "checksum.h"
#include "device/epoch.h"
#include "fault/rules.h"
#include "lane/lane.h"
#include "lane/room.h"
#include "net/net.h"
#include "persist/stream.h"
#include "queue/cache.h"
#include "verbs/dev.h"

MODULE_DESCRIPTION("cairn: RoCEv2 over any Ethernet device");
MODULE_AUTHOR("the cairn developers");
MODULE_LICENSE("Dual BSD/GPL");
/* The expansion of MODULE_IMPORT_NS(), whose argument became a string in 6.13. */
MODULE_INFO(import_ns, "DMA_BUF");

static const struct cairn_verbs_net verbs_net = {
	.attach = cairn_net_attach,
	.detach = cairn_net_detach,
	.repeat = cairn_net_repeat,
	.join = cairn_net_join,
	.leave = cairn_net_leave,
};

static const struct cairn_net_ops net_ops = {
	.remove = cairn_verbs_remove,
	.changed = cairn_verbs_changed,
};

static struct rdma_link_ops link_ops = {
	.type = "cairn",
	.newlink = cairn_verbs_add,
};

static int __init cairn_init(void)
{
	int err;

	cairn_checksum_init();
	cairn_stream_init();
	err = cairn_epochs_start();
	if (err)
		goto err_checksum;
	err = cairn_lanes_start();
	if (err)
		goto err_epochs;
	err = cairn_queue_caches_start();
	if (err)
		goto err_lanes;
	err = cairn_verbs_init(&verbs_net);
	if (err)
		goto err_caches;
	err = cairn_net_init(&net_ops);
	if (err)
		goto err_verbs;
	rdma_link_register(&link_ops);
	return 0;

err_verbs:
	cairn_verbs_exit();
err_caches:
	cairn_queue_caches_stop();
err_lanes:
	cairn_lanes_stop();
err_epochs:
	cairn_epochs_stop();
err_checksum:
	cairn_checksum_exit();
	return err;
}

static void __exit cairn_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(CAIRN_DRIVER_ID);
	cairn_net_exit();
	cairn_verbs_exit();
	cairn_fault_exit();
	cairn_queue_caches_stop();
	cairn_lanes_stop();
	cairn_rooms_stop();
	cairn_epochs_stop();
	cairn_checksum_exit();
	/* Wait for RCU callbacks, whose code is in this module. */
	rcu_barrier();
}

module_init(cairn_init);
module_exit(cairn_exit);
MODULE_ALIAS_RDMA_LINK("cairn");
