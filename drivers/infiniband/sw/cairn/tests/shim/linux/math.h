/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_MATH_H
#define CAIRN_SHIM_LINUX_MATH_H

#include <stdlib.h>	/* declares abs() before the macro hides it */
#include <linux/types.h>

/* y is a power of two */
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))(y) - 1))
/* any y */
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d)	(((n) + (d) / 2) / (d))
#define roundup(x, y)		((((x) + ((y) - 1)) / (y)) * (y))
#define rounddown(x, y)		((x) - (x) % (y))
#define abs(x)								\
({									\
	__typeof__(x) a_ = (x);						\
									\
	a_ < 0 ? -a_ : a_;						\
})

#endif
