/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Since 6.14 ib_core reports a port as up or down when its netdev changes, unless the
 * driver does that. cairn_verbs_changed() does, in all kernels. A report of ib_core would
 * be a second one, for which the budget (verbs/event.h) does not count.
 */
#ifndef CAIRN_COMPAT_PORT_EVENT_H
#define CAIRN_COMPAT_PORT_EVENT_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifdef CAIRN_HAS_REPORT_PORT_EVENT
static inline void compat_report_port_event(struct ib_device *ibdev,
					    struct net_device *ndev,
					    unsigned long event)
{
}

static inline void compat_set_port_event(struct ib_device *ibdev)
{
	ibdev->ops.report_port_event = compat_report_port_event;
}
#else
static inline void compat_set_port_event(struct ib_device *ibdev)
{
}
#endif

#endif
