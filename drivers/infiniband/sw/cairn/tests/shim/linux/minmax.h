/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_MINMAX_H
#define CAIRN_SHIM_LINUX_MINMAX_H

#include <linux/types.h>

/* Both sides must have one type, as the kernel demands. */
#define CAIRN_SHIM_CMP(x, y, op)					\
({									\
	__typeof__(x) x_ = (x);						\
	__typeof__(y) y_ = (y);						\
									\
	(void)(&x_ == &y_);						\
	x_ op y_ ? x_ : y_;						\
})

#define min(x, y)		CAIRN_SHIM_CMP(x, y, <)
#define max(x, y)		CAIRN_SHIM_CMP(x, y, >)
#define min3(x, y, z)							\
({									\
	__typeof__(x) m3_ = min(x, y);					\
									\
	min(m3_, z);							\
})
#define max3(x, y, z)							\
({									\
	__typeof__(x) m3_ = max(x, y);					\
									\
	max(m3_, z);							\
})
#define min_t(type, x, y)						\
({									\
	type tx_ = (x);							\
	type ty_ = (y);							\
									\
	tx_ < ty_ ? tx_ : ty_;						\
})
#define max_t(type, x, y)						\
({									\
	type tx_ = (x);							\
	type ty_ = (y);							\
									\
	tx_ > ty_ ? tx_ : ty_;						\
})
#define min_not_zero(x, y)						\
({									\
	__typeof__(x) nx_ = (x);					\
	__typeof__(y) ny_ = (y);					\
									\
	nx_ == 0 ? ny_ : (ny_ == 0 ? nx_ : min(nx_, ny_));		\
})
#define clamp(val, lo, hi)						\
({									\
	__typeof__(val) c_ = max(val, lo);				\
									\
	min(c_, hi);							\
})
#define clamp_t(type, val, lo, hi)	min_t(type, max_t(type, val, lo), hi)
#define clamp_val(val, lo, hi)	clamp_t(__typeof__(val), val, lo, hi)
#define swap(a, b)							\
	do {								\
		__typeof__(a) s_ = (a);					\
									\
		(a) = (b);						\
		(b) = s_;						\
	} while (0)

#endif
