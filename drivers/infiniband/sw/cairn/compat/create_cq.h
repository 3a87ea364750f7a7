/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ib_device_ops.create_cq: since 6.11 the attribute bundle replaces udata. */
#ifndef CAIRN_COMPAT_CREATE_CQ_H
#define CAIRN_COMPAT_CREATE_CQ_H

#include <rdma/uverbs_ioctl.h>
#include "compat/found.h"

#ifdef CAIRN_HAS_CREATE_CQ_ATTRS
#define cairn_create_cq_arg	struct uverbs_attr_bundle

/* NULL: a kernel CQ. */
static inline struct ib_udata *cairn_create_cq_udata(cairn_create_cq_arg *arg)
{
	return arg ? &arg->driver_udata : NULL;
}
#else
#define cairn_create_cq_arg	struct ib_udata

static inline struct ib_udata *cairn_create_cq_udata(cairn_create_cq_arg *arg)
{
	return arg;
}
#endif

#endif
