/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * After 6.18 a device reports the speed of a port without rounding it to a speed and width
 * of InfiniBand. Other kernels have no call for it.
 */
#ifndef CAIRN_COMPAT_PORT_SPEED_H
#define CAIRN_COMPAT_PORT_SPEED_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

static inline void compat_set_port_speed(struct ib_device *ibdev,
					 int (*query)(struct ib_device *ibdev,
						      u32 port_num, u64 *speed))
{
#ifdef CAIRN_HAS_QUERY_PORT_SPEED
	ibdev->ops.query_port_speed = query;
#endif
}

#endif
