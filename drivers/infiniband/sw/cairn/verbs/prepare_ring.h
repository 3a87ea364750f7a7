/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rings of another size: the method of the process. */
#ifndef CAIRN_VERBS_PREPARE_RING_H
#define CAIRN_VERBS_PREPARE_RING_H

#include <rdma/uverbs_ioctl.h>

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_prepare_ring_defs[];

#endif
