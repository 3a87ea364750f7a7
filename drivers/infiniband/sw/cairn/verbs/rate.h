/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Congestion control and rate limits of devices and QPs. */
#ifndef CAIRN_VERBS_RATE_H
#define CAIRN_VERBS_RATE_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/* Set the defaults of congestion control for a new device and for a new QP. */
void cairn_rate_cc_init(struct cairn_dev *dev);
void cairn_rate_cc_init_qp(struct cairn_qp *qp);

/* The methods, for the device's uapi_definition. */
extern const struct uapi_definition cairn_rate_defs[];

#endif
