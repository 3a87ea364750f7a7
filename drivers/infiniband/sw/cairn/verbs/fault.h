/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The methods that change and show the fault rules of a device. */
#ifndef CAIRN_VERBS_FAULT_H
#define CAIRN_VERBS_FAULT_H

#include <rdma/uverbs_ioctl.h>

/* The methods, for the device's uapi_definition. */
extern const struct uapi_definition cairn_fault_defs[];

#endif
