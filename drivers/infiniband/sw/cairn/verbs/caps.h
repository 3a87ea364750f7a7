/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a device can make durable, and how. */
#ifndef CAIRN_VERBS_CAPS_H
#define CAIRN_VERBS_CAPS_H

#include <rdma/cairn-abi.h>
#include <rdma/uverbs_ioctl.h>

/* What any device can do; idle_us and loopback are left 0. Any context. */
void cairn_caps_get(struct cairn_device_caps *caps);

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_caps_defs[];

#endif
