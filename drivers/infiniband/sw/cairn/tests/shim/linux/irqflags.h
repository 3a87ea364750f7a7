/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_IRQFLAGS_H
#define CAIRN_SHIM_LINUX_IRQFLAGS_H

/* A host program has no interrupts. */

#endif
