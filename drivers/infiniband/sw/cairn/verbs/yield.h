/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Processes that poll in vain and leave the CPU to other tasks. */
#ifndef CAIRN_VERBS_YIELD_H
#define CAIRN_VERBS_YIELD_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition cairn_yield_defs[];

#endif
