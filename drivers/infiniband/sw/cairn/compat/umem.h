/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Later kernels rename ib_umem_get() to ib_umem_get_va(). */
#ifndef CAIRN_COMPAT_UMEM_H
#define CAIRN_COMPAT_UMEM_H

#include <rdma/ib_umem.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_UMEM_GET_VA
#define ib_umem_get_va	ib_umem_get
#endif

#endif
