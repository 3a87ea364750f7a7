/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_BOTTOM_HALF_H
#define CAIRN_SHIM_LINUX_BOTTOM_HALF_H

static inline void local_bh_disable(void) { }
static inline void local_bh_enable(void) { }

#endif
