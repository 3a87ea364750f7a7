/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 5.19 capabilities of interest to the kernel only have a field of their own. */
#ifndef CAIRN_COMPAT_KERNEL_CAPS_H
#define CAIRN_COMPAT_KERNEL_CAPS_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_IB_KERNEL_CAPS
#define IBK_ALLOW_USER_UNREG	IB_DEVICE_ALLOW_USER_UNREG
#define IBK_LOCAL_DMA_LKEY	IB_DEVICE_LOCAL_DMA_LKEY
#define IBK_ON_DEMAND_PAGING	IB_DEVICE_ON_DEMAND_PAGING
#endif

/* @caps: bits IBK_... */
static inline void compat_kernel_caps_set(struct ib_device_attr *attr, u64 caps)
{
#ifdef CAIRN_HAS_IB_KERNEL_CAPS
	attr->kernel_cap_flags = caps;
#else
	attr->device_cap_flags |= caps;
#endif
}

#endif
