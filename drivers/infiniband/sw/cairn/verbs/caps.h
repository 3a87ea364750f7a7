/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The capabilities of a device: kinds of durable memory, modes of durable writes. */
#ifndef CAIRN_VERBS_CAPS_H
#define CAIRN_VERBS_CAPS_H

#include <rdma/cairn-abi.h>
#include <rdma/uverbs_ioctl.h>

/* Get the capabilities that all devices have; the settings of a device stay 0. Any context. */
void cairn_caps_get(struct cairn_device_caps *caps);

/* The method, for the device's uapi_definition. */
extern const struct uapi_definition cairn_caps_defs[];

#endif
