/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The methods by which an administrator tunes a device. */
#ifndef CAIRN_VERBS_TUNING_H
#define CAIRN_VERBS_TUNING_H

#include <rdma/uverbs_ioctl.h>

/* The methods, for the device's uapi_definition. */
extern const struct uapi_definition cairn_tuning_defs[];

#endif
