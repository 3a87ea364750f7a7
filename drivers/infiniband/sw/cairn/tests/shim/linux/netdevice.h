/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_NETDEVICE_H
#define CAIRN_SHIM_LINUX_NETDEVICE_H

/* Headers that the kernel's netdevice.h includes. */
#include <linux/idr.h>
#include <linux/list.h>

struct net;
struct net_device;

#endif
