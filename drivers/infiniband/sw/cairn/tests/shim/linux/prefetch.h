/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_PREFETCH_H
#define CAIRN_SHIM_LINUX_PREFETCH_H

#define prefetch(p)		__builtin_prefetch(p)
#define prefetchw(p)		__builtin_prefetch(p, 1)

#endif
