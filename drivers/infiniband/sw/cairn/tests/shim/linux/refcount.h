/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The type only: no host program counts references. */
#ifndef CAIRN_SHIM_LINUX_REFCOUNT_H
#define CAIRN_SHIM_LINUX_REFCOUNT_H

typedef struct refcount_struct {
	int refs;
} refcount_t;

#endif
