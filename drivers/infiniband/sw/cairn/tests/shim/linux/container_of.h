/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_CONTAINER_OF_H
#define CAIRN_SHIM_LINUX_CONTAINER_OF_H

#include <stddef.h>
#include <linux/build_bug.h>

#define container_of(ptr, type, member)					\
({									\
	const __typeof__(((type *)0)->member) *m_ = (ptr);		\
									\
	(type *)((char *)m_ - offsetof(type, member));			\
})

#endif
