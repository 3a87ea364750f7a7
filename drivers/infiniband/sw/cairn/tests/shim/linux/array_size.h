/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_ARRAY_SIZE_H
#define CAIRN_SHIM_LINUX_ARRAY_SIZE_H

#include <linux/build_bug.h>

#define ARRAY_SIZE(a)							\
	(sizeof(a) / sizeof((a)[0]) +					\
	 BUILD_BUG_ON_ZERO(__builtin_types_compatible_p(		\
		__typeof__(a), __typeof__(&(a)[0]))))

#endif
