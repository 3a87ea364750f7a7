/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kbuild includes this in front of every file. __uninitialized keeps
 * CONFIG_INIT_STACK_ALL_ZERO away from large variables. It came with 6.9, and with
 * 5.15.163, 6.1.100 and 6.6.41. It can go when no kernel without it is served.
 *
 * 5.15's <asm/page_64.h> uses a CPU feature by name, and leaves it to others to include
 * <asm/cpufeatures.h>; <linux/hmm.h> alone does not. That can go with 5.15.
 */
#ifndef CAIRN_COMPAT_COMPILER_H
#define CAIRN_COMPAT_COMPILER_H

#ifdef CONFIG_X86_64
#include <asm/cpufeatures.h>
#endif

#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized	__attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

#endif
