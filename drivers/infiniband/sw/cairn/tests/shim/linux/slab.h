/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SLAB_H
#define CAIRN_SHIM_LINUX_SLAB_H

#include <stdlib.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	1

/* Defined by the test, which may let it fail. */
void *shim_alloc(size_t size);
void *shim_zalloc(size_t size);
void shim_free(void *p);

#define kmalloc(size, flags)	((void)(flags), shim_alloc(size))
#define kzalloc(size, flags)	((void)(flags), shim_zalloc(size))
#define kfree(p)		shim_free(p)

#endif
