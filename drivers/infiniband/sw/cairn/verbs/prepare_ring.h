/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The method by which a process prepares a ring of another size. */
#ifndef CAIRN_VERBS_PREPARE_RING_H
#define CAIRN_VERBS_PREPARE_RING_H

#include <rdma/uverbs_ioctl.h>

/* The method, for the device's uapi_definition. */
extern const struct uapi_definition cairn_prepare_ring_defs[];

#endif
