/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 6.1 single bytes are taken from the kernel's random numbers. */
#ifndef CAIRN_COMPAT_RANDOM_H
#define CAIRN_COMPAT_RANDOM_H

#include <linux/random.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_GET_RANDOM_U8
static inline u8 get_random_u8(void)
{
	return get_random_u32();
}
#endif

#endif
