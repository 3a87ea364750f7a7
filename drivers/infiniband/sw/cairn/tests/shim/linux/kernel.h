/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_KERNEL_H
#define CAIRN_SHIM_LINUX_KERNEL_H

/* Host stand-in for the kernel's omnibus header. */
#include <stdio.h>
#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define upper_32_bits(n)	((u32)((u64)(n) >> 32))
#define lower_32_bits(n)	((u32)(n))

#endif
