/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_NOSPEC_H
#define CAIRN_SHIM_LINUX_NOSPEC_H

/* Speculation is the kernel's concern; the bound itself is kept. */
#define array_index_nospec(i, size)					\
({									\
	__typeof__(i) i_ = (i);						\
									\
	i_ < (size) ? i_ : 0;						\
})

#endif
