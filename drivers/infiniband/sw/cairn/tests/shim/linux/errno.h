/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_ERRNO_H
#define CAIRN_SHIM_LINUX_ERRNO_H

/* glibc's <errno.h> includes this file, too. */
#include_next <linux/errno.h>

#define ENOTSUPP	524

#endif
