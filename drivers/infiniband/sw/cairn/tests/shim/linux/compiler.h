/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_COMPILER_H
#define CAIRN_SHIM_LINUX_COMPILER_H

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)

#define __must_check		__attribute__((__warn_unused_result__))
#define __maybe_unused		__attribute__((__unused__))
#define __uninitialized
#define __packed		__attribute__((__packed__))
#define __aligned(x)		__attribute__((__aligned__(x)))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define __used			__attribute__((__used__))
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define noinline		__attribute__((__noinline__))
#undef fallthrough
#define fallthrough		__attribute__((__fallthrough__))

/* of kconfig.h, which the kernel's build includes by itself; no option is set */
#define IS_ENABLED(option)	0

/* sparse annotations */
#define __force
#define __user
#define __iomem
#define __rcu
#define __must_hold(x)
#define __acquires(x)
#define __releases(x)

#define barrier()		__asm__ __volatile__("" : : : "memory")
#define unreachable()		__builtin_unreachable()

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)						\
	do {								\
		*(volatile __typeof__(x) *)&(x) = (v);			\
	} while (0)
#define data_race(x)		(x)

#endif
