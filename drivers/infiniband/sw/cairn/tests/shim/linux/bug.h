/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_BUG_H
#define CAIRN_SHIM_LINUX_BUG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>

/* A warning is a failed test, so the program ends where it happened. */
static inline bool cairn_shim_warn(const char *file, int line,
				   const char *what)
{
	fprintf(stderr, "# %s:%d: WARN_ON(%s)\n", file, line, what);
	abort();
}

#define WARN_ON(cond)							\
	(unlikely(cond) ? cairn_shim_warn(__FILE__, __LINE__, #cond) : false)
#define WARN_ON_ONCE(cond)	WARN_ON(cond)
#define WARN_ONCE(cond, fmt, ...)	WARN_ON(cond)
#define WARN(cond, fmt, ...)	WARN_ON(cond)
#define BUG_ON(cond)		((void)WARN_ON(cond))
#define BUG()			BUG_ON(true)

#endif
