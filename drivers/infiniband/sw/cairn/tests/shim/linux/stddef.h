/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_STDDEF_H
#define CAIRN_SHIM_LINUX_STDDEF_H

#include_next <linux/stddef.h>
#include <stddef.h>

#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define offsetofend(type, member)					\
	(offsetof(type, member) + sizeof_field(type, member))
#define struct_group(name, ...)						\
	union {								\
		struct { __VA_ARGS__ };					\
		struct { __VA_ARGS__ } name;				\
	}

#endif
