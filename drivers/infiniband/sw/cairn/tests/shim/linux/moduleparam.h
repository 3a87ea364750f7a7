/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_MODULEPARAM_H
#define CAIRN_SHIM_LINUX_MODULEPARAM_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* The test sets a parameter by this pointer. */
#define module_param(name, type, perm)	type *const shim_param_##name = &(name)
#define MODULE_PARM_DESC(name, text)	static_assert(sizeof(text) > 1)

#endif
