/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_UIDGID_H
#define CAIRN_SHIM_UIDGID_H

#include <linux/types.h>

typedef struct {
	u32 val;
} kuid_t;

#endif
