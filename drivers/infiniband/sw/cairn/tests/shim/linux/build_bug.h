/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_BUILD_BUG_H
#define CAIRN_SHIM_LINUX_BUILD_BUG_H

#include <assert.h>

#undef static_assert
#define static_assert(expr, ...)					\
	CAIRN_SHIM_STATIC_ASSERT(expr, ##__VA_ARGS__, #expr)
#define CAIRN_SHIM_STATIC_ASSERT(expr, msg, ...)	_Static_assert(expr, msg)

#define BUILD_BUG_ON_MSG(cond, msg)	_Static_assert(!(cond), msg)
#define BUILD_BUG_ON(cond)						\
	BUILD_BUG_ON_MSG(cond, "BUILD_BUG_ON failed: " #cond)
#define BUILD_BUG_ON_ZERO(e)						\
	((int)sizeof(struct { int : (-!!(e)); }))

#endif
