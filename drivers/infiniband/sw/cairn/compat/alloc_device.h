/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Before 6.17 an RDMA device is allocated for the initial network namespace, and no
 * call of ib_core puts it into another one before it is registered: its name would
 * be visible there. So the field is written, right after the allocation, as
 * ib_core does since 6.17 for ib_alloc_device_with_net().
 */
#ifndef CAIRN_COMPAT_ALLOC_DEVICE_H
#define CAIRN_COMPAT_ALLOC_DEVICE_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_ALLOC_DEVICE_WITH_NET
#define ib_alloc_device_with_net(drv_struct, member, net)		\
({									\
	__auto_type alloc_dev = ib_alloc_device(drv_struct, member);	\
									\
	if (alloc_dev)							\
		write_pnet(&alloc_dev->member.coredev.rdma_net, net);	\
	alloc_dev;							\
})
#endif

#endif
