/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Congestion control and rate limits of devices and queue pairs. */
#ifndef CAIRN_VERBS_RATE_H
#define CAIRN_VERBS_RATE_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/* A new device, a new queue pair: congestion control as the defaults say. */
void cairn_rate_cc_init(struct cairn_dev *dev);
void cairn_rate_cc_init_qp(struct cairn_qp *qp);

/* The driver methods, to be chained to the device's. */
extern const struct uapi_definition cairn_rate_defs[];

#endif
